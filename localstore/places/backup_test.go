package places_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bm/localstore/places"
	"bm/localstore/places/placestest"
	"bm/server/api/exchange"
)

// profile has of everything that a profile may hold.
func profile(old bool) placestest.Profile {
	p := placestest.Profile{
		Old: old,
		Menu: []placestest.Node{
			{Title: "First & <last>", URL: "https://first.example/?a=1&b=2", Tags: []string{"go", "two words"}},
			{Separator: true},
			{Title: "Folder", Children: []placestest.Node{
				{Title: "Deep", Children: []placestest.Node{{Title: "deepest", URL: "https://deep.example/"}}},
				{Title: "Empty"},
				{Title: "", URL: "place:sort=8"},
			}},
			{Title: "First again", URL: "https://first.example/?a=1&b=2"},
		},
		Toolbar: []placestest.Node{{Title: "Search", URL: "https://search.example/", Keyword: "s", PostData: "q=%s", Charset: "windows-1251"}},
		Unfiled: []placestest.Node{{Title: "Loose", URL: "https://loose.example/"}},
		Orphans: []placestest.Node{{Title: "in no folder", URL: "https://orphan.example/"}},
	}
	if old {
		p.Unfiled[0].Description = "what it is\n\"about\""
		p.Menu = append(p.Menu, placestest.Node{Title: "All Bookmarks", Hidden: true, Children: []placestest.Node{{Title: "hidden", URL: "place:folder=TAGS"}}})
	} else {
		p.Mobile = []placestest.Node{{Title: "Phone", URL: "https://phone.example/"}}
	}
	return p
}

// What a profile holds, as a Firefox of today and one of long ago keep it.
const want = `First & <last> <https://first.example/?a=1&b=2> #go #two words
---
[Folder]
 [Deep]
  deepest <https://deep.example/>
 [Empty]
  <place:sort=8>
First again <https://first.example/?a=1&b=2> #go #two words
[Bookmarks Toolbar] PERSONAL_TOOLBAR_FOLDER=true
 Search <https://search.example/> LAST_CHARSET=windows-1251 POST_DATA=q=%s SHORTCUTURL=s
[Other Bookmarks] UNFILED_BOOKMARKS_FOLDER=true
 Loose <https://loose.example/>`

func TestBackupHoldsWhatFirefoxShows(t *testing.T) {
	for name, test := range map[string]struct {
		old  bool
		more string
	}{
		"modern": {more: "\n[Mobile Bookmarks] MOBILE_BOOKMARKS_FOLDER=true\n Phone <https://phone.example/>\n"},
		"old":    {old: true, more: " \"what it is\\n\\\"about\\\"\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "places.sqlite")
			if err := placestest.Make(t.Context(), path, profile(test.old)); err != nil {
				t.Fatal(err)
			}
			if got := outline(t, backup(t, path)); got != want+test.more {
				t.Errorf("got\n%s\nwant\n%s", got, want+test.more)
			}
		})
	}
}

func backup(t *testing.T, database string) []byte {
	t.Helper()
	copied, err := places.Copy(t.Context(), database, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := places.Backup(t.Context(), copied, &b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// outline is what an import makes of a backup: a line each, indented by folder.
func outline(t *testing.T, backup []byte) string {
	t.Helper()
	reader, err := exchange.NewReader(bytes.NewReader(backup))
	if err != nil {
		t.Fatalf("%v\n%s", err, backup)
	}
	if reader.Format() != exchange.FirefoxJSON {
		t.Errorf("it is taken for %s", reader.Format())
	}
	var b strings.Builder
	depth := map[int]int{exchange.Root: 0}
	for e, err := range reader.All() {
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.Repeat(" ", depth[e.Parent]))
		switch e.Kind {
		case exchange.Separator:
			b.WriteString("---")
		case exchange.Folder:
			depth[e.Number] = depth[e.Parent] + 1
			fmt.Fprintf(&b, "[%s]", e.Title)
		case exchange.Bookmark:
			fmt.Fprintf(&b, "%s <%s>", e.Title, e.URL)
			if e.CreatedAt.UnixMicro() != placestest.Added {
				t.Errorf("%s was added %v", e.Title, e.CreatedAt)
			}
		}
		for _, tag := range e.Tags {
			b.WriteString(" #" + tag)
		}
		for _, key := range slices.Sorted(maps.Keys(e.Extra)) {
			fmt.Fprintf(&b, " %s=%s", key, e.Extra[key])
		}
		if e.Description != "" {
			fmt.Fprintf(&b, " %q", e.Description)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A profile whose tables hold what no Firefox writes is read all the same.
func TestBackupOfAnOddProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "places.sqlite")
	running, err := placestest.Start(t.Context(), path, placestest.Profile{Menu: []placestest.Node{{Title: "A", URL: "https://a.example/"}, {Title: "B", URL: "https://b.example/"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`UPDATE moz_bookmarks SET parent = 2 WHERE id = 1`,                                               // the root below its own child
		`UPDATE moz_bookmarks SET position = 7, dateAdded = 'yesterday', title = x'ff41' WHERE id = 101`, // behind, and no text
		`UPDATE moz_bookmarks SET position = NULL, title = NULL WHERE id = 103`,
		`INSERT INTO moz_bookmarks(type, fk, parent, position, title) VALUES (1, NULL, 2, 9, 'no page'), (4, NULL, 2, 9, 'of another type')`,
		`INSERT INTO moz_bookmarks(type, fk, parent, position, title) VALUES (1, NULL, 101, 9, 'below a bookmark')`,
	} {
		if err := running.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	got := string(backup(t, path))
	if err := running.End(); err != nil {
		t.Fatal(err)
	}
	reader, err := exchange.NewReader(strings.NewReader(got))
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	var urls []string
	for e, err := range reader.All() {
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, e.URL)
	}
	if fmt.Sprint(urls) != "[https://b.example/ https://a.example/]" {
		t.Errorf("%v of\n%s", urls, got)
	}
}

func TestBackupOfWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	running, err := placestest.Start(t.Context(), whole, placestest.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(running.Add(t.Context(), 2000, "A title"), running.End()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign")
	if running, err = placestest.Start(t.Context(), foreign, placestest.Profile{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(running.Exec(t.Context(), `DELETE FROM moz_bookmarks`), running.End()); err != nil {
		t.Fatal(err)
	}
	rootless, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	broken := slices.Clone(content)
	for i := len(broken) / 2; i < len(broken)/2+8192; i++ {
		broken[i] = 0xff
	}
	for name, test := range map[string]struct {
		content []byte
		want    error
	}{
		"no database": {[]byte(strings.Repeat("no database ", 1000)), places.ErrDamaged},
		"empty":       {nil, places.ErrForeign},
		"no roots":    {rootless, places.ErrForeign},
		"cut off":     {content[:len(content)/2], places.ErrDamaged},
		"overwritten": {broken, places.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "places.sqlite")
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := places.Backup(t.Context(), path, io.Discard, nil); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

func TestBackupCanBeInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "places.sqlite")
	if err := placestest.Make(t.Context(), path, profile(false)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := places.Backup(ctx, path, io.Discard, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := places.Copy(ctx, path, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
