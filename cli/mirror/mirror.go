package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/gofrs/flock"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/daemon"
	"bm/daemon/control"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/client"
)

// ErrBusy says that another process syncs the profile.
var ErrBusy = errors.New("another bm syncs this profile")

// Profile keeps one profile in step. It implements [daemon.Mirror].
type Profile struct {
	app     *app.App
	store   *localstore.Store
	lock    *flock.Flock
	profile string
	server  string
	tenant  string // "" with nothing but a token
	path    string // of the local copy
	file    os.FileInfo
	budget  budget

	mu     sync.Mutex
	caller *client.Client
	info   *api.ServerInfo

	// renewing keeps two from reading the settings at once.
	renewing sync.Mutex
}

var _ daemon.Mirror = (*Profile)(nil)

// Open takes the profile that a is about. In the chain of its error is
// [daemon.ErrNotSignedIn] where nobody is signed in, and [ErrBusy] where another
// process has the profile.
func Open(ctx context.Context, a *app.App) (p *Profile, err error) {
	// The daemon tries again and again, and each time with another app.
	defer func() {
		if err != nil {
			p, err = nil, errors.Join(err, a.Close())
		}
	}()
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	account, err := signedIn(a)
	if err != nil {
		return nil, err
	}
	// Before the lock: a daemon that has it is no help where this is refused.
	if err := a.MayMirror(ctx); err != nil {
		return nil, err
	}
	dir := c.Folders.ProfileData(c.ProfileName())
	if err := config.MakePrivate(dir); err != nil {
		return nil, err
	}
	lock := flock.New(app.SyncLock(c))
	taken, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("take the profile's lock: %w", err)
	}
	if !taken {
		return nil, ErrBusy
	}
	p = &Profile{
		app: a, lock: lock, profile: c.ProfileName(), server: account.Server, tenant: account.TenantID,
		path: c.Folders.Replica(c.ProfileName()),
	}
	if p.store, err = a.StoreLocked(ctx); err == nil {
		p.caller, err = a.Client(ctx)
	}
	if err == nil {
		p.file, err = os.Stat(p.path)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return p, nil
}

// signedIn is who is signed in; [daemon.ErrNotSignedIn] is in the chain of the
// error where nobody is.
func signedIn(a *app.App) (config.Account, error) {
	account, err := a.SignedIn()
	if told, ok := errors.AsType[*app.Error](err); ok && errors.Is(err, app.ErrNotSignedIn) {
		return account, told.Because(errors.Join(daemon.ErrNotSignedIn, told.Err))
	}
	return account, err
}

// Close lets go of the local copy and of the lock.
func (p *Profile) Close() error { return errors.Join(p.app.Close(), p.lock.Unlock()) }

// Store is the profile's local copy.
func (p *Profile) Store() *localstore.Store { return p.store }

// replaced fails where another file stands where the open one stood, put back from a
// backup say: what is edited there would never be sent. Who opens the profile anew
// has that one.
func (p *Profile) replaced() error {
	if now, err := os.Stat(p.path); err != nil || !os.SameFile(now, p.file) {
		return app.Fail(app.Failed, "The local copy was replaced by another file.").Try("the same command again").Because(errors.Join(daemon.ErrReplaced, err))
	}
	return nil
}

// call runs something against the server. A key that was rotated elsewhere
// stands in the keyring already: it is read once more before the refusal
// counts.
func (p *Profile) call(ctx context.Context, do func(*client.Client) error) error {
	p.mu.Lock()
	caller := p.caller
	p.mu.Unlock()
	err := do(caller)
	if api.CodeOf(err) != api.CodeUnauthorized {
		return err
	}
	again, failed := p.renew(ctx)
	if failed != nil {
		return errors.Join(err, failed)
	}
	return do(again)
}

// errAnother says that the profile is another account's by now.
var errAnother = errors.New("the profile was signed in to another account")

// renew reads the account and its key anew: another command may have signed the
// profile out, or kept another key. A keyring that can't be read now, since the
// screen is locked say, takes nothing from who is signed in.
func (p *Profile) renew(ctx context.Context) (*client.Client, error) {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	if err := p.app.Again(); err != nil {
		return nil, err
	}
	account, err := signedIn(p.app)
	if err != nil {
		return nil, err
	}
	if account.Server != p.server || account.TenantID != p.tenant {
		return nil, errAnother
	}
	caller, err := p.app.Client(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, credentials.ErrNoKeyring) {
		return p.caller, nil
	}
	if err != nil {
		return nil, err
	}
	p.caller = caller
	return caller, nil
}

