package app

import (
	"context"
	"errors"
	"slices"
	"strings"

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
	next := a.signIn(c)
	if own.Server != account.Server {
		next += " --server " + output.Clean(account.Server)
	}
	// A key goes to the server that it was made by, or to one that was named
	// together with it.
	switch {
	case account.Server == "":
		return account, Fail(SignIn, "Profile %q has no server.", c.ProfileName()).
			Try("%s --server https://…   signs in, or bm up starts a server on this machine", a.signIn(c)).Because(ErrNotSignedIn)
	case a.Getenv("BM_TOKEN") == "" && own.Server == account.Server && own.SignedIn() && own.Borrowed:
		return account, Fail(SignIn, "Profile %q was signed in with BM_TOKEN, which is not set.", c.ProfileName()).
			Try("set BM_TOKEN again, or %s", a.signIn(c)).Because(ErrNotSignedIn)
	case a.Getenv("BM_TOKEN") == "" && (own.Server != account.Server || !own.SignedIn()):
		return account, Fail(SignIn, "Profile %q is not signed in to %s.", c.ProfileName(), output.Clean(account.Server)).
			Try("%s", next).Because(ErrNotSignedIn)
	}
	return account, nil
}

// signIn is the command that signs in to the profile's server. A profile that
// was named for one command alone has to be named again.
func (a *App) signIn(c *config.Config) string {
	if _, named := a.Flags[config.Profile]; named {
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
		return nil, Fail(SignIn, "There is no key for %s.", output.Clean(account.Server)).Try("%s", a.signIn(c)).Because(err)
	}
	if errors.Is(err, credentials.ErrNoKeyring) {
		return nil, Fail(SignIn, "The key for %s can't be read: %s.", output.Clean(account.Server), credentials.Explain(err)).
			Try("%s, or set BM_TOKEN, or %s --insecure-storage", credentials.Remedy(err), a.signIn(c)).Because(err)
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
			Try("another key in BM_TOKEN; or unset it, and %s", a.signIn(c)).Because(err)
	}
	whose := ""
	if c.ProfileName() != config.DefaultProfile {
		whose = " for the profile " + c.ProfileName()
	}
	next := a.signIn(c)
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
