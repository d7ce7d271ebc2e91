package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/client"
)

// SignedIn is who is signed in to the profile's server; an error with
// what to type where nobody is.
func (a *App) SignedIn() (config.Account, error) {
	c, err := a.Config()
	if err != nil {
		return config.Account{}, err
	}
	own := c.Account()
	account := own
	if server := c.Get(config.Server); server != "" {
		address, err := client.ParseServer(server)
		if err != nil {
			return account, err
		}
		account.Server = address.String()
	}
	if account.Server == "" {
		if err := a.mayMake(c); err != nil {
			return account, err
		}
	}
	next := signIn(c)
	if own.Server != account.Server {
		next += " --server " + output.Clean(account.Server)
	}
	// A key goes to the server that it was made by, or to one that was named
	// together with it.
	switch {
	case account.Server == "":
		return account, Fail(SignIn, "Profile %q has no server.", c.ProfileName()).
			Try("%s --server https://…   signs in, or bm up starts a server on this machine", signIn(c)).Because(ErrNotSignedIn)
	case a.Getenv("BM_TOKEN") == "" && own.Server == account.Server && own.SignedIn() && own.Borrowed:
		return account, Fail(SignIn, "Profile %q was signed in with BM_TOKEN, which is not set.", c.ProfileName()).
			Try("set BM_TOKEN again, or %s", signIn(c)).Because(ErrNotSignedIn)
	case a.Getenv("BM_TOKEN") == "" && (own.Server != account.Server || !own.SignedIn()):
		return account, Fail(SignIn, "Profile %q is not signed in to %s.", c.ProfileName(), output.Clean(account.Server)).
			Try("%s", next).Because(ErrNotSignedIn)
	}
	return account, nil
}

// signIn is the command that signs in to the profile's server. A profile that
// was named for one command alone has to be named again.
func signIn(c *config.Config) string {
	if strings.HasPrefix(c.Value(config.Profile).Origin, "flag ") {
		return "bm auth login --profile " + c.ProfileName()
	}
	return "bm auth login"
}

// UpDomain is what the address of an account of bm up ends with.
const UpDomain = ".localhost"

// ErrNotSignedIn is in the chain of an error that says nobody is signed in.
var ErrNotSignedIn = errors.New("the profile is not signed in")

// Client calls the profile's server with the key that is kept for it.
func (a *App) Client(context.Context) (*client.Client, error) {
	account, err := a.SignedIn()
	if err != nil {
		return nil, err
	}
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	keys, err := a.Keys()
	if err != nil {
		return nil, err
	}
	key, _, err := keys.Get(credentials.Name(c.ProfileName(), account.TenantID))
	if errors.Is(err, credentials.ErrNotFound) {
		return nil, Fail(SignIn, "There is no key for %s.", output.Clean(account.Server)).Try("%s", signIn(c)).Because(err)
	}
	if errors.Is(err, credentials.ErrNoKeyring) {
		return nil, Fail(SignIn, "The key for %s can't be read: %s.", output.Clean(account.Server), credentials.Explain(err)).
			Try("%s, or set BM_TOKEN, or %s --insecure-storage", credentials.Remedy(err), signIn(c)).Because(err)
	}
	if err != nil {
		return nil, err
	}
	return a.Caller(account.Server, key, c.Is(config.InsecureHTTP))
}

// Refused says whose key the server does not accept, where err says that it
// does not.
func (a *App) Refused(err error) error {
	if api.CodeOf(err) != api.CodeUnauthorized {
		return err
	}
	return a.KeyRefused(err)
}

// KeyRefused says that the server does not accept the key.
func (a *App) KeyRefused(err error) error {
	account, failed := a.SignedIn()
	if failed != nil {
		return failed
	}
	c, failed := a.Config()
	if failed != nil {
		return failed
	}
	if a.Getenv("BM_TOKEN") != "" {
		return Fail(SignIn, "%s does not accept the key in BM_TOKEN.", output.Clean(account.Server)).
			Try("another key in BM_TOKEN; or unset it, and %s", signIn(c)).Because(err)
	}
	whose := ""
	if c.ProfileName() != config.DefaultProfile {
		whose = " for the profile " + c.ProfileName()
	}
	next := signIn(c)
	if strings.HasSuffix(account.Email, UpDomain) { // nobody knows its password
		next = strings.Replace(next, "auth login", "up", 1) + "   makes another"
	}
	return Fail(SignIn, "This machine's key%s is no longer accepted by %s.", whose, output.Clean(account.Server)).
		Try("%s", next).Because(err)
}

