package browser

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Machine is where to look.
type Machine struct {
	System string // as runtime.GOOS has it
	Home   string
	Getenv func(string) string
}

// This is the machine that bm runs on.
func This(getenv func(string) string) Machine {
	m := Machine{System: runtime.GOOS, Getenv: getenv, Home: getenv("HOME")}
	if m.System == "windows" {
		m.Home = getenv("USERPROFILE")
	}
	return m
}

// Profile is a profile with bookmarks in it.
type Profile struct {
	Browser string // as it is typed: firefox
	Title   string // as a person calls it: Firefox
	Engine  Engine
	Kind    string // how the browser was installed; "" is the usual way
	Name    string // as the browser calls the profile
	Folder  string
	Default bool      // the browser opens it, or did so last
	Changed time.Time // when a bookmark, or what lies beside them, changed last
	// From is what is typed to import from it.
	From string
	// Encrypted are files that hold bookmarks, or newer ones, which nobody but the
	// browser can read.
	Encrypted []string

	files []string // that hold the bookmarks
}

// rank puts the profile first that the browser opens.
func (p *Profile) rank() int {
	if p.Default {
		return 1
	}
	return 0
}

// Trouble is a place where there may be profiles, and why that is not known.
type Trouble struct {
	Browser string
	Title   string
	Engine  Engine
	Path    string
	Err     error
}

// Found is what there is on a machine.
type Found struct {
	Profiles []Profile
	Troubles []Trouble
}

// Find looks for profiles. It reads folders and lists of profiles, and opens no
// database.
func Find(m Machine) *Found {
	f := &finder{machine: m, seen: map[string]bool{}}
	for i := range known {
		b := &known[i]
		first := len(f.Profiles)
		for _, place := range b.places(m.System) {
			root := m.path(place)
			if root == "" {
				continue
			}
			switch b.engine {
			case Firefox:
				f.firefox(b, place, root)
			case Chrome:
				f.chrome(b, place, root)
			case Safari:
				f.safari(b, root)
			}
		}
		slices.SortStableFunc(f.Profiles[first:], func(a, b Profile) int { return b.rank() - a.rank() })
	}
	f.name()
	return &f.Found
}

// path is where a place is on this machine; "" where that is not known.
func (m Machine) path(p place) string {
	root := m.Home
	fallback := func(variable string, path ...string) string {
		if dir := m.Getenv(variable); filepath.IsAbs(dir) {
			return dir
		}
		if m.Home == "" {
			return ""
		}
		return filepath.Join(append([]string{m.Home}, path...)...)
	}
	switch p.below {
	case config:
		root = fallback("XDG_CONFIG_HOME", ".config")
	case support:
		root = fallback("", "Library", "Application Support")
	case local:
		root = fallback("LOCALAPPDATA", "AppData", "Local")
	case roaming:
		root = fallback("APPDATA", "AppData", "Roaming")
	}
	if !filepath.IsAbs(root) {
		return ""
	}
	return filepath.Join(root, filepath.FromSlash(p.path))
}

type finder struct {
	Found
	machine Machine
	seen    map[string]bool // folders, links followed
}

func (f *finder) trouble(b *browser, path string, err error) {
	if err != nil && !absent(err) {
		f.Troubles = append(f.Troubles, Trouble{Browser: b.id, Title: b.title, Engine: b.engine, Path: path, Err: err})
	}
}

// absent reports whether there is nothing, rather than something in the way.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) }

// add adds a profile where its folder has one of the files and was not met before.
func (f *finder) add(b *browser, p Profile, files ...string) {
	for _, name := range files {
		info, err := os.Stat(filepath.Join(p.Folder, name))
		if err != nil {
			f.trouble(b, filepath.Join(p.Folder, name), err)
			continue
		}
		if !info.Mode().IsRegular() || info.Size() == 0 || b.engine == Chrome && isBare(filepath.Join(p.Folder, name), info.Size()) {
			continue
		}
		p.files = append(p.files, name)
		p.Changed = later(p.Changed, info.ModTime())
	}
	if b.engine == Chrome {
		p.Encrypted = encrypted(p.Folder)
	}
	folder, err := filepath.EvalSymlinks(p.Folder)
	if len(p.files)+len(p.Encrypted) == 0 || err != nil || f.seen[folder] {
		return
	}
	f.seen[folder] = true
	if len(p.files) == 0 {
		f.trouble(b, p.Folder, ErrEncrypted)
		return
	}
	p.Browser, p.Title, p.Engine = b.id, b.title, b.engine
	if p.Engine == Firefox {
		if info, err := os.Stat(filepath.Join(p.Folder, databaseFile+"-wal")); err == nil {
			p.Changed = later(p.Changed, info.ModTime())
		}
	}
	f.Profiles = append(f.Profiles, p)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// The files that hold bookmarks, in a profile's folder. A newer Chrome has those
// of the account apart.
const (
	databaseFile = "places.sqlite"
	localFile    = "Bookmarks"
	accountFile  = "AccountBookmarks"
	safariFile   = "Bookmarks.plist"
)

// firefox finds the profiles that profiles.ini lists, wherever they are, and those
// that lie where Firefox makes them: it does not list all of them.
func (f *finder) firefox(b *browser, at place, root string) {
	text, err := readSome(filepath.Join(root, "profiles.ini"), maxINI)
	f.trouble(b, filepath.Join(root, "profiles.ini"), err)
	for _, l := range parseINI(text, root) {
		f.add(b, Profile{Kind: at.kind, Name: cmp.Or(l.name, afterDot(l.folder)), Folder: l.folder, Default: l.isDefault}, databaseFile)
	}
	for _, dir := range []string{root, filepath.Join(root, "Profiles")} {
		for _, folder := range f.folders(b, dir) {
			f.add(b, Profile{Kind: at.kind, Name: afterDot(folder), Folder: folder}, databaseFile)
		}
	}
}

// afterDot is the name of a profile by that of its folder, which has some letters
// at random before it.
func afterDot(folder string) string {
	name := filepath.Base(folder)
	if _, after, found := strings.Cut(name, "."); found && after != "" {
		return after
	}
	return name
}

func (f *finder) safari(b *browser, root string) {
	f.add(b, Profile{Name: "default", Folder: root, Default: true}, safariFile)
}

// folders are what lies in a folder and is one, or leads to one.
func (f *finder) folders(b *browser, dir string) []string {
	entries, err := os.ReadDir(dir)
	f.trouble(b, dir, err)
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() || entry.Type()&fs.ModeSymlink != 0 {
			folders = append(folders, filepath.Join(dir, entry.Name()))
		}
	}
	return folders
}

var errNoFile = errors.New("it is no file")

// readSome reads a file that is not longer than it may sensibly be.
func readSome(path string, most int64) ([]byte, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errNoFile) // a pipe would have bm wait for ever
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it is longer than %d MiB", most>>20)
	}
	return text, err
}
