package app

import (
	"context"
	"errors"
	"fmt"

	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/output"
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

// KeepSession turns a session into a key of this machine's own, and ends it.
func (a *App) KeepSession(ctx context.Context, caller *client.Client, session api.Session, notice string) error {
	signedIn := caller.As(session.AccessToken)
	made, err := signedIn.CreateAPIKey(ctx, api.APIKeyCreate{Label: api.Some("bm on " + Hostname()), NoticeVersion: notice})
	if err != nil {
		return err
	}
	err = a.KeepKey(ctx, caller, session.Account, made.APIKey, made.Metadata.ID)
	if err != nil {
		// A key that nobody has is one too many.
		err = errors.Join(err, signedIn.RevokeAPIKey(ctx, made.Metadata.ID))
	}
	if out := signedIn.Logout(ctx, api.Logout{RefreshToken: api.Some(session.RefreshToken)}); err == nil {
		err = out
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
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return err
	}
	for _, r := range replicas {
		if r.TenantID != "" && r.TenantID != who.ActiveTenantID {
			return Fail(Conflict, "Profile %q holds a copy of another organization's workspace %q.", c.ProfileName(), output.Clean(r.Name)).
				Try("--profile NAME keeps both apart; or bm auth logout --forget removes the copy")
		}
	}
	workspaces, err := caller.As(key).ListWorkspaces(ctx)
	if err != nil {
		return err
	}
	source, err := keys.Set(credentials.Name(c.ProfileName(), who.ActiveTenantID), key, c.Is(config.InsecureStorage))
	if err != nil {
		return err
	}
	account := config.Account{
		Server: caller.Server(), Email: who.Email, TenantID: who.ActiveTenantID, KeyID: keyID, Insecure: c.Is(config.InsecureHTTP),
	}
	if err := c.Save(account, config.Chosen{}); err != nil {
		return err
	}
	if err := Mirror(ctx, store, workspaces); err != nil {
		return err
	}
	if source == credentials.FromFile {
		fmt.Fprintf(a.IO.Err, "The key is in %s, which only you can read: there is no keyring here that could keep it.\n", keys.File())
	}
	a.Reload()
	return nil
}
