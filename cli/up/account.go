package up

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"strings"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/output"
	"bm/server/api"
	"bm/server/api/client"
)

// opening opens a session with the account that bm up has on a server.
type opening func(ctx context.Context, caller *client.Client, keys *credentials.Keeper, notice string) (api.Session, error)

// settle signs the profile in to the server.
func (o *options) settle(ctx context.Context, server string, open opening) error {
	a := o.app
	c, err := a.Config()
	if err != nil {
		return err
	}
	keys, err := a.Keys()
	if err != nil {
		return err
	}
	caller, err := a.Caller(server, "", false)
	if err != nil {
		return err
	}
	if done, err := o.settled(ctx, c, keys, caller); done || err != nil {
		return err
	}
	// The server's data lies on the same disk: a key beside it tells nothing
	// that the data does not.
	if keys.Probe() != nil {
		a.Flags[config.InsecureStorage] = "true"
		a.Reload()
	}
	info, err := caller.Info(ctx)
	if err != nil {
		return err
	}
	notice, err := a.Notice(info)
	if err != nil {
		return err
	}
	session, err := open(ctx, caller, keys, notice)
	if err != nil {
		return err
	}
	return a.KeepSession(ctx, caller, session, notice)
}

// settled reports whether the profile is signed in to this server already,
// wherever it served when that was done.
func (o *options) settled(ctx context.Context, c *config.Config, keys *credentials.Keeper, caller *client.Client) (bool, error) {
	account := c.Account()
	if !account.SignedIn() {
		return false, nil
	}
	key, _, err := keys.Get(credentials.Name(c.ProfileName(), account.TenantID))
	if err != nil {
		return false, nil //nolint:nilerr // without a key it signs in anew
	}
	if me, err := caller.As(key).Me(ctx); err != nil || me.ActiveTenantID != account.TenantID {
		return false, nil //nolint:nilerr // the key is of another server, or has ended
	}
	if account.Server == caller.Server() {
		return true, nil
	}
	account.Server = caller.Server()
	err = c.Save(account, c.Chosen())
	o.app.Reload()
	return true, err
}

// errUnknown says that no password of the account is kept here.
var errUnknown = errors.New("the password of the account is not known")

// errLocked says that one may be, in a keyring that can't be read now.
var errLocked = fmt.Errorf("%w while the keyring is locked", errUnknown)

// known signs in with the password that is kept.
func (o *options) known(ctx context.Context, caller *client.Client, keys *credentials.Keeper, _ string) (api.Session, error) {
	c, err := o.app.Config()
	if err != nil {
		return api.Session{}, err
	}
	unknown := errUnknown
	for _, name := range o.passwordNames(c, caller.Server()) {
		kept, _, err := keys.Kept(name)
		if errors.Is(err, credentials.ErrNoKeyring) {
			unknown = errLocked
		}
		if err != nil {
			continue
		}
		session, err := caller.Login(ctx, api.Login{Email: address(), Password: kept})
		if api.CodeOf(err) != api.CodeUnauthorized {
			return session, err
		}
	}
	return api.Session{}, unknown
}

// session signs in with the password that is kept, or makes the account.
func (o *options) session(ctx context.Context, caller *client.Client, keys *credentials.Keeper, notice string) (api.Session, error) {
	session, err := o.known(ctx, caller, keys, notice)
	if !errors.Is(err, errUnknown) {
		return session, err
	}
	locked := ""
	if errors.Is(err, errLocked) {
		locked = "unlock the keyring, where the password is kept there, and bm up; or else "
	}
	c, err := o.app.Config()
	if err != nil {
		return api.Session{}, err
	}
	email := address()
	// An account comes with an organization of its own: what the profile holds
	// of another must be known before it is made.
	if err := o.app.MayHold(ctx, ""); err != nil {
		return api.Session{}, taken(c, err, locked)
	}
	// Kept before it is used: an account whose password nobody has is lost. It
	// is kept aside until the account is there, since another one's may be kept.
	password := api.Secret(rand.Text())
	name := o.passwordNames(c, caller.Server())[0]
	if _, err := keys.Set(name+" (new)", password, c.Is(config.InsecureStorage)); err != nil {
		return api.Session{}, err
	}
	session, err = caller.Register(ctx, api.Register{
		Email: email, Password: password, NoticeVersion: notice,
		DisplayName: api.Some(strings.Split(email, "@")[0]),
	})
	if api.CodeOf(err) == api.CodeConflict || api.CodeOf(err) == api.CodeForbidden {
		return session, app.Fail(app.SignIn, "The server has an account %s whose password is not known here.", email).
			Try("%sbm serve admin user password %s   gives it another; then bm serve, and beside it bm auth login --server %s --email %s",
				locked, email, caller.Server(), email).Because(err)
	}
	if err != nil {
		return session, err
	}
	if _, err := keys.Set(name, password, c.Is(config.InsecureStorage)); err != nil {
		return session, err
	}
	return session, keys.Delete(name + " (new)")
}

// taken says why the profile can't be an account's that is yet to be made, where
// err says that it holds a copy of something else.
func taken(c *config.Config, err error, locked string) error {
	e, ok := errors.AsType[*app.Error](err)
	if !ok || e.Kind != app.Conflict {
		return err
	}
	if elsewhere(c) {
		return apart(c).Because(err)
	}
	e.Next = locked + e.Next + fmt.Sprintf("; or, if it is a copy of the server in %s itself, bm serve admin user password %s lets you sign in to that", dataDir(c), address())
	return e
}

// elsewhere reports whether the profile is signed in with an account that bm up did
// not make.
func elsewhere(c *config.Config) bool {
	own := c.Account()
	return own.SignedIn() && !strings.HasSuffix(own.Email, app.UpDomain)
}

func apart(c *config.Config) *app.Error {
	own := c.Account()
	return app.Fail(app.Conflict, "Profile %q is signed in to %s as %s, and bm up makes an account of its own.",
		c.ProfileName(), output.Clean(own.Server), output.Clean(own.Email)).Try("%s   keeps both apart", inAnother(c))
}

// inAnother is this command with another profile.
func inAnother(c *config.Config) string {
	const usual = "local"
	if c.ProfileName() == usual {
		return "bm up --profile NAME"
	}
	return "bm up --profile " + usual
}

// dataDir is the folder of the server that this command hosts.
func dataDir(c *config.Config) string { return filepath.Join(c.Folders.Data, "server") }

// passwordNames are the names under which the account's password may be kept:
// by the server's data, which is the same server wherever it serves and whoever
// signs in, and as it was done before.
func (o *options) passwordNames(c *config.Config, server string) []string {
	here := "password of the server in " + dataDir(c)
	return []string{
		here, here + " (new)",
		credentials.Name(c.ProfileName(), "password of "+server),
		credentials.Name(c.ProfileName(), "password of "+c.Account().Server),
		credentials.Name(config.DefaultProfile, "password of "+server),
	}
}

// address is the e-mail address of an account that is this machine's alone.
func address() string {
	name := "me"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	return plain(name) + "@" + plain(app.Hostname()) + app.UpDomain
}

// plain keeps what an address may hold in any case.
func plain(text string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, text)
	if kept = strings.Trim(kept, "-"); kept == "" {
		return "me"
	}
	return kept
}