// Notice is the version of the privacy notice that is accepted: the one that
// was set, else the server's own.
func (a *App) Notice(info api.ServerInfo) (string, error) {
	c, err := a.Config()
	if err != nil {
		return "", err
	}
	for _, version := range []string{c.Get(config.NoticeVersion), info.NoticeVersion} {
		if version != "" {
			return version, nil
		}
	}
	return api.NoticeVersion, nil
}

// Holds refuses, with conflict, where the profile holds a copy of another
// organization's workspace: the two would mix. An organization that is still to
// be made, "", is another one in any case.
func Holds(ctx context.Context, store *localstore.Store, profile, tenantID string) error {
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return err
	}
	for _, r := range replicas {
		if r.Kind == localstore.KindWorkspace && r.TenantID != "" && r.TenantID != tenantID {
			return Fail(Conflict, "Profile %q holds a copy of another organization's workspace %q.", profile, output.Clean(r.Name)).
				Try("--profile NAME keeps both apart; or bm export, then bm auth logout --forget, and bm import it where it shall go")
		}
	}
	return nil
}

// MayHold is [Holds] about this profile, for what is about to be signed in.
func (a *App) MayHold(ctx context.Context, tenantID string) error {
	c, err := a.Config()
	if err != nil {
		return err
	}
	if !c.Exists() {
		return nil // and is not made by looking: nobody may be signed in after all
	}
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	return Holds(ctx, store, c.ProfileName(), tenantID)
}

// MayMirror refuses a server that the profile is no copy of, such as one that is
// named together with a token: the two would mix.
func (a *App) MayMirror(ctx context.Context) error {
	account, err := a.SignedIn()
	if err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	own := c.Account()
	if own.Server == "" || own.Server == account.Server {
		return nil
	}
	if !own.SignedIn() {
		store, err := a.Store(ctx)
		if err != nil {
			return err
		}
		all, err := store.Replicas(ctx)
		if err != nil || !slices.ContainsFunc(all, func(r localstore.Replica) bool { return r.RemoteID != "" }) {
			return err
		}
	}
	return Fail(Conflict, "Profile %q is a copy of %s, and can't be one of %s too.", c.ProfileName(), output.Clean(own.Server), output.Clean(account.Server)).
		Try("--profile NAME keeps both apart")
}

// KeepSession turns a session into a key of this machine's own, and ends it.
func (a *App) KeepSession(ctx context.Context, caller *client.Client, session api.Session, notice string) error {
	signedIn := caller.As(session.AccessToken)
	err := a.MayHold(ctx, session.Account.ActiveTenantID)
	if err == nil {
		err = a.keyOf(ctx, caller, signedIn, session.Account, notice)
	}
	ctx, cancel := Outlasting(ctx)
	defer cancel()
	if out := signedIn.Logout(ctx, api.Logout{RefreshToken: api.Some(session.RefreshToken)}); err == nil {
		err = out
	}
	return err
}

// Outlasting is a context that ends a while after ctx: what a server was told to
// make has to be known, or unmade, although somebody gave up waiting.
func Outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(5*time.Second, cancel) })
	return lasting, func() { stop(); cancel() }
}

// keyOf makes a key of a session, and keeps it.
func (a *App) keyOf(ctx context.Context, caller, signedIn *client.Client, who api.AccountProfile, notice string) error {
	lasting, cancel := Outlasting(ctx)
	defer cancel()
	made, err := signedIn.CreateAPIKey(lasting, api.APIKeyCreate{Label: api.Some("bm on " + Hostname()), NoticeVersion: notice})
	if err != nil {
		return err
	}
	err = a.KeepKey(ctx, caller, who, made.APIKey, made.Metadata.ID)
	if err != nil {
		// A key that nobody has is one too many.
		err = errors.Join(err, signedIn.RevokeAPIKey(lasting, made.Metadata.ID))
	}
	return err
}

