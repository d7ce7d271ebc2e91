// Package querytest is what every engine of a search is held to: bookmarks in
// many scripts, and what each of many queries finds of them, in order. The store
// of a test takes them in, and answers the same as all the others.
package querytest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"bm/server/api/query"
	"bm/server/api/rules"
)

// Bookmark is a bookmark of the corpus.
type Bookmark struct {
	// Name is what the expected answers call it.
	Name string
	// ID is a UUIDv7; the ids are in the order of the names.
	ID                      string
	Title, URL, Description string
	Tags                    []string
	CreatedAt               time.Time
	FolderID                string
	LinkStatus              string
	ArchiveStatus           string
	// Deleted is in the trash, and Elsewhere in another workspace: neither is
	// ever found.
	Deleted, Elsewhere bool
}

// ID is the id of what the answers call by a name, two hexadecimal digits.
func ID(name string) string { return "01900000-0000-7000-8000-0000000000" + name }

// The folders, with a slash in the name of one.
var folders = []query.FolderNode{
	{ID: ID("01"), Name: "Dev"}, {ID: ID("02"), ParentID: ID("01"), Name: "Go"}, {ID: ID("03"), ParentID: ID("01"), Name: "TCP/IP"},
}

// Folders are the folders that the bookmarks lie in, parents first.
func Folders() []query.FolderNode { return slices.Clone(folders) }

const (
	dev   = "01"
	devGo = "02"
	net   = "03"
)

// entry is a bookmark, made at noon on the given day of 2025, counted from
// New Year.
type entry struct {
	name, title, url, tags, description string

	day                   int
	folder, link, archive string
}

// corpus has tags separated by a bar, since a comma may be part of one.
var corpus = []entry{
	{name: "a1", title: "Go by Example", tags: "go|tutorial", url: "https://gobyexample.com/", day: 1, folder: devGo, link: "ok"},
	{name: "a2", title: "Golang weekly", tags: "newsletter", url: "https://golangweekly.com/issues", day: 2, folder: dev},
	{name: "a3", title: "Effective programming", tags: "golang", url: "https://go.dev/doc/effective_go", description: "Tips for writing clear, idiomatic Go code", day: 3, folder: devGo, link: "dead"},
	{name: "a4", title: "Untitled", url: "https://example.org/go", day: 4, link: "dead", archive: "captured"},
	{name: "a5", title: "A note", description: "where to go on holiday", tags: "machine learning", day: 5},

	// Accents, and letters that have no base.
	{name: "b1", title: "Visit Łódź", tags: "Ørsted|straße", url: "https://example.com/lodz", day: 6},
	{name: "b2", title: "Crème brûlée – the recipe", tags: "Cooking", url: "https://café.example/rezept?q=cr%C3%A8me", day: 7},
	{name: "b3", title: "Новости Ёлка", tags: "новости", description: "Праздник", day: 8},
	{name: "b4", title: "القاموس المُحيط", day: 9},
	{name: "b5", title: "Re\u0301sume\u0301 tips, decomposed", day: 32},
	{name: "b6", title: "Ｆｕｌｌｗｉｄｔｈ ＡＢＣ１２３", day: 33},
	{name: "b7", title: "Tiếng Việt cho người mới", day: 34},
	{name: "b8", title: "Αθήνα: οδηγός πόλης", day: 35},
	{name: "b9", title: "שָׁלוֹם עולם", day: 36},
	{name: "ba", title: "İstanbul'da gezi", day: 37},
	{name: "bb", title: "हिन्दी सीखें", day: 38},
	{name: "bc", title: "مرحبا بالعالم ١٢٣", tags: "عربي", day: 39},
	{name: "bd", title: "גוגל Chrome מפות", day: 40},

	// Scripts without spaces.
	{name: "c1", title: "東京都の観光案内", tags: "旅行", url: "https://ja.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC", day: 10},
	{name: "c2", title: "京都のお寺", description: "東京からの行き方", day: 11},
	{name: "c3", title: "한국어를 배우자", tags: "언어", day: 12},
	{name: "c4", title: "中文维基百科 free encyclopedia", day: 13},
	{name: "c5", title: "ﾃｽﾄ ﾌﾟﾛｼﾞｪｸﾄ", day: 41},
	{name: "c6", title: "ภาษาไทยง่าย", day: 42},
	{name: "c7", title: "\u1112\u1161\u11ab\u1100\u1173\u11af decomposed", day: 43},
	{name: "c8", title: "𠮷野家 menu", day: 44},

	// Code.
	{name: "d1", title: "C++ primer", tags: "c++", day: 14, folder: dev},
	{name: "d2", title: "C primer", tags: "c", day: 15, folder: dev},
	{name: "d3", title: "Learn C# in a day", tags: "c#", day: 16},
	{name: "d4", title: "Node.js v1.2.3 released", url: "https://nodejs.org/en/blog/foo_bar", day: 17},
	{name: "d5", title: "Notepad++ tips", day: 18, folder: net},
	{name: "d6", title: ".NET 8 at a glance", day: 45},
	{name: "d7", title: "foo-bar baz", day: 46},
	{name: "d8", title: "foobar", day: 47},
	{name: "d9", title: "@scope/pkg on the registry", day: 48},
	{name: "da", title: "Mail", description: "write to jane.doe@mail.test, soon", day: 49},
	{name: "db", title: "Release v1.10.0", day: 50},
	{name: "dc", title: "A commit", url: "https://git.test/commits/9f8e7d6c5b4a32100123456789abcdef01234567", day: 51},
	{name: "dd", title: "Gateway 2001:db8::1", day: 52},
	{name: "de", title: strings.Repeat("long", 50) + " word", day: 53},
	{name: "df", title: "C++17 on x86_64", day: 54},

	// Signs.
	{name: "e1", title: "🚀 Launch party 🎉", tags: "party", day: 19},
	{name: "e2", title: "Full text search", description: "A search that is full of text", day: 20},
	{name: "e3", title: "Text, full of holes", tags: "Search", day: 21},
	{name: "e4", title: "search", tags: "full|text", url: "https://www.example.com/full/text", day: 21},
	{name: "e5", title: "Family 👨\u200d👩\u200d👧 trip", day: 55},
	{name: "e6", title: "Flags 🇫🇷 and 🇩🇪", day: 56},
	{name: "e7", title: "👍🏽 thumbs", day: 57},
	{name: "e8", title: "Heart ❤\ufe0f notes", day: 58},

	// URLs and tags.
	{name: "f1", title: "Shop", url: "https://xn--bcher-kva.test/shop", day: 59},
	{name: "f2", title: "Capital", url: "https://wiki.test/wiki/%D0%9C%D0%BE%D1%81%D0%BA%D0%B2%D0%B0", day: 60},
	{name: "f3", title: "Broken", url: "https://broken.test/%zz%E0%A4%A/tail", day: 61},
	{name: "f4", title: "Upper", url: "HTTP://Shouting.TEST:8080/Path?Q=Value#Fragment", day: 62},
	{name: "f5", title: "Script", url: "javascript:alert('bookmarklet')", day: 63},
	{name: "f6", title: "Tagged", tags: "reading list|a,b|Draft: later", day: 64},
	{name: "f7", title: "Umlaut", tags: "ÜBER", day: 65},

	// The ranking: what a bookmark is found by goes before its date.
	{name: "11", title: "Zebra", day: 70},
	{name: "12", title: "Zebra crossing", url: "https://twins.test/1", day: 71},
	{name: "13", title: "Zebra crossing", url: "https://twins.test/2", day: 71},
	{name: "14", title: "Zebras", day: 80},
	{name: "15", title: "Stripes", tags: "zebra", day: 81},
	{name: "16", title: "Fish", tags: "zebrafish", day: 82},
	{name: "17", title: "Linked", url: "https://animals.test/zebra", day: 83},
	{name: "18", title: "Linked to wood", url: "https://wood.test/zebrawood", day: 84},
	{name: "19", title: "Crossing", description: "with a zebra", day: 85},
	{name: "1a", title: "Black and white", description: "what zebras are", day: 86},

	// The border between two days: before excludes, after includes.
	{name: "21", title: "Border", url: "https://border.test/last", day: 90},
	{name: "22", title: "Border", url: "https://border.test/first", day: 91},

	{name: "fd", title: "Zebra in the trash", day: 87},
	{name: "fe", title: "Zebra elsewhere", day: 88},
}

