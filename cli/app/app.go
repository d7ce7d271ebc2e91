package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/output"
	"bm/daemon/control"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/client"
)

// App is what a command is handed.
type App struct {
	Version string
	IO      *output.Streams
	Now     func() time.Time
	IDs     *api.IDs
	Getenv  func(string) string
	// Open hands a URL to the program that shows it.
	Open func(ctx context.Context, url string) error

	// Pick answers a number below n, by chance.
	Pick func(n int) int

	// Wait is set where a command that edits shall wait for the server's word.
	Wait bool

	// LowMemory is set where the process goes on for long with little to do.
	LowMemory bool

	// Command is the path of the command that runs, such as "bm folder add".
	Command string

	// Flags are the settings that were given as flags.
	Flags map[string]string

	config *config.Config
	store  *localstore.Store
	keys   *credentials.Keeper
	edited bool
	warned []string
}

// New makes what commands of this process are handed.
func New(version string, io *output.Streams, getenv func(string) string) *App {
	return &App{
		Version: version, IO: io, Now: time.Now, Getenv: getenv, Flags: map[string]string{},
		IDs:  api.NewIDs(time.Now, rand.Reader),
		Pick: mathrand.IntN,
		Open: func(ctx context.Context, url string) error { return openURL(ctx, getenv("BROWSER"), url) },
	}
}

// ForProfile is the same about another profile, with nothing open yet. A token
// of the environment is one profile's, and not handed on.
func (a *App) ForProfile(name string) (*App, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	of, err := c.ForProfile(name)
	if err != nil {
		return nil, err
	}
	other := *a
	other.config, other.store, other.keys, other.LowMemory = of, nil, nil, true
	if name != c.ProfileName() {
		other.Getenv = func(key string) string {
			if key == "BM_TOKEN" {
				return ""
			}
			return a.Getenv(key)
		}
	}
	return &other, nil
}

// Close closes what was opened.
func (a *App) Close() error {
	if a.store == nil {
		return nil
	}
	err := a.store.Close()
	a.store = nil
	return err
}

// Config are the settings.
func (a *App) Config() (*config.Config, error) {
	if a.config == nil {
		c, err := config.Load(a.Getenv, a.Flags)
		if err == nil {
			err = judgeServer(c)
		}
		if wrong, ok := errors.AsType[*config.Mistake](err); ok {
			return nil, Fail(Usage, "%s.", output.CleanText(wrong.Text)).Try("%s", output.Clean(wrong.Next)).Because(err)
		}
		if err != nil {
			return nil, err
		}
		for _, open := range c.Exposed {
			a.warn(open)
		}
		a.config = c
	}
	return a.config, nil
}

// judgeServer refuses a server's address that is none.
func judgeServer(c *config.Config) error {
	v := c.Value(config.Server)
	if v.Value == "" {
		return nil
	}
	if _, err := client.ParseServer(v.Value); err != nil {
		return &config.Mistake{Text: fmt.Sprintf("%s: %q is no address", v.Place(), v.Value), Next: "an address such as https://bookmarks.example.com", Err: err}
	}
	return nil
}

// Reload forgets the settings after something wrote them.
func (a *App) Reload() { a.config = nil }

// warn tells once of what is no reason to stop.
func (a *App) warn(err error) {
	if text := err.Error(); !slices.Contains(a.warned, text) {
		a.warned = append(a.warned, text)
		fmt.Fprintln(a.IO.Err, a.IO.Styled(output.Warning, "warning: ")+output.CleanText(text)+".")
	}
}

// private makes a folder that is this user's alone, and says where it can't be.
func (a *App) private(dir string) error {
	err := config.MakePrivate(dir)
	if _, exposed := errors.AsType[*config.Exposed](err); exposed {
		a.warn(err)
		return nil
	}
	return err
}

// Keys keeps the API keys.
func (a *App) Keys() (*credentials.Keeper, error) {
	if a.keys == nil {
		c, err := a.Config()
		if err != nil {
			return nil, err
		}
		a.keys = credentials.New(filepath.Join(c.Folders.Config, "keys.json"), a.Getenv("BM_TOKEN"))
		a.keys.Warn = a.warn
	}
	return a.keys, nil
}