// KeepKey keeps a key for the profile, who it belongs to, and replicas of what
// it reaches. What was made here before goes to the default workspace.
func (a *App) KeepKey(ctx context.Context, caller *client.Client, who api.AccountProfile, key api.Secret, keyID string) error {
	c, err := a.Config()
	if err != nil {
		return err
	}
	keys, err := a.Keys()
	if err != nil {
		return err
	}
	name := credentials.Name(c.ProfileName(), who.ActiveTenantID)
	return a.attach(ctx, caller.As(key), who, func(c *config.Config, account *config.Account) error {
		account.KeyID = keyID
		if keyID == "" {
			account.KeyID = known(c, keys, name, key)
		}
		source, err := keys.Set(name, key, c.Is(config.InsecureStorage))
		if err == nil && source == credentials.FromFile {
			fmt.Fprintf(a.IO.Err, "The key is in %s, which only you can read: there is no keyring here that could keep it.\n", keys.File())
		}
		return err
	})
}

// known is the id of the profile's key, unless that is surely another one; ""
// where it is.
func known(c *config.Config, keys *credentials.Keeper, name string, key api.Secret) string {
	id := c.Account().KeyID
	if id == "" {
		return ""
	}
	if kept, _, err := keys.Kept(name); err == nil && kept != key {
		return ""
	}
	return id
}

// BorrowKey signs the profile in with the key of the environment, which is kept
// nowhere, unless it is the one that is kept already.
func (a *App) BorrowKey(ctx context.Context, caller *client.Client, who api.AccountProfile) error {
	c, err := a.Config()
	if err != nil {
		return err
	}
	keys, err := a.Keys()
	if err != nil {
		return err
	}
	name := credentials.Name(c.ProfileName(), who.ActiveTenantID)
	return a.attach(ctx, caller, who, func(c *config.Config, account *config.Account) error {
		former := c.Account().KeyID
		if account.KeyID = known(c, keys, name, api.Secret(a.Getenv("BM_TOKEN"))); account.KeyID != "" {
			return nil // it is the one that is kept
		}
		account.Borrowed = true
		if former != "" {
			_ = keys.Delete(name) // it is revoked, whether or not it is forgotten
		}
		fmt.Fprintln(a.IO.Err, "The key is BM_TOKEN's and was not kept: set it for every command that calls the server, and send what you keep with bm sync.")
		return nil
	})
}

// Alone waits until nobody else signs in or out on this machine, and reads the
// settings anew: the key of who was before would be nobody's, and valid.
func (a *App) Alone(ctx context.Context) (release func() error, err error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if err := config.MakePrivate(c.Folders.Config); err != nil {
		if _, exposed := errors.AsType[*config.Exposed](err); !exposed {
			return nil, err
		}
	}
	lock := flock.New(filepath.Join(c.Folders.Config, "signin.lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, fmt.Errorf("keep who is signed in: %w", err)
	}
	a.Reload()
	return lock.Unlock, nil
}

// attach makes the profile somebody's, once keep has seen to the key.
func (a *App) attach(ctx context.Context, signedIn *client.Client, who api.AccountProfile, keep func(*config.Config, *config.Account) error) (err error) {
	release, err := a.Alone(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	c, err := a.Config()
	if err != nil {
		return err
	}
	if err := a.MayHold(ctx, who.ActiveTenantID); err != nil {
		return err
	}
	workspaces, err := signedIn.ListWorkspaces(ctx)
	if err != nil {
		return err
	}
	store, err := a.Store(ctx) // before anything is kept that would have to be taken back
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	account := config.Account{Server: signedIn.Server(), Email: who.Email, TenantID: who.ActiveTenantID, Insecure: c.Is(config.InsecureHTTP)}
	if err := keep(c, &account); err != nil {
		return err
	}
	// From here on somebody is signed in: half of that is no state to be left in.
	ctx, cancel := Outlasting(ctx)
	defer cancel()
	// The choice of a workspace holds for as long as there is that workspace.
	chosen, former := c.Chosen(), c.Account()
	if !slices.ContainsFunc(workspaces, func(w api.Workspace) bool { return w.ID == chosen.ID }) {
		chosen = config.Chosen{}
	}
	if err := c.Save(account, chosen); err != nil {
		return err
	}
	if former.KeyID != "" && former.KeyID != account.KeyID && former.Server == account.Server && former.TenantID == account.TenantID {
		// Nobody has the former key any more. That it stays valid is no reason
		// to be signed in less.
		_ = signedIn.RevokeAPIKey(ctx, former.KeyID)
	}
	if err := Mirror(ctx, store, c.ProfileName(), workspaces); err != nil {
		return err
	}
	a.Reload()
	return nil
}
