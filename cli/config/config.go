package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// The settings.
const (
	Server          = "server"
	Profile         = "profile"
	Workspace       = "workspace"
	Offline         = "offline"
	InsecureHTTP    = "insecure_http"
	InsecureStorage = "insecure_storage"
	Autostart       = "daemon.autostart"
	NoticeVersion   = "notice_version"
)

// DefaultProfile is the profile of a machine that was never told of another.
const DefaultProfile = "default"

// Setting describes one setting.
type Setting struct {
	Key, Env, Default, About string
}

// Settings lists every setting, in the order in which they are shown.
var Settings = []Setting{
	{Profile, "BM_PROFILE", DefaultProfile, "whose bookmarks: each profile has its own server, account and copy"},
	{Server, "BM_SERVER", "", "the server's address; none: what you keep stays on this machine"},
	{Workspace, "BM_WORKSPACE", "", "the workspace that commands are about: its name, slug or id"},
	{Offline, "BM_OFFLINE", "false", "never use the network"},
	{Autostart, "BM_DAEMON_AUTOSTART", "true", "start the daemon on the first edit of a profile that is signed in"},
	{InsecureHTTP, "BM_INSECURE_HTTP", "false", "send keys and passwords over plain http to another machine"},
	{InsecureStorage, "BM_INSECURE_STORAGE", "false", "keep keys in a file that only you can read, where there is no keyring"},
	{NoticeVersion, "BM_NOTICE_VERSION", "", "the version of the privacy notice that you accept; none: the server's own"},
}

// Variables are those of the environment that are no settings.
var Variables = []struct{ Name, About string }{
	{"BM_TOKEN", "an API key to use in place of the one that is kept; commands heed it, the daemon does not"},
	{"BM_CONFIG_DIR", "the folder of config.toml and the profiles"},
	{"BM_DATA_DIR", "the folder of the bookmarks on this machine, of logs and of the daemon's socket"},
	{"BM_PAGER, PAGER", "the program that shows long lists on a terminal; cat for none"},
	{"BROWSER", "the program that bm open hands URLs to"},
	{"NO_COLOR, CLICOLOR_FORCE", "no colour; colour in a pipe, too"},
}

// Value is a setting as it stands, and where it came from.
type Value struct {
	Setting
	Value  string
	Origin string
}

// Config is what was found. It is read once and not changed by anything but
// [Config.Save].
type Config struct {
	Folders Folders
	// Mended are files and folders that others could read, and can't any more;
	// Exposed those that they still can.
	Mended  []string
	Exposed []*Exposed

	flags   map[string]string
	getenv  func(string) string
	file    *viper.Viper
	profile *viper.Viper
	name    string
}

