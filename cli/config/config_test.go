package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bm/cli/config"
)

func environment(t *testing.T, pairs ...string) func(string) string {
	t.Helper()
	home := t.TempDir()
	values := map[string]string{"HOME": home}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(key string) string { return values[key] }
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := config.WritePrivate(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	base := []string{"BM_CONFIG_DIR", dir}
	load := func(flags map[string]string, more ...string) *config.Config {
		t.Helper()
		c, err := config.Load(environment(t, append(base, more...)...), flags)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if got := load(nil).Get(config.Autostart); got != "true" {
		t.Errorf("default: %q", got)
	}
	write(t, filepath.Join(dir, "profiles", "default.toml"), "server = \"https://profile.example\"\n")
	if got := load(nil).Get(config.Server); got != "https://profile.example" {
		t.Errorf("profile file: %q", got)
	}
	write(t, filepath.Join(dir, "config.toml"), "server = \"https://file.example\"\n[profiles.work]\nserver = \"https://work.example\"\n[daemon]\nautostart = false\n")
	c := load(nil)
	if got := c.Get(config.Server); got != "https://file.example" {
		t.Errorf("config.toml: %q", got)
	}
	if c.Is(config.Autostart) {
		t.Error("daemon.autostart = false was not read")
	}
	if got := load(map[string]string{"profile": "work"}).Get(config.Server); got != "https://work.example" {
		t.Errorf("profile section: %q", got)
	}
	if got := load(nil, "BM_SERVER", "https://env.example").Get(config.Server); got != "https://env.example" {
		t.Errorf("environment: %q", got)
	}
	c = load(map[string]string{"server": "https://flag.example"}, "BM_SERVER", "https://env.example")
	for _, v := range c.Values() {
		if v.Key == config.Server && (v.Value != "https://flag.example" || v.Origin != "flag --server") {
			t.Errorf("flag: %+v", v)
		}
	}
}

// A profile's name may have a dot; in config.toml it stands in quotation marks then,
// as TOML has it, and without them nothing else is made of it.
func TestAProfileWithADot(t *testing.T) {
	dir := t.TempDir()
	load := func(text string) (*config.Config, error) {
		t.Helper()
		write(t, filepath.Join(dir, "config.toml"), text)
		return config.Load(environment(t, "BM_CONFIG_DIR", dir), map[string]string{"profile": "a.b"})
	}
	c, err := load("[profiles.a]\nserver = \"https://a.example\"\n[profiles.\"a.b\"]\nserver = \"https://dot.example\"\n[profiles.\"a.b\".daemon]\nautostart = false\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Get(config.Server); got != "https://dot.example" || c.Is(config.Autostart) || !c.Exists() {
		t.Errorf("server %q, autostart %t, exists %t", got, c.Is(config.Autostart), c.Exists())
	}
	if names, err := c.Profiles(); err != nil || strings.Join(names, " ") != "a a.b" {
		t.Errorf("profiles %v, %v", names, err)
	}
	if c, err = load("\"daemon.autostart\" = false\n"); err != nil || c.Is(config.Autostart) {
		t.Errorf("a setting in quotation marks: %v", err)
	}
	for text, next := range map[string]string{
		"[profiles.a.b]\nserver = \"https://dot.example\"\n":    `[profiles."a.b"]   where that is a profile's name`,
		"[profiles.\"a.b\"]\nservr = \"https://dot.example\"\n": `profiles."a.b".server`,
		"profiles.\"a.b\" = 1\n":                                `[profiles."a.b"]   on a line of its own, and below it server = "…"`,
	} {
		_, err := load(text)
		if mistake, ok := errors.AsType[*config.Mistake](err); !ok || mistake.Next != next {
			t.Errorf("%s: %v, %+v", text, err, mistake)
		}
	}
}

func TestSaveKeepsWhoSignedIn(t *testing.T) {
	c, err := config.Load(environment(t, "BM_CONFIG_DIR", t.TempDir(), "BM_PROFILE", "work"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Account{Server: "http://127.0.0.1:8787", Email: "a@b.example", TenantID: "t", KeyID: "k", Insecure: true}
	if err := c.Save(want, config.Chosen{ID: "w", Name: "Work"}); err != nil {
		t.Fatal(err)
	}
	if got := c.Account(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if c.Get(config.Server) != want.Server || c.Get(config.Workspace) != "w" || !c.Is(config.InsecureHTTP) {
		t.Errorf("the saved settings are not in force: %+v", c.Values())
	}
	names, err := c.Profiles()
	if err != nil || strings.Join(names, " ") != "work" {
		t.Errorf("profiles %v, %v", names, err)
	}
}

func TestFilesAreClosedToOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	dir := filepath.Join(t.TempDir(), "bm")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte("offline = true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(environment(t, "BM_CONFIG_DIR", dir), nil); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, file: 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestProfileNamesAreNoPaths(t *testing.T) {
	for _, name := range []string{"../x", "a/b", "Work", ".hidden", "", strings.Repeat("a", 64), "a\x00b"} {
		_, err := config.Load(environment(t), map[string]string{"profile": name})
		if !errors.Is(err, config.ErrProfileName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestBrokenFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.toml"), "server = \n")
	_, err := config.Load(environment(t, "BM_CONFIG_DIR", dir), nil)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "config.toml")) {
		t.Errorf("got %v", err)
	}
}

func TestNearest(t *testing.T) {
	options := []string{"server", "workspace", "offline", "profile"}
	for name, want := range map[string]string{"serverr": "server", "workspce": "workspace", "ofline": "offline", "x": "", "something": "", "": ""} {
		if got := config.Nearest(name, options); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	// Of short names one mistake is all that there may be, and two letters that
	// changed places are one.
	for name, want := range map[string]string{"lss": "ls", "sl": "ls", "rm": "", "gte": "get", "tget": "get", "saerhc": "search", "get": "get"} {
		if got := config.Nearest(name, []string{"ls", "get", "search"}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestSocketPathFits(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	f, err := config.FindFolders(environment(t, "BM_DATA_DIR", deep))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Socket()); n > 103 {
		t.Errorf("the socket's path has %d bytes: %s", n, f.Socket())
	}
	again, err := config.FindFolders(environment(t, "BM_DATA_DIR", deep))
	if err != nil || again.Socket() != f.Socket() {
		t.Errorf("%s, then %s, %v", f.Socket(), again.Socket(), err)
	}
}

func TestWritePrivateReplacesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "file")
	write(t, path, "one")
	write(t, path, "two")
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "two" {
		t.Errorf("%q, %v", got, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("beside it lie %v, %v", left, err)
	}
}

// A home that is not absolute would be another one in every folder.
func TestARelativeHomeIsNone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("HOME is not what is looked at first")
	}
	env := environment(t, "HOME", "relative")
	if f, err := config.FindFolders(env); err == nil {
		t.Errorf("%+v", f)
	}
	dir := t.TempDir()
	env = environment(t, "HOME", "relative", "BM_CONFIG_DIR", dir, "BM_DATA_DIR", dir)
	if _, err := config.FindFolders(env); err != nil {
		t.Error(err)
	}
}