// Corpus is the bookmarks, in the order in which they came.
func Corpus() []Bookmark {
	all := make([]Bookmark, len(corpus))
	for i, e := range corpus {
		b := Bookmark{
			Name: e.name, ID: ID(e.name), Title: e.title, URL: e.url, Description: e.description,
			CreatedAt:  time.Date(2025, 1, e.day, 12, 0, 0, 0, time.UTC),
			LinkStatus: cmp.Or(e.link, "unknown"), ArchiveStatus: cmp.Or(e.archive, "none"),
			Deleted: e.name == "fd", Elsewhere: e.name == "fe",
		}
		switch e.name { // the last moment of a day, and the first of the next
		case "21":
			b.CreatedAt = time.Date(2025, 3, 31, 23, 59, 59, 999e6, time.UTC)
		case "22":
			b.CreatedAt = time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC)
		}
		if e.tags != "" {
			b.Tags = strings.Split(e.tags, "|")
		}
		if e.folder != "" {
			b.FolderID = ID(e.folder)
		}
		all[i] = b
	}
	return all
}

// Row is the bookmark as a query looks at it.
func (b *Bookmark) Row() query.Row {
	keys := make([]string, len(b.Tags))
	for i, tag := range b.Tags {
		keys[i] = rules.TagKey(tag)
	}
	return query.Row{
		Index:   query.NewIndex(query.Document{Title: b.Title, Tags: b.Tags, URL: b.URL, Description: b.Description}),
		TagKeys: keys, CreatedAt: b.CreatedAt, LinkStatus: b.LinkStatus, ArchiveStatus: b.ArchiveStatus, FolderID: b.FolderID,
	}
}

// Names are what the answers call bookmarks with such ids.
func Names(ids []string) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		if len(id) < 2 || ID(id[len(id)-2:]) != id {
			names[i] = fmt.Sprintf("%q", id)
			continue
		}
		names[i] = id[len(id)-2:]
	}
	return names
}