// Refresh mirrors the workspaces that the account reaches now.
func (p *Profile) Refresh(ctx context.Context) ([]string, error) {
	if err := p.replaced(); err != nil {
		return nil, err
	}
	if _, err := p.renew(ctx); err != nil {
		return nil, err
	}
	var workspaces []api.Workspace
	err := p.call(ctx, func(c *client.Client) (err error) {
		workspaces, err = c.ListWorkspaces(ctx)
		return err
	})
	if err != nil {
		err = errors.Join(err, p.note(ctx, err))
		if stateAfter(err) != localstore.StateOffline {
			return nil, err
		}
		known, failed := p.known(ctx)
		return known, errors.Join(err, failed)
	}
	for _, w := range workspaces {
		if p.tenant != "" && w.TenantID != "" && w.TenantID != p.tenant {
			return nil, app.Fail(app.Conflict, "The key is of another organization than the one that profile %q is a copy of.", p.profile).
				Try("--profile NAME keeps both apart")
		}
	}
	if err := app.Mirror(ctx, p.store, p.profile, workspaces); err != nil {
		return nil, err
	}
	return p.known(ctx)
}

// known are the workspaces that are mirrored here. Those that the account lost are
// among them: it is their round that learns why.
func (p *Profile) known(ctx context.Context) ([]string, error) {
	replicas, err := p.store.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range replicas {
		if r.Kind == localstore.KindWorkspace && r.RemoteID != "" {
			ids = append(ids, r.RemoteID)
		}
	}
	return ids, nil
}

// note keeps with every replica why the server can't be used.
func (p *Profile) note(ctx context.Context, err error) error {
	state := stateAfter(err)
	if state == "" {
		return nil // the trouble is this machine's, and is told where it shows
	}
	reason := err.Error()
	if said, ok := errors.AsType[*api.Error](err); ok {
		reason = said.Message
	}
	replicas, failed := p.store.Replicas(ctx)
	if failed != nil {
		return failed
	}
	for _, r := range replicas {
		if r.RemoteID == "" || r.State == state || r.State == localstore.StateFrozen {
			continue
		}
		if failed := p.store.SetState(ctx, r.N, state, reason); failed != nil {
			return failed
		}
	}
	return nil
}

// stateAfter is how a replica stands with its server after a failure; "" where it was
// none of the server's.
func stateAfter(err error) localstore.ReplicaState {
	said, answered := errors.AsType[*api.Error](err)
	switch {
	case unreachable(err), answered && said.Code == api.CodeUnavailable:
		return localstore.StateOffline
	case !answered:
		return ""
	case said.Code == api.CodeUnauthorized:
		return localstore.StateAuthRequired
	}
	return localstore.StateFailing
}

func unreachable(err error) bool {
	_, away := errors.AsType[*client.Unreachable](err)
	return away
}

// replica is the replica of a workspace.
func (p *Profile) replica(ctx context.Context, workspaceID string) (*localstore.Replica, error) {
	replicas, err := p.store.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	for i := range replicas {
		if replicas[i].RemoteID == workspaceID {
			return &replicas[i], nil
		}
	}
	return nil, fmt.Errorf("workspace %s is not mirrored here", workspaceID)
}

// Listen reads the server's pokes.
func (p *Profile) Listen(ctx context.Context, opened func(), poke func(workspaceID string)) error {
	info, err := p.serverInfo(ctx)
	if err != nil {
		return err
	}
	if !info.Has(api.ExtEvents) {
		return daemon.ErrNoEvents
	}
	var stream *client.EventStream
	err = p.call(ctx, func(c *client.Client) (err error) {
		stream, err = c.Events(ctx)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // it was only read
	opened()
	for {
		event, err := stream.Next()
		if err != nil {
			return err
		}
		poke(event.WorkspaceID)
	}
}

// serverInfo asks once which extensions the server has.
func (p *Profile) serverInfo(ctx context.Context) (*api.ServerInfo, error) {
	p.mu.Lock()
	known, caller := p.info, p.caller
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	info, err := caller.Info(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.info = &info
	return p.info, nil
}

// Info describes the profile from its local copy.
func (p *Profile) Info(ctx context.Context) (control.ProfileInfo, error) {
	info := control.ProfileInfo{Server: p.server, Workspaces: []control.WorkspaceInfo{}}
	replicas, err := p.store.Replicas(ctx)
	if err != nil {
		return info, err
	}
	for _, r := range replicas {
		if r.RemoteID != "" {
			info.Workspaces = append(info.Workspaces, control.WorkspaceInfo{
				ID: r.RemoteID, Name: r.Name, State: string(r.State), Reason: r.Reason, SyncedAt: r.SyncedAt.Time,
			})
		}
	}
	return info, nil
}

// Release lets go of the lock and leaves the local copy open to the command
// that it belongs to.
func (p *Profile) Release() error { return p.lock.Unlock() }
