package browser_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"bm/cli/transfer/browser"
	"bm/localstore/places"
	"bm/localstore/places/placestest"
)

// firefox is a machine on which Firefox has a profile, and runs.
func firefox(t *testing.T) (*browser.Profile, *placestest.Running) {
	t.Helper()
	m := machine(t, "linux", nil, map[string]string{".mozilla/firefox/abcd.default/": ""})
	nodes := []placestest.Node{{Title: "Go", URL: "https://go.dev/", Tags: []string{"lang"}}}
	running, err := placestest.Start(t.Context(), filepath.Join(m.Home, ".mozilla/firefox/abcd.default/places.sqlite"), placestest.Profile{Menu: nodes})
	if err != nil {
		t.Fatal(err)
	}
	found := browser.Find(m).Profiles
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	return &found[0], running
}

// What is copied lies in a folder that nobody else can enter, and is gone with the
// file. What a crash left there goes too.
func TestWhatIsCopiedIsRemoved(t *testing.T) {
	profile, running := firefox(t)
	folder := filepath.Join(t.TempDir(), "data", "browser")
	if err := os.MkdirAll(filepath.Join(folder, "left"), 0o750); err != nil {
		t.Fatal(err)
	}
	file, err := profile.Open(t.Context(), browser.Copying{Folder: folder, Waiting: func() { t.Error("it waits for nobody") }})
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err != nil || !bytes.Contains(text, []byte("https://go.dev/")) || file.Size != int64(len(text)) {
		t.Errorf("%v, %d bytes of %d: %s", err, len(text), file.Size, text)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside what is read there is %v, %v", entries, err)
	}
	if err := errors.Join(file.Close(), running.End()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

func TestNothingIsLeftOfACopyThatFailed(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(database string, running *placestest.Running) error
		want   error
	}{
		"foreign": {func(_ string, running *placestest.Running) error {
			return running.Exec(t.Context(), `DROP TABLE moz_bookmarks`)
		}, places.ErrForeign},
		"damaged": {func(database string, running *placestest.Running) error {
			err := running.End()
			return errors.Join(err, os.WriteFile(database, []byte(strings.Repeat("no database", 1000)), 0o600))
		}, places.ErrDamaged},
		"gone": {func(database string, _ *placestest.Running) error { return os.Remove(database) }, os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			profile, running := firefox(t)
			if err := test.breaks(filepath.Join(profile.Folder, "places.sqlite"), running); err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(t.TempDir(), "browser")
			if _, err := profile.Open(t.Context(), browser.Copying{Folder: folder}); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder is left: %v", err)
			}
		})
	}
}

// Two that copy at once take turns, and the second can be told not to wait.
func TestOneCopiesAtATime(t *testing.T) {
	profile, _ := firefox(t)
	folder := filepath.Join(t.TempDir(), "browser")
	lock := flock.New(folder + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := profile.Open(ctx, browser.Copying{Folder: folder, Waiting: cancel}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted while it waits: %v", err)
	}
	file, err := profile.Open(t.Context(), browser.Copying{Folder: folder, Waiting: func() { _ = lock.Unlock() }})
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// Chrome's file is read as it is, and both of them as one.
func TestOpenChrome(t *testing.T) {
	const bookmark = `{"roots":{"other":{"children":[{"name":"N","type":"url","url":"https://n.example/"}]}}}`
	m := machine(t, "linux", nil, map[string]string{
		".config/chromium/One/Bookmarks":        strings.ReplaceAll(bookmark, "N", "one"),
		".config/chromium/Two/Bookmarks":        strings.ReplaceAll(bookmark, "N", "two"),
		".config/chromium/Two/AccountBookmarks": strings.ReplaceAll(bookmark, "N", "three"),
		".config/chromium/Bad/Bookmarks":        bookmark,
		".config/chromium/Bad/AccountBookmarks": "{",
	})
	found := browser.Find(m)
	for name, want := range map[string][]string{"one": {`"one"`}, "two": {`"two"`, `"three"`}} {
		profile := found.Select("chromium:" + name)[0]
		file, err := profile.Open(t.Context(), browser.Copying{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, title := range want {
			if !strings.Contains(string(text), title) {
				t.Errorf("%s lacks %s: %s", name, title, text)
			}
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	profile := found.Select("chromium:bad")[0]
	if _, err := profile.Open(t.Context(), browser.Copying{}); err == nil || !strings.Contains(err.Error(), "AccountBookmarks") {
		t.Errorf("%v", err)
	}
}
