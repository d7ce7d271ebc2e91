package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
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

	config  *config.Config
	profile string // that is meant, once the settings were read
	store   *localstore.Store
	keys    *credentials.Keeper
	// workspace is the id of the one that the command is about; "" where it is
	// about none or more than one.
	workspace string
	edited    bool
	telling   chan struct{} // closed when the daemon was told of an edit; nil before one
	warned    []string
}

// New makes what commands of this process are handed. BM_TOKEN may have the end of the
// line that it was read from, which to everybody here is no part of it: a key that did
// not equal itself would be taken for another one, and ended as the former.
func New(version string, io *output.Streams, system func(string) string) *App {
	getenv := func(name string) string {
		if name == "BM_TOKEN" {
			return strings.TrimSpace(system(name))
		}
		return system(name)
	}
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
	other.config, other.store, other.keys, other.telling, other.LowMemory = of, nil, nil, nil, true
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

// Close closes what was opened, and waits until the daemon was told of what was
// edited.
func (a *App) Close() error {
	defer a.told()
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
		if err == nil && a.profile != "" && c.ProfileName() != a.profile {
			flags := maps.Clone(a.Flags)
			flags[config.Profile] = a.profile
			c, err = config.Load(a.Getenv, flags)
		}
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
			a.Warn(open)
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
		text := fmt.Sprintf("%s: %q is no address", v.Place(), v.Value)
		if strings.Contains(v.Value, "@") {
			text = v.Place() + ": an address with a name or a password in it is none"
		}
		return &config.Mistake{Text: text, Next: "an address such as https://bookmarks.example.com", Err: err}
	}
	return nil
}

// Reload forgets the settings after something wrote them, but for the profile:
// somebody may choose another while this command runs.
func (a *App) Reload() {
	if a.config != nil {
		a.profile = a.config.ProfileName()
	}
	a.config = nil
}

// Again reads the settings of the same profile anew.
func (a *App) Again() error {
	c, err := a.Config()
	if err != nil {
		return err
	}
	again, err := c.Again()
	if err == nil {
		a.config = again
	}
	return err
}

// Warn tells once of what is no reason to stop.
func (a *App) Warn(err error) {
	if text := err.Error(); !slices.Contains(a.warned, text) {
		a.warned = append(a.warned, text)
		fmt.Fprintln(a.IO.Err, a.IO.Styled(output.Warning, "warning: ")+output.CleanText(text)+".")
	}
}

// private makes a folder that is this user's alone, and says where it can't be.
func (a *App) private(dir string) error {
	err := config.MakePrivate(dir)
	if _, exposed := errors.AsType[*config.Exposed](err); exposed {
		a.Warn(err)
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
		a.keys.Warn = a.Warn
	}
	return a.keys, nil
}

// Store is the profile's local copy, made where there is none. One of an older bm
// is brought to this one's schema while nobody else syncs it.
func (a *App) Store(ctx context.Context) (*localstore.Store, error) {
	return a.openStore(ctx, a.migrating)
}

// StoreLocked is [App.Store] for whoever has the profile's [SyncLock].
func (a *App) StoreLocked(ctx context.Context) (*localstore.Store, error) {
	return a.openStore(ctx, nil)
}

func (a *App) openStore(ctx context.Context, migrating func(context.Context, func() bool) (func() error, error)) (*localstore.Store, error) {
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
	a.store, err = localstore.Open(ctx, localstore.Options{
		Path: path, Now: a.Now, IDs: a.IDs, LowMemory: a.LowMemory, OneAtATime: !a.LowMemory, Migrating: migrating,
	})
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

// Caller calls a server with a token, which may be empty.
func (a *App) Caller(server string, token api.Secret, insecure bool) (*client.Client, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if c.Is(config.Offline) {
		return nil, a.ToldOffline(c, fmt.Sprintf("This needs %s, and bm", output.Clean(server)))
	}
	return client.New(client.Options{Server: server, Version: a.Version, Token: token, InsecureHTTP: insecure})
}

// ToldOffline says that bm, which begins the sentence, may not use the network, and what
// says so.
func (a *App) ToldOffline(c *config.Config, bm string) *Error {
	told := Fail(Offline, "%s was told to stay offline.", bm)
	switch set := c.Value(config.Offline); {
	case strings.HasPrefix(set.Origin, "flag "):
		return told.Try("the same command without --offline")
	case strings.HasPrefix(set.Origin, "environment "):
		return told.Try("unset %s", set.Env)
	default:
		return told.Try("take offline = %s out of %s", output.Clean(set.Value), output.Clean(set.Origin))
	}
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
