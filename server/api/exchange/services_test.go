package exchange_test

import (
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
)

const karakeepFile = `{"bookmarks":[
 {"createdAt":1700000000,"title":"A","tags":["x","two words"],"lists":["2","smart","3"],"content":{"type":"link","url":"https://a.example/"},"note":"mine","customMetadata":null,"archived":true},
 {"createdAt":1700000001,"title":"A text","tags":[],"lists":[],"content":{"type":"text","text":"to keep"},"note":null,"archived":false},
 {"createdAt":1700000002,"title":null,"tags":[],"content":null,"note":null},
 {"createdAt":1700000003,"title":"B","tags":[],"lists":["1"],"content":{"type":"link","url":"https://b.example/"},"note":null}],
 "lists":[
 {"id":"2","name":"Go","description":"the language","icon":"🐹","type":"manual","query":null,"parentId":"1"},
 {"id":"1","name":"Dev","description":null,"icon":"💻","type":"manual","query":null,"parentId":null},
 {"id":"3","name":"Later","description":null,"icon":"⏰","type":"manual","query":null,"parentId":null},
 {"id":"smart","name":"Recent","description":null,"icon":"🔎","type":"smart","query":"age:<1d","parentId":null}]}`

const linkwardenFile = `{"name":"ada","username":"ada","email":"ada@example.com","collections":[
 {"id":7,"name":"Go","description":"the language","color":"#0ea5e9","parentId":5,"createdAt":"2023-01-01T00:00:00.000Z","links":[
  {"id":1,"name":"A","type":"url","description":"about a","url":"https://a.example/","tags":[{"id":1,"name":"x"},{"id":2,"name":"y, z"}],"createdAt":"2024-01-02T03:04:05.678Z","importDate":null},
  {"id":2,"name":"","description":"","url":"https://b.example/","tags":[],"createdAt":"2024-01-02T03:04:05.678Z","importDate":"2015-05-05T00:00:00.000Z"}]},
 {"id":5,"name":"Dev","description":"","parentId":null,"createdAt":"2022-01-01T00:00:00.000Z","links":[]}],
 "pinnedLinks":[{"id":2,"name":"b"}]}`

func TestReadsServices(t *testing.T) {
	for name, test := range map[string]struct {
		format   exchange.Format
		in, want string
	}{
		"Karakeep": {
			exchange.KarakeepJSON, karakeepFile,
			"[Dev]\n[Later]\n [Go] \"the language\"\n  A <https://a.example/> #x #two words \"mine\" ARCHIVED=1 LISTS=[\"Later\"]\nA text <> \"to keep\"\n <>\n B <https://b.example/>",
		},
		"Karakeep, as it was": {
			exchange.KarakeepJSON, `{"bookmarks":[{"createdAt":1,"title":"A","tags":["x"],"content":{"type":"link","url":"a"},"note":null}]}`, "A <a> #x",
		},
		"Linkwarden": {
			exchange.LinkwardenJSON, linkwardenFile,
			"[Dev]\n [Go] \"the language\"\n  A <https://a.example/> #x #y, z \"about a\"\n   <https://b.example/> PINNED=1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := exchange.NewReader(strings.NewReader(test.in))
			if err != nil || reader.Format() != test.format {
				t.Fatalf("%v", err)
			}
			if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
	for _, e := range readAll(t, strings.NewReader(linkwardenFile)) {
		if e.URL == "https://b.example/" && e.CreatedAt.Year() != 2015 {
			t.Errorf("an imported link is of %v", e.CreatedAt)
		}
	}
}

func formulas() *exchangetest.Collection {
	return &exchangetest.Collection{
		Folders: []api.Folder{{ID: "1", Name: "-Lists"}},
		Bookmarks: []api.Bookmark{{
			FolderID: "1", Title: `=HYPERLINK("https://evil.example/")`, URL: "@SUM(1)", Tags: []string{"+x", "'=y"}, Description: "'-1",
		}},
	}
}