// validProfile keeps a profile's name from meaning a path, or two profiles on a
// file system without case.
func validProfile(name string) bool {
	if name == "" || len(name) > 63 || strings.ContainsAny(name[:1], "._-") {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// ErrProfileName is the error about a profile's name.
var ErrProfileName = errors.New("a profile's name has up to 63 lower-case letters, digits, dots, dashes and underscores, and begins with a letter or a digit")

// Load reads the settings. Flags that were given stand in flags.
func Load(getenv func(string) string, flags map[string]string) (*Config, error) {
	folders, err := FindFolders(getenv)
	if err != nil {
		return nil, err
	}
	c := &Config{Folders: folders, flags: flags, getenv: getenv}
	if c.file, err = c.read(folders.File()); err != nil {
		return nil, err
	}
	if err := c.shut(folders.Config); err != nil {
		return nil, err
	}
	c.name = c.find(Profile).Value
	if !validProfile(c.name) {
		return nil, &Mistake{Text: fmt.Sprintf("Profile %q: %v", c.name, ErrProfileName), Err: ErrProfileName}
	}
	if c.profile, err = c.read(folders.ProfileFile(c.name)); err != nil {
		return nil, err
	}
	return c, c.judge()
}

// Again reads the settings of the same profile once more: another command may
// have signed it out meanwhile.
func (c *Config) Again() (*Config, error) {
	flags := maps.Clone(c.flags)
	if flags == nil {
		flags = map[string]string{}
	}
	flags[Profile] = c.name
	return Load(c.getenv, flags)
}

// shut closes a file or folder to others, and notes what there was to do.
func (c *Config) shut(path string) error {
	mended, err := CloseToOthers(path)
	if open, ok := errors.AsType[*Exposed](err); ok {
		c.Exposed = append(c.Exposed, open)
		return nil
	}
	if mended {
		c.Mended = append(c.Mended, path)
	}
	return err
}

// read reads a file of settings, and closes it to others.
func (c *Config) read(path string) (*viper.Viper, error) {
	v, err := read(path)
	if v == nil || err != nil {
		return v, err
	}
	return v, c.shut(path)
}

// within stands between the names of tables within tables. It is no dot, which a
// profile's name may have: the file says [profiles."a.b"] for that.
const within = "\x00"

// inTables is where a setting stands in a file: daemon.autostart is a key of the
// table daemon.
func inTables(key string) string { return strings.ReplaceAll(key, ".", within) }

// ofProfile is where config.toml has what it says of a profile.
func ofProfile(name string) string { return profilesTable + within + name }

// profilesTable is the table of config.toml that has a table for each profile.
const profilesTable = "profiles"

// read reads a TOML file; one that does not exist is empty.
func read(path string) (*viper.Viper, error) {
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	v := viper.NewWithOptions(viper.KeyDelimiter(within))
	v.SetConfigFile(path)
	v.SetConfigType("toml")
	if err := v.ReadInConfig(); err != nil {
		return nil, unread(path, err)
	}
	return v, nil
}

// find looks a setting up, first where it counts most.
func (c *Config) find(key string) Value {
	i := slices.IndexFunc(Settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		panic("config: there is no setting " + key)
	}
	value := Value{Setting: Settings[i]}
	if given, ok := c.flags[key]; ok {
		value.Value, value.Origin = given, "flag --"+strings.ReplaceAll(key, "_", "-")
		return value
	}
	if given := c.getenv(value.Env); given != "" {
		value.Value, value.Origin = given, "environment "+value.Env
		return value
	}
	for _, from := range []struct {
		file  *viper.Viper
		table string
	}{{c.file, ofProfile(c.name) + within}, {c.file, ""}, {c.profile, ""}} {
		for _, written := range []string{inTables(key), key} { // "daemon.autostart" in quotes means the same
			if from.file != nil && from.file.IsSet(from.table+written) {
				value.Value, value.Origin = from.file.GetString(from.table+written), from.file.ConfigFileUsed()
				return value
			}
		}
	}
	if key == Profile {
		if chosen, err := os.ReadFile(c.Folders.chosenProfile()); err == nil && len(chosen) > 0 {
			value.Value, value.Origin = strings.TrimSpace(string(chosen)), "bm auth switch"
			return value
		}
	}
	value.Value, value.Origin = value.Default, "default"
	return value
}

// Choose makes a profile the one that is meant where none is named.
func (c *Config) Choose(name string) error {
	if !validProfile(name) {
		return fmt.Errorf("profile %q: %w", name, ErrProfileName)
	}
	return WritePrivate(c.Folders.chosenProfile(), []byte(name+"\n"))
}

// Get is a setting's value.
func (c *Config) Get(key string) string { return c.find(key).Value }

// Is is a setting's value where it is yes or no.
func (c *Config) Is(key string) bool {
	return yesOrNo[strings.ToLower(c.find(key).Value)] == "true"
}

// Value is a setting with its origin.
func (c *Config) Value(key string) Value { return c.find(key) }

// Values are all settings with their origins.
func (c *Config) Values() []Value {
	values := make([]Value, len(Settings))
	for i, s := range Settings {
		values[i] = c.find(s.Key)
	}
	return values
}

// ProfileName is the profile in use.
func (c *Config) ProfileName() string { return c.name }

// Account is who signed in to the profile's server; it is kept for people to
// see, beside what finds the key.
type Account struct {
	Server   string
	Email    string
	TenantID string
	KeyID    string
	Insecure bool // the key goes over plain http, as was asked for
	Borrowed bool // the key is BM_TOKEN's, and kept nowhere
}

// SignedIn reports whether anybody is: a server alone is where the next sign-in
// goes.
func (a Account) SignedIn() bool { return a.Server != "" && a.TenantID != "" }

// Account is who is signed in, by the profile's file; the zero Account for a
// profile that never signed in.
func (c *Config) Account() Account {
	if c.profile == nil {
		return Account{}
	}
	return Account{
		Server: c.profile.GetString(Server), Email: c.profile.GetString("email"),
		TenantID: c.profile.GetString("tenant"), KeyID: c.profile.GetString("key"),
		Insecure: c.profile.GetBool(InsecureHTTP), Borrowed: c.profile.GetBool(borrowed),
	}
}

// Chosen is the workspace that "bm workspace use" chose; its name is kept for
// the day on which it is gone.
type Chosen struct{ ID, Name string }

// What only bm writes into a profile's file.
const (
	workspaceName = "workspace_name"
	borrowed      = "key_of_environment"
)

// Chosen is the profile's choice; the zero Chosen where nothing was chosen.
func (c *Config) Chosen() Chosen {
	if c.profile == nil {
		return Chosen{}
	}
	return Chosen{ID: c.profile.GetString(Workspace), Name: c.profile.GetString(workspaceName)}
}

// Save writes what bm knows of the profile; settings that are empty go.
func (c *Config) Save(a Account, workspace Chosen) error {
	v := viper.New()
	v.SetConfigType("toml")
	for key, value := range map[string]string{
		Server: a.Server, "email": a.Email, "tenant": a.TenantID, "key": a.KeyID, Workspace: workspace.ID, workspaceName: workspace.Name,
	} {
		if value != "" {
			v.Set(key, value)
		}
	}
	if a.Insecure {
		v.Set(InsecureHTTP, true)
	}
	if a.Borrowed {
		v.Set(borrowed, true)
	}
	path := c.Folders.ProfileFile(c.name)
	var text strings.Builder
	text.WriteString("# Written by bm when it signs in or changes the workspace; your own settings go into config.toml.\n")
	if err := v.WriteConfigTo(&text); err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	if err := WritePrivate(path, []byte(text.String())); err != nil {
		return err
	}
	var err error
	c.profile, err = read(path)
	return err
}

// Remove takes the profile off this machine with everything that it holds. The
// default one is meant again where this one was chosen.
func (c *Config) Remove() error {
	if err := os.RemoveAll(c.Folders.ProfileData(c.name)); err != nil {
		return fmt.Errorf("remove the profile: %w", err)
	}
	if err := os.Remove(c.Folders.ProfileFile(c.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the profile: %w", err)
	}
	c.profile = nil
	if chosen, err := os.ReadFile(c.Folders.chosenProfile()); err != nil || strings.TrimSpace(string(chosen)) != c.name {
		return nil //nolint:nilerr // nothing was chosen
	}
	return c.Choose(DefaultProfile)
}

// Exists reports whether the profile has anything on this machine, or stands in
// config.toml. The default one always does.
func (c *Config) Exists() bool {
	if c.name == DefaultProfile || c.profile != nil || c.file != nil && c.file.IsSet(ofProfile(c.name)) {
		return true
	}
	_, err := os.Stat(c.Folders.ProfileData(c.name))
	return err == nil
}

// Profiles are the names of the profiles that have anything on this machine.
func (c *Config) Profiles() ([]string, error) {
	names := []string{c.name}
	for _, pattern := range []string{c.Folders.ProfileFile("*"), c.Folders.ProfileData("*")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("list the profiles: %w", err)
		}
		for _, path := range found {
			name := strings.TrimSuffix(filepath.Base(path), ".toml")
			if validProfile(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if c.file != nil {
		for name := range c.file.GetStringMap(profilesTable) {
			if validProfile(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// ForProfile is the same configuration seen from another profile.
func (c *Config) ForProfile(name string) (*Config, error) {
	flags := map[string]string{Profile: name}
	for key, value := range c.flags {
		if key == Offline || key == InsecureStorage || key == InsecureHTTP {
			flags[key] = value
		}
	}
	// A server that was named together with a token belongs to it.
	named := name == c.name && c.getenv("BM_TOKEN") != ""
	if server, given := c.flags[Server]; given && named {
		flags[Server] = server
	}
	return Load(func(key string) string {
		switch {
		case key == "BM_WORKSPACE", key == "BM_PROFILE", key == "BM_SERVER" && !named:
			return "" // these are about the profile that was named
		}
		return c.getenv(key)
	}, flags)
}
