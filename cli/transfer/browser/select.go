package browser

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Split takes apart what is typed for a browser, and for one of its profiles.
func Split(typed string) (browser, profile string) {
	browser, profile, _ = strings.Cut(typed, ":")
	return strings.ToLower(strings.TrimSpace(browser)), profile
}

// Knows reports whether there is a browser of that name, and what a person calls
// it.
func Knows(name string) (title string, known bool) {
	if b := lookUp(name); b != nil {
		return b.title, true
	}
	return "", false
}

// lookUp finds a browser by its name, to which the way it was installed may be
// added.
func lookUp(name string) *browser {
	for i := range known {
		if known[i].id == name {
			return &known[i]
		}
	}
	for _, kind := range []string{snap, flatpak, store} {
		if id, added := strings.CutSuffix(name, "-"+kind); added {
			return lookUp(id)
		}
	}
	return nil
}

// Select finds the profiles that may be meant by what was typed: all those of a
// browser, or those that are called so. A profile is called by its name, else by
// that of its folder, else by its path. Of several namesakes the one is meant
// whose browser was installed in the usual way.
func (f *Found) Select(typed string) []Profile {
	browser, profile := Split(typed)
	var of []Profile
	for _, p := range f.Profiles {
		if browser == p.Browser || p.Kind != "" && browser == p.Browser+"-"+p.Kind {
			of = append(of, p)
		}
	}
	if profile == "" {
		return of
	}
	for _, called := range []func(*Profile) bool{
		func(p *Profile) bool { return strings.EqualFold(p.Name, profile) },
		func(p *Profile) bool { return strings.EqualFold(filepath.Base(p.Folder), profile) },
		func(p *Profile) bool { return p.Folder == filepath.Clean(profile) },
	} {
		var usual, others []Profile
		for i := range of {
			switch {
			case !called(&of[i]):
			case of[i].Kind == "":
				usual = append(usual, of[i])
			default:
				others = append(others, of[i])
			}
		}
		if len(usual) > 0 {
			return usual
		}
		if len(others) > 0 {
			return others
		}
	}
	return nil
}

// name finds for every profile what is typed to mean it alone: a name, one that
// no shell wants in quotes if there is such a one, or else its path.
func (f *finder) name() {
	for i := range f.Profiles {
		p := &f.Profiles[i]
		base := filepath.Base(p.Folder)
		names := []string{p.Browser + ":" + p.Name, p.Browser + ":" + base}
		if p.Kind != "" {
			installed := p.Browser + "-" + p.Kind
			names = append(names, installed+":"+p.Name, installed+":"+base)
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			meant := f.Select(name)
			return len(meant) != 1 || meant[0].Folder != p.Folder || strings.HasSuffix(name, ":") || strings.ContainsFunc(name, unprintable)
		})
		names = append(names, p.Browser+":"+p.Folder)
		p.From = names[0]
		if plain := slices.IndexFunc(names[:len(names)-1], isPlain); plain >= 0 {
			p.From = names[plain]
		}
	}
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// isPlain reports whether a name means the same in every shell.
func isPlain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && r != ':' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

// At is the profile in a folder that was typed as a path, which a browser need
// not know of: one of another machine's disk, or of a browser on a stick.
func (m Machine) At(typed string) (Profile, bool) {
	name, folder := Split(typed)
	b := lookUp(name)
	if b == nil || !strings.ContainsAny(folder, `/\`) {
		return Profile{}, false
	}
	if below, found := strings.CutPrefix(folder, "~"+string(filepath.Separator)); found {
		folder = filepath.Join(m.Home, below)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return Profile{}, false
	}
	f := &finder{machine: m, seen: map[string]bool{}}
	p := Profile{Name: filepath.Base(folder), Folder: filepath.Clean(folder), From: b.id + ":" + filepath.Clean(folder)}
	switch b.engine {
	case Firefox:
		f.add(b, p, databaseFile)
	case Chrome:
		f.add(b, p, localFile, accountFile)
	case Safari:
		f.add(b, p, safariFile)
	}
	if len(f.Profiles) == 0 {
		return Profile{}, false
	}
	return f.Profiles[0], true
}
