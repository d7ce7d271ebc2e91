package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"bm/cli/config"
	"bm/cli/credentials"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/client"
)

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
	return a.attach(ctx, caller.As(key), who, func(c *config.Config, account *config.Account) (func() error, error) {
		account.KeyID = keyID
		if keyID == "" {
			account.KeyID = known(c, keys, name, key)
		}
		back := putBack(keys, name)
		source, err := keys.Set(name, key, c.Is(config.InsecureStorage))
		if err == nil && source == credentials.FromFile {
			fmt.Fprintf(a.IO.Err, "The key is in %s, which only you can read: there is no keyring here that could keep it.\n", keys.File())
		}
		return back, err
	})
}

// putBack remembers the key that is kept under name, and answers what keeps it
// again; where none is kept, none is afterwards.
func putBack(keys *credentials.Keeper, name string) func() error {
	former, source, missing := keys.Kept(name)
	return func() error {
		if missing != nil {
			return keys.Delete(name)
		}
		_, err := keys.Set(name, former, source == credentials.FromFile)
		return err
	}
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
	return a.attach(ctx, caller, who, func(c *config.Config, account *config.Account) (func() error, error) {
		back := func() error { return nil }
		if account.KeyID = known(c, keys, name, api.Secret(a.Getenv("BM_TOKEN"))); account.KeyID != "" {
			return back, nil // it is the one that is kept
		}
		account.Borrowed = true
		if own := c.Account(); own.SignedIn() && !own.Borrowed {
			back = putBack(keys, name)
			_ = keys.Delete(name) // one that this machine made is revoked, whether or not it is forgotten
		}
		fmt.Fprintln(a.IO.Err, "The key is BM_TOKEN's and was not kept: set it for every command that calls the server, and send what you keep with bm sync.")
		return back, nil
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

// keeping sees to the key of a sign-in, and answers what takes that back.
type keeping func(c *config.Config, account *config.Account) (back func() error, err error)

// attach makes the profile somebody's, once keep has seen to the key. Where that
// does not get through, whoever it was before has it still.
func (a *App) attach(ctx context.Context, signedIn *client.Client, who api.AccountProfile, keep keeping) (err error) {
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
	former, before := c.Account(), c.Chosen()
	formerKey := a.formerKey(c)
	back, err := keep(c, &account)
	if err != nil {
		return err
	}
	// From here on somebody is signed in: half of that is no state to be left in.
	ctx, cancel := Outlasting(ctx)
	defer cancel()
	if err := settle(ctx, c, store, account, workspaces); err != nil {
		if c.Account() != former {
			err = errors.Join(err, c.Save(former, before))
		}
		return errors.Join(err, back())
	}
	if former.KeyID != "" && former.KeyID != account.KeyID && former.Server == account.Server && former.TenantID == account.TenantID {
		// Nobody has the former key any more; that it stays valid is no reason to be
		// signed in less. A key whose id is not known may be that one with a new secret,
		// which it got elsewhere: then it can't be called with the old one, and else it
		// ends itself, as where the new one reaches too little to end it.
		ended := account.KeyID != "" && signedIn.RevokeAPIKey(ctx, former.KeyID) == nil
		if !ended && formerKey != "" {
			_ = signedIn.As(formerKey).RevokeAPIKey(ctx, former.KeyID)
		}
	}
	a.Reload()
	return nil
}

// formerKey is the key that the profile has before it is given another, "" where
// that can't be read.
func (a *App) formerKey(c *config.Config) api.Secret {
	keys, err := a.Keys()
	if err != nil {
		return ""
	}
	key, _, err := keys.Kept(credentials.Name(c.ProfileName(), c.Account().TenantID))
	if err != nil {
		return ""
	}
	return key
}

// settle writes down who is signed in, and makes copies of what they reach. The
// choice of a workspace holds for as long as there is that workspace.
func settle(ctx context.Context, c *config.Config, store *localstore.Store, account config.Account, workspaces []api.Workspace) error {
	chosen := c.Chosen()
	if !slices.ContainsFunc(workspaces, func(w api.Workspace) bool { return w.ID == chosen.ID }) {
		chosen = config.Chosen{}
	}
	if err := c.Save(account, chosen); err != nil {
		return err
	}
	return Mirror(ctx, store, c.ProfileName(), workspaces)
}
