package exchange_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bm/server/api/exchange"
)

const firefoxBackup = `{"guid":"root________","title":"","index":0,"dateAdded":1460294955000000,"id":1,"typeCode":2,"type":"text/x-moz-place-container","root":"placesRoot","children":[
 {"guid":"toolbar_____","title":"toolbar","index":1,"type":"text/x-moz-place-container","root":"toolbarFolder","children":[
  {"title":"T","index":0,"type":"text/x-moz-place","uri":"https://t.example/"}]},
 {"guid":"menu________","title":"menu","index":0,"type":"text/x-moz-place-container","root":"bookmarksMenuFolder","children":[
  {"title":"second","index":2,"dateAdded":1456433748123456,"type":"text/x-moz-place","tags":"x,two words","uri":"https://b.example/","keyword":"k","charset":"UTF-8","iconUri":"https://b.example/i.ico"},
  {"index":1,"type":"text/x-moz-place-separator"},
  {"title":"first","index":0,"type":"text/x-moz-place-container","annos":[{"name":"bookmarkProperties/description","value":"about","flags":0}],"children":[
   {"title":"deep","index":0,"type":"text/x-moz-place","uri":"place:sort=8"}]}]},
 {"guid":"unfiled_____","title":"unfiled","index":3,"type":"text/x-moz-place-container","root":"unfiledBookmarksFolder"},
 {"guid":"mobile______","title":"mobile","index":4,"type":"text/x-moz-place-container","root":"mobileFolder","children":[
  {"title":null,"index":0,"type":"text/x-moz-place","uri":"https://m.example/"}]},
 {"guid":"tags________","title":"tags","index":2,"type":"text/x-moz-place-container","root":"tagsFolder","children":[
  {"title":"old","index":0,"type":"text/x-moz-place-container","children":[{"type":"text/x-moz-place","uri":"https://t.example/"}]}]}]}`

const chromeFile = `{
   "checksum": "0",
   "roots": {
      "bookmark_bar": {
         "children": [ {
            "children": [ {"date_added": "13100907348123456", "guid": "g", "id": "3", "name": "A", "type": "url", "url": "https://a.example/"} ],
            "date_added": "13100907348000000", "date_modified": "0", "name": "F", "type": "folder"
         }, {"name": "B", "type": "url", "url": "chrome://settings/"} ],
         "name": "Bookmarks bar", "type": "folder"
      },
      "other": {"children": [ {"date_added": "x", "name": "C", "type": "url", "url": "https://c.example/"} ], "name": "Other bookmarks", "type": "folder"},
      "sync_transaction_version": "1",
      "synced": {"children": [ {"name": "D", "type": "url", "url": "https://d.example/"} ], "name": "Mobile bookmarks", "type": "folder"},
      "another": {"children": [], "name": "Empty", "type": "folder"}
   },
   "version": 1
}`

func TestReadsBrowsersAndServices(t *testing.T) {
	for name, test := range map[string]struct {
		format   exchange.Format
		in, want string
	}{
		"Firefox": {
			exchange.FirefoxJSON, firefoxBackup,
			"[first] \"about\"\n deep <place:sort=8>\n---\nsecond <https://b.example/> #x #two words ICON_URI=https://b.example/i.ico LAST_CHARSET=UTF-8 SHORTCUTURL=k\n" +
				"[Bookmarks Toolbar] PERSONAL_TOOLBAR_FOLDER=true\n T <https://t.example/> #old\n[Mobile Bookmarks] MOBILE_BOOKMARKS_FOLDER=true\n  <https://m.example/>",
		},
		"a part of a Firefox backup": {
			exchange.FirefoxJSON, `{"type":"text/x-moz-place-container","root":"toolbarFolder","title":"toolbar","children":[{"type":"text/x-moz-place","uri":"a","title":"A"}]}`,
			"[Bookmarks Toolbar] PERSONAL_TOOLBAR_FOLDER=true\n A <a>",
		},
		"Chrome": {
			exchange.ChromeJSON, chromeFile,
			"[Bookmarks bar] PERSONAL_TOOLBAR_FOLDER=true\n [F]\n  A <https://a.example/>\n B <chrome://settings/>\nC <https://c.example/>\n[Mobile bookmarks]\n D <https://d.example/>",
		},
		"Pinboard": {
			exchange.PinboardJSON, "[{\"href\":\"https://a.example/\",\"description\":\"A\",\"extended\":\"about\",\"meta\":\"m\",\"hash\":\"h\",\"time\":\"2016-02-25T20:55:48Z\",\"shared\":\"no\",\"toread\":\"yes\",\"tags\":\"x y,z\"},\n{\"href\":\"b\",\"description\":false,\"shared\":\"yes\"},\n{\"href\":\"c\"}]",
			"A <https://a.example/> #x #y,z \"about\" PRIVATE=1 TOREAD=1\n <b> PRIVATE=0\n <c>",
		},
		"a list of ours": {exchange.ListJSON, `[{"id":"1","workspaceId":"w","url":"a","title":"A","tags":["x"],"folderId":"f"},{"url":"b"}]`, "A <a> #x\n <b>"},
		"an empty list":  {exchange.ListJSON, " [ ] ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := exchange.NewReader(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if reader.Format() != test.format {
				t.Errorf("format %q", reader.Format())
			}
			if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestBrowsersDates(t *testing.T) {
	want := time.Date(2016, 2, 25, 20, 55, 48, 123456e3, time.UTC)
	for name, test := range map[string]struct {
		in    string
		index int
	}{"Firefox": {firefoxBackup, 1}, "Chrome": {chromeFile, 0}} {
		for _, e := range readAll(t, strings.NewReader(test.in)) {
			if e.Kind == exchange.Bookmark && e.Index == test.index && !e.CreatedAt.Equal(want) {
				t.Errorf("%s: %s is of %v", name, e.Title, e.CreatedAt)
			}
			if bad := e.Title == "C"; bad != (len(e.Issues) == 1) {
				t.Errorf("%s: %s has the issues %v", name, e.Title, e.Issues)
			}
		}
	}
}

func TestDamagedBrowserFilesSayWhere(t *testing.T) {
	for name, in := range map[string]string{
		"Firefox": "{\"guid\":\"root\",\n\"children\":[\n{\"title\":",
		"Chrome":  "{\"roots\":{\n\n\"other\":{\"children\":[}\n\n\n}",
	} {
		_, err := exchange.NewReader(strings.NewReader(in))
		var bad *exchange.SyntaxError
		if !errors.As(err, &bad) || bad.Line != 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
	reader, err := exchange.NewReader(strings.NewReader("[{\"href\":\"a\"},\n{\"href\":"))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := reader.Next(); err != nil || e.URL != "a" || e.Line != 1 {
		t.Fatalf("%v, %v", e, err)
	}
	_, err = reader.Next()
	var bad *exchange.SyntaxError
	if !errors.As(err, &bad) || bad.Format != exchange.PinboardJSON {
		t.Errorf("%v", err)
	}
}