// Store is the profile's local copy, made where there is none.
func (a *App) Store(ctx context.Context) (*localstore.Store, error) {
	if a.store != nil {
		return a.store, nil
	}
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if err := a.mayMake(c); err != nil {
		return nil, err
	}
	path := c.Folders.Replica(c.ProfileName())
	for _, dir := range []string{c.Folders.Data, filepath.Dir(path)} {
		if err := a.private(dir); err != nil {
			return nil, err
		}
	}
	a.store, err = localstore.Open(ctx, localstore.Options{Path: path, Now: a.Now, IDs: a.IDs, LowMemory: a.LowMemory})
	if errors.Is(err, localstore.ErrDamaged) {
		return nil, Fail(Failed, "The local copy in %s is damaged.", path).
			Try("bm doctor --repair   sets it aside, saves what no server has, and builds it anew").Because(err)
	}
	return a.store, err
}

// makers are the commands that make a profile where there is none. To any other
// a name that is not there is a typo.
var makers = []string{"bm add", "bm import", "bm folder add", "bm auth login", "bm auth register", "bm up", "bm sync"}

// mayMake refuses a profile that does not exist, unless the command makes it.
func (a *App) mayMake(c *config.Config) error {
	if c.Exists() || a.Command == "" || slices.Contains(makers, a.Command) {
		return nil
	}
	names, err := c.Profiles()
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == c.ProfileName() })
	if !slices.Contains(names, config.DefaultProfile) {
		names = append(names, config.DefaultProfile)
		slices.Sort(names)
	}
	there := "there is only " + names[0]
	if len(names) > 1 {
		there = "there are " + strings.Join(names, ", ")
	}
	return Fail(NotFound, "There is no profile %q on this machine: %s.", c.ProfileName(), there).
		Try("one of them; or bm auth login --profile %s, or bm add, makes it", c.ProfileName())
}

