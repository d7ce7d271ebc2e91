package browser_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bm/cli/transfer/browser"
)

// machine is a home that a test made: files by their paths below it. A path that
// ends in a slash is a folder.
func machine(t *testing.T, system string, env map[string]string, files map[string]string) browser.Machine {
	t.Helper()
	home := t.TempDir()
	for name, content := range files {
		path := filepath.Join(home, filepath.FromSlash(name))
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return browser.Machine{System: system, Home: home, Getenv: func(name string) string {
		return strings.ReplaceAll(env[name], "HOME", home)
	}}
}

// listing is what was found, a line each, with paths below the home.
func listing(m browser.Machine, found *browser.Found) string {
	var b strings.Builder
	for _, p := range found.Profiles {
		folder, err := filepath.Rel(m.Home, p.Folder)
		if err != nil {
			folder = p.Folder
		}
		mark := ""
		if p.Default {
			mark = " *"
		}
		fmt.Fprintf(&b, "%s = %s (%s) in %s%s\n", strings.ReplaceAll(p.From, m.Home, "HOME"), p.Title, p.Name, filepath.ToSlash(folder), mark)
	}
	return b.String()
}

const (
	oneProfile   = "[Profile0]\nName=default-release\nIsRelative=1\nPath=abcd.default-release\n"
	chromeNames  = `{"profile":{"info_cache":{"Default":{"name":"Personal"},"Profile 1":{"name":"Work"}},"last_used":"Profile 1"}}`
	someBookmark = `{"roots":{"other":{"children":[{"name":"a","url":"https://a.example/"}]},"synced":{"children":[]}}}`
	noBookmarks  = `{"checksum":"","roots":{"bookmark_bar":{"children":[],"type":"folder"},"other":{"children":[ ]}},"version":1}`
)

func TestFind(t *testing.T) {
	for name, test := range map[string]struct {
		system string
		env    map[string]string
		files  map[string]string
		want   string
	}{
		"nothing": {system: "linux"},
		"Linux": {
			system: "linux",
			files: map[string]string{
				".mozilla/firefox/profiles.ini":                                                   "[Install4F96D1932A9F858E]\nDefault=abcd.default-release\nLocked=1\n\n[Profile1]\nName=default\nIsRelative=1\nPath=efgh.default\nDefault=1\n\n" + oneProfile + "\n[General]\nStartWithLastProfile=1\n",
				".mozilla/firefox/efgh.default/places.sqlite":                                     "x",
				".mozilla/firefox/abcd.default-release/places.sqlite":                             "x",
				".mozilla/firefox/Crash Reports/":                                                 "",
				".librewolf/zz.default-default/places.sqlite":                                     "x",
				".var/app/app.zen_browser.zen/.zen/q.Default/places.sqlite":                       "x",
				".config/google-chrome/Local State":                                               chromeNames,
				".config/google-chrome/Default/Bookmarks":                                         someBookmark,
				".config/google-chrome/Profile 1/AccountBookmarks":                                someBookmark,
				".config/google-chrome/Profile 2/History":                                         "no bookmarks in it",
				".config/google-chrome/Profile 4/Bookmarks":                                       noBookmarks,
				".config/google-chrome/Profile 5/AccountBookmarks":                                `{"roots":{},"version":1}`,
				".config/google-chrome/Profile 3/Bookmarks":                                       "",
				"snap/chromium/common/chromium/Default/Bookmarks":                                 someBookmark,
				".config/opera/Bookmarks":                                                         someBookmark,
				".config/opera/_side_profiles/1a/Bookmarks":                                       someBookmark,
				".config/microsoft-edge/Default/Bookmarks":                                        someBookmark,
				"Library/Safari/Bookmarks.plist":                                                  "of another system",
				".var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser/Default/Bookmarks": someBookmark,
			},
			want: `firefox:default-release = Firefox (default-release) in .mozilla/firefox/abcd.default-release *
firefox:default = Firefox (default) in .mozilla/firefox/efgh.default
librewolf:default-default = LibreWolf (default-default) in .librewolf/zz.default-default
zen:Default = Zen (Default) in .var/app/app.zen_browser.zen/.zen/q.Default
chrome:Work = Chrome (Work) in .config/google-chrome/Profile 1 *
chrome:Personal = Chrome (Personal) in .config/google-chrome/Default
chromium:Default = Chromium (Default) in snap/chromium/common/chromium/Default
edge:Default = Edge (Default) in .config/microsoft-edge/Default
brave:Default = Brave (Default) in .var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser/Default
opera:opera = Opera (opera) in .config/opera
opera:1a = Opera (1a) in .config/opera/_side_profiles/1a
`,
		},
		"folders of XDG": {
			system: "linux", env: map[string]string{"XDG_CONFIG_HOME": "HOME/elsewhere"},
			files: map[string]string{
				"elsewhere/mozilla/firefox/x.default/places.sqlite": "x",
				"elsewhere/chromium/Default/Bookmarks":              someBookmark,
				".config/chromium/Default/Bookmarks":                someBookmark,
			},
			want: "firefox:default = Firefox (default) in elsewhere/mozilla/firefox/x.default\nchromium:Default = Chromium (Default) in elsewhere/chromium/Default\n",
		},
		"macOS": {
			system: "darwin",
			files: map[string]string{
				"Library/Application Support/Firefox/profiles.ini":                                "[Profile0]\nName=default-release\nIsRelative=1\nPath=Profiles/abcd.default-release\nDefault=1\n",
				"Library/Application Support/Firefox/Profiles/abcd.default-release/places.sqlite": "x",
				"Library/Application Support/Firefox/Profiles/efgh.Second profile/places.sqlite":  "x",
				"Library/Application Support/Google/Chrome/Default/Bookmarks":                     someBookmark,
				"Library/Application Support/com.operasoftware.Opera/Default/Bookmarks":           someBookmark,
				"Library/Safari/Bookmarks.plist":                                                  "x",
				".mozilla/firefox/abcd.default/places.sqlite":                                     "of another system",
			},
			want: `firefox:default-release = Firefox (default-release) in Library/Application Support/Firefox/Profiles/abcd.default-release *
firefox:Second profile = Firefox (Second profile) in Library/Application Support/Firefox/Profiles/efgh.Second profile
chrome:Default = Chrome (Default) in Library/Application Support/Google/Chrome/Default
opera:Default = Opera (Default) in Library/Application Support/com.operasoftware.Opera/Default
safari:default = Safari (default) in Library/Safari *
`,
		},
		"Windows": {
			system: "windows", env: map[string]string{"APPDATA": "HOME/R", "LOCALAPPDATA": "HOME/L"},
			files: map[string]string{
				"R/Mozilla/Firefox/profiles.ini":                                "\ufeff[Profile0]\r\nName=default-release\r\nIsRelative=1\r\nPath=Profiles/abcd.default-release\r\n",
				"R/Mozilla/Firefox/Profiles/abcd.default-release/places.sqlite": "x",
				"L/Google/Chrome/User Data/Local State":                         chromeNames,
				"L/Google/Chrome/User Data/Default/Bookmarks":                   someBookmark,
				"L/Microsoft/Edge/User Data/Profile 1/Bookmarks":                someBookmark,
				"R/Opera Software/Opera Stable/Bookmarks":                       someBookmark,
				"L/Packages/Mozilla.Firefox_n80bbvh6b1yt2/LocalCache/Roaming/Mozilla/Firefox/Profiles/s.default-release/places.sqlite": "x",
			},
			want: `firefox:default-release = Firefox (default-release) in R/Mozilla/Firefox/Profiles/abcd.default-release
firefox:s.default-release = Firefox (default-release) in L/Packages/Mozilla.Firefox_n80bbvh6b1yt2/LocalCache/Roaming/Mozilla/Firefox/Profiles/s.default-release
chrome:Personal = Chrome (Personal) in L/Google/Chrome/User Data/Default
edge:Profile 1 = Edge (Profile 1) in L/Microsoft/Edge/User Data/Profile 1
opera:Opera Stable = Opera (Opera Stable) in R/Opera Software/Opera Stable
`,
		},
		"one browser, installed twice": {
			system: "linux",
			files: map[string]string{
				".config/chromium/Default/Bookmarks":                         someBookmark,
				"snap/chromium/common/chromium/Default/Bookmarks":            someBookmark,
				".var/app/org.chromium.Chromium/config/chromium/D/Bookmarks": someBookmark,
			},
			want: `chromium:Default = Chromium (Default) in .config/chromium/Default
chromium-snap:Default = Chromium (Default) in snap/chromium/common/chromium/Default
chromium:D = Chromium (D) in .var/app/org.chromium.Chromium/config/chromium/D
`,
		},
		"a profile without a name of its own": {
			system: "linux",
			files: map[string]string{
				".config/chromium/Local State":         `{"profile":{"info_cache":{"Default":{"name":"Your Chromium"},"Profile 1":{"name":"Über 2"}}}}`,
				".config/chromium/Default/Bookmarks":   someBookmark,
				".config/chromium/Profile 1/Bookmarks": someBookmark,
			},
			want: "chromium:Default = Chromium (Your Chromium) in .config/chromium/Default\nchromium:Über 2 = Chromium (Über 2) in .config/chromium/Profile 1\n",
		},
		"names that can't be typed, and namesakes": {
			system: "linux",
			files: map[string]string{
				".config/chromium/Local State":         `{"profile":{"info_cache":{"Default":{"name":"a\u001b[2Jb"},"Profile 1":{"name":"Me"},"Profile 2":{"name":"me"},"Profile 3":{"name":""},"Profile 4":7}}}`,
				".config/chromium/Default/Bookmarks":   someBookmark,
				".config/chromium/Profile 1/Bookmarks": someBookmark,
				".config/chromium/Profile 2/Bookmarks": someBookmark,
				".config/chromium/Profile 3/Bookmarks": someBookmark,
				".config/chromium/Profile 4/Bookmarks": someBookmark,
			},
			want: "chromium:Default = Chromium (a\x1b[2Jb) in .config/chromium/Default\n" + `chromium:Profile 1 = Chromium (Me) in .config/chromium/Profile 1
chromium:Profile 2 = Chromium (me) in .config/chromium/Profile 2
chromium:Profile 3 = Chromium (Profile 3) in .config/chromium/Profile 3
chromium:Profile 4 = Chromium (Profile 4) in .config/chromium/Profile 4
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, test.system, test.env, test.files)
			found := browser.Find(m)
			if got := listing(m, found); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if len(found.Troubles) > 0 {
				t.Errorf("troubles: %v", found.Troubles)
			}
			for _, p := range found.Profiles {
				if meant := found.Select(p.From); len(meant) != 1 || meant[0].Folder != p.Folder {
					t.Errorf("%s means %v", p.From, meant)
				}
			}
		})
	}
}

// A profile may lie anywhere, and a folder may be another's under two names.
func TestFindFollowsLinksAndPaths(t *testing.T) {
	m := machine(t, "linux", nil, map[string]string{
		"disk/mine/places.sqlite":         "x",
		"real/abcd.default/places.sqlite": "x",
		".mozilla/":                       "",
		".config/mozilla/":                "",
	})
	if err := os.WriteFile(filepath.Join(m.Home, "real", "profiles.ini"), []byte("[Profile0]\nName=far\nIsRelative=0\nPath="+filepath.Join(m.Home, "disk", "mine")+"\nDefault=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{".mozilla/firefox", ".config/mozilla/firefox"} {
		if err := os.Symlink(filepath.Join(m.Home, "real"), filepath.Join(m.Home, link)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	if err := os.Symlink("loop", filepath.Join(m.Home, "real", "loop")); err != nil {
		t.Fatal(err)
	}
	want := "firefox:far = Firefox (far) in disk/mine *\nfirefox:default = Firefox (default) in .mozilla/firefox/abcd.default\n"
	if got := listing(m, browser.Find(m)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What can't be looked at is told, and the rest is found all the same.
func TestFindTellsWhatIsInTheWay(t *testing.T) {
	m := machine(t, "linux", nil, map[string]string{
		".mozilla/firefox/profiles.ini/":              "", // a folder
		".mozilla/firefox/abcd.default/places.sqlite": "x",
		".config/chromium/Local State":                "{no JSON",
		".config/chromium/Default/Bookmarks":          someBookmark,
		".config/vivaldi":                             "a file where a folder should be",
		".config/google-chrome/Default/Bookmarks":     someBookmark,
	})
	closed := filepath.Join(m.Home, ".config", "google-chrome")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) }) //nolint:gosec // so that it can be removed
	found := browser.Find(m)
	want := "firefox:default = Firefox (default) in .mozilla/firefox/abcd.default\nchromium:Default = Chromium (Default) in .config/chromium/Default\n"
	inTheWay := []string{"firefox", "chromium"}
	if os.Getuid() == 0 { // to whom nothing is closed
		want = strings.Replace(want, "chromium:", "chrome:Default = Chrome (Default) in .config/google-chrome/Default\nchromium:", 1)
	} else {
		inTheWay = []string{"firefox", "chrome", "chromium"}
	}
	if got := listing(m, found); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var told []string
	for _, trouble := range found.Troubles {
		if !slices.Contains(told, trouble.Browser) {
			told = append(told, trouble.Browser)
		}
	}
	if !slices.Equal(told, inTheWay) {
		t.Errorf("%v is in the way, want %v: %v", told, inTheWay, found.Troubles)
	}
}

func TestSelect(t *testing.T) {
	m := machine(t, "linux", nil, map[string]string{
		".config/chromium/Local State":                    chromeNames,
		".config/chromium/Default/Bookmarks":              someBookmark,
		".config/chromium/Profile 1/Bookmarks":            someBookmark,
		"snap/chromium/common/chromium/Default/Bookmarks": someBookmark,
	})
	found := browser.Find(m)
	for typed, want := range map[string]string{
		"chromium":               "Work Personal Default",
		"CHROMIUM":               "Work Personal Default",
		"chromium-snap":          "Default",
		"chromium:work":          "Work",
		"chromium:profile 1":     "Work",
		"chromium:Default":       "Default",
		"chromium-snap:default":  "Default",
		"chromium-snap:Personal": "",
		"chromium:" + filepath.Join(m.Home, ".config/chromium/Default/"): "Personal",
		"chromium:other": "",
		"chrome":         "",
		"":               "",
		":":              "",
	} {
		var names []string
		for _, p := range found.Select(typed) {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q means %q, want %q", typed, got, want)
		}
	}
	for name, want := range map[string]string{"chromium": "Chromium", "opera-gx": "Opera GX", "firefox-flatpak": "Firefox", "netscape": "", "firefox-beta": ""} {
		if title, known := browser.Knows(name); title != want || known != (want != "") {
			t.Errorf("%s is %q, %v", name, title, known)
		}
	}
}

// A folder that no browser lists is taken as the profile that it is said to be.
func TestAt(t *testing.T) {
	m := machine(t, "linux", nil, map[string]string{"stick/places.sqlite": "x", "stick/Bookmarks": someBookmark, "empty/": ""})
	stick := filepath.Join(m.Home, "stick")
	for typed, want := range map[string]bool{
		"firefox:" + stick: true, "firefox:" + stick + "/": true, "chrome:" + stick: true, "firefox:~/stick": true,
		"safari:" + stick: false, "firefox:" + filepath.Join(m.Home, "empty"): false, "firefox:" + filepath.Join(m.Home, "none"): false,
		"firefox": false, "firefox:stick": false, "netscape:" + stick: false,
	} {
		p, found := m.At(typed)
		if found != want || found && p.Folder != stick {
			t.Errorf("%s is %v in %q", typed, found, p.Folder)
		}
	}
}

// A list that says of a path that it begins at the root, where it does not, means
// no folder below the one that bm happens to be run in.
func TestFindLooksNowhereByChance(t *testing.T) {
	m := machine(t, "linux", nil, map[string]string{
		".mozilla/firefox/profiles.ini": "[Profile0]\nName=here\nIsRelative=0\nPath=here\n", "here/places.sqlite": "x",
	})
	t.Chdir(m.Home)
	if found := listing(m, browser.Find(m)); found != "" {
		t.Errorf("found %s", found)
	}
}

// When a browser changed bookmarks last is known by the database or its log.
func TestChanged(t *testing.T) {
	m := machine(t, "linux", nil, map[string]string{
		".mozilla/firefox/a.one/places.sqlite": "x", ".mozilla/firefox/a.one/places.sqlite-wal": "x",
		".config/chromium/Default/Bookmarks": someBookmark, ".config/chromium/Default/AccountBookmarks": someBookmark,
	})
	early, late := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, at := range map[string]time.Time{
		".mozilla/firefox/a.one/places.sqlite": early, ".mozilla/firefox/a.one/places.sqlite-wal": late,
		".config/chromium/Default/Bookmarks": late, ".config/chromium/Default/AccountBookmarks": early,
	} {
		if err := os.Chtimes(filepath.Join(m.Home, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range browser.Find(m).Profiles {
		if !p.Changed.Equal(late) {
			t.Errorf("%s changed %v", p.From, p.Changed)
		}
	}
}

// What Chrome keeps encrypted is told, where nothing that can be read holds it.
func TestEncrypted(t *testing.T) {
	long := strings.Repeat("x", 1000)
	m := machine(t, "linux", nil, map[string]string{
		".config/chromium/Both/Bookmarks": long, ".config/chromium/Both/EncryptedBookmarks2": long, ".config/chromium/Both/EncryptedAccountBookmarks2": "short",
		".config/chromium/Account/Bookmarks": long, ".config/chromium/Account/EncryptedAccountBookmarks2": long,
		".config/chromium/Older/Bookmarks": long, ".config/chromium/Older/EncryptedBookmarks2": long,
		".config/chromium/Only/EncryptedBookmarks2": long,
	})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(m.Home, ".config/chromium/Older/Bookmarks"), at, at); err != nil {
		t.Fatal(err)
	}
	found := browser.Find(m)
	for name, want := range map[string][]string{"both": nil, "account": {"EncryptedAccountBookmarks2"}, "older": {"EncryptedBookmarks2"}} {
		if meant := found.Select("chromium:" + name); len(meant) != 1 || !slices.Equal(meant[0].Encrypted, want) {
			t.Errorf("%s: %+v", name, meant)
		}
	}
	if len(found.Profiles) != 3 || len(found.Troubles) != 1 || !errors.Is(found.Troubles[0].Err, browser.ErrEncrypted) || filepath.Base(found.Troubles[0].Path) != "Only" {
		t.Errorf("%+v", found)
	}
}
