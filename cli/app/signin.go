package app

import (
	"context"
	"errors"
	"fmt"

	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/client"
)

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
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	return Holds(ctx, store, c.ProfileName(), tenantID)
}

// KeepSession turns a session into a key of this machine's own, and ends it.
func (a *App) KeepSession(ctx context.Context, caller *client.Client, session api.Session, notice string) error {
	signedIn := caller.As(session.AccessToken)
	err := a.MayHold(ctx, session.Account.ActiveTenantID)
	if err == nil {
		err = a.keyOf(ctx, caller, signedIn, session.Account, notice)
	}
	if out := signedIn.Logout(ctx, api.Logout{RefreshToken: api.Some(session.RefreshToken)}); err == nil {
		err = out
	}
	return err
}

// keyOf makes a key of a session, and keeps it.
func (a *App) keyOf(ctx context.Context, caller, signedIn *client.Client, who api.AccountProfile, notice string) error {
	made, err := signedIn.CreateAPIKey(ctx, api.APIKeyCreate{Label: api.Some("bm on " + Hostname()), NoticeVersion: notice})
	if err != nil {
		return err
	}
	err = a.KeepKey(ctx, caller, who, made.APIKey, made.Metadata.ID)
	if err != nil {
		// A key that nobody has is one too many.
		err = errors.Join(err, signedIn.RevokeAPIKey(ctx, made.Metadata.ID))
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
	return a.attach(ctx, caller.As(key), who, func(account *config.Account) error {
		account.KeyID = keyID
		source, err := keys.Set(credentials.Name(c.ProfileName(), who.ActiveTenantID), key, c.Is(config.InsecureStorage))
		if err == nil && source == credentials.FromFile {
			fmt.Fprintf(a.IO.Err, "The key is in %s, which only you can read: there is no keyring here that could keep it.\n", keys.File())
		}
		return err
	})
}

// BorrowKey signs the profile in with the key of the environment, which is kept
// nowhere.
func (a *App) BorrowKey(ctx context.Context, caller *client.Client, who api.AccountProfile) error {
	return a.attach(ctx, caller, who, func(account *config.Account) error {
		account.Borrowed = true
		fmt.Fprintln(a.IO.Err, "The key is BM_TOKEN's and was not kept: set it for every command that calls the server.")
		return nil
	})
}

// attach makes the profile somebody's, once keep has seen to the key.
func (a *App) attach(ctx context.Context, signedIn *client.Client, who api.AccountProfile, keep func(*config.Account) error) error {
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
	account := config.Account{Server: signedIn.Server(), Email: who.Email, TenantID: who.ActiveTenantID, Insecure: c.Is(config.InsecureHTTP)}
	if err := keep(&account); err != nil {
		return err
	}
	if err := c.Save(account, config.Chosen{}); err != nil {
		return err
	}
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	if err := Mirror(ctx, store, c.ProfileName(), workspaces); err != nil {
		return err
	}
	a.Reload()
	return nil
}