// Replica is the workspace that the command is about, as it is mirrored here:
// the one that was named, else the default one, else what is only local.
func (a *App) Replica(ctx context.Context) (*localstore.Store, *localstore.Replica, error) {
	store, err := a.Store(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, err := a.Config()
	if err != nil {
		return nil, nil, err
	}
	all, err := store.Replicas(ctx)
	if err != nil {
		return nil, nil, err
	}
	if ref := c.Get(config.Workspace); ref != "" {
		r, err := PickReplica(all, ref)
		if chosen := c.Chosen(); err != nil && ref == chosen.ID {
			err = lost(chosen)
		}
		return store, r, err
	}
	for i := range all {
		if all[i].Kind == localstore.KindWorkspace && all[i].IsDefault {
			return store, &all[i], nil
		}
	}
	for i := range all {
		if all[i].Kind == localstore.KindWorkspace && all[i].State != localstore.StateLocal {
			return store, &all[i], nil
		}
	}
	local, err := store.Local(ctx)
	return store, local, err
}

// lost says that the workspace which was chosen is not here any more.
func lost(chosen config.Chosen) *Error {
	what := "The workspace that was chosen"
	if chosen.Name != "" {
		what = fmt.Sprintf("The workspace %q, which was chosen,", output.Clean(chosen.Name))
	}
	return Fail(NotFound, "%s is not on this machine any more.", what).
		Try("bm workspace use NAME chooses another; bm workspace ls lists them")
}

// PickReplica finds a workspace by id, slug or name.
func PickReplica(all []localstore.Replica, ref string) (*localstore.Replica, error) {
	matches := []func(*localstore.Replica) bool{
		func(r *localstore.Replica) bool { return r.RemoteID == ref },
		func(r *localstore.Replica) bool { return r.Slug == ref },
		func(r *localstore.Replica) bool { return strings.EqualFold(r.Name, ref) },
		func(r *localstore.Replica) bool { return len(ref) >= 4 && strings.HasPrefix(r.RemoteID, ref) },
	}
	for _, match := range matches {
		var found *localstore.Replica
		for i := range all {
			if !match(&all[i]) {
				continue
			}
			if found != nil {
				return nil, Fail(Usage, "Several workspaces are called %q.", output.Clean(ref)).
					Try("bm workspace ls --json id,name   shows their ids")
			}
			found = &all[i]
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, Fail(NotFound, "There is no workspace %q on this machine.", output.Clean(ref)).
		Try("bm workspace ls   lists them")
}

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
	next := "bm auth login"
	if own.Server != account.Server {
		next += " --server " + output.Clean(account.Server)
	}
	// A key goes to the server that it was made by, or to one that was named
	// together with it.
	switch {
	case account.Server == "":
		return account, Fail(SignIn, "Profile %q has no server.", c.ProfileName()).
			Try("bm auth login --server https://…   signs in, or bm up starts a server on this machine").Because(ErrNotSignedIn)
	case a.Getenv("BM_TOKEN") == "" && own.Server == account.Server && own.SignedIn() && own.Borrowed:
		return account, Fail(SignIn, "Profile %q was signed in with BM_TOKEN, which is not set.", c.ProfileName()).
			Try("set BM_TOKEN again, or bm auth login").Because(ErrNotSignedIn)
	case a.Getenv("BM_TOKEN") == "" && (own.Server != account.Server || !own.SignedIn()):
		return account, Fail(SignIn, "Profile %q is not signed in to %s.", c.ProfileName(), output.Clean(account.Server)).
			Try("%s", next).Because(ErrNotSignedIn)
	}
	return account, nil
}

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
		return nil, Fail(SignIn, "There is no key for %s.", output.Clean(account.Server)).Try("bm auth login").Because(err)
	}
	if errors.Is(err, credentials.ErrNoKeyring) {
		return nil, Fail(SignIn, "The key for %s can't be read: %s.", output.Clean(account.Server), credentials.Explain(err)).
			Try("unlock the keyring, or set BM_TOKEN, or bm auth login --insecure-storage").Because(err)
	}
	if err != nil {
		return nil, err
	}
	return a.Caller(account.Server, key, c.Is(config.InsecureHTTP))
}

// Caller calls a server with a token, which may be empty.
func (a *App) Caller(server string, token api.Secret, insecure bool) (*client.Client, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if c.Is(config.Offline) {
		return nil, Fail(Offline, "This needs %s, and bm was told to stay offline.", output.Clean(server)).
			Try("unset BM_OFFLINE, or leave --offline out")
	}
	return client.New(client.Options{Server: server, Version: a.Version, Token: token, InsecureHTTP: insecure})
}

// Mirror makes replicas of the workspaces that the account reaches. What was
// made here without a server goes to the default one. It makes none where the
// machine holds a copy of another organization's.
func Mirror(ctx context.Context, store *localstore.Store, profile string, workspaces []api.Workspace) error {
	for _, w := range workspaces {
		if err := Holds(ctx, store, profile, w.TenantID); err != nil {
			return err
		}
	}
	for _, w := range workspaces {
		var err error
		if w.IsDefault {
			_, err = store.Attach(ctx, w)
		}
		if err == nil {
			_, err = store.Mirror(ctx, w, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Daemon talks to the daemon, whether or not there is one.
func (a *App) Daemon() (*control.Client, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	return &control.Client{Socket: c.Folders.Socket(), Version: a.Version}, nil
}

// Confirm lets a destructive command go on: it asks where somebody can answer,
// and refuses where nobody can and --yes was not given.
func (a *App) Confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	sure, err := a.IO.Confirm(question)
	if errors.Is(err, output.ErrNoTerminal) {
		return Fail(Usage, "Nothing was changed: there is no terminal to ask on.").Try("the same command with --yes")
	}
	if err != nil {
		return err
	}
	if !sure {
		return Fail(Failed, "Nothing was changed.")
	}
	return nil
}

// Hostname is this machine's name, for the labels of keys.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "this machine"
	}
	return name
}
