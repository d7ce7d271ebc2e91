package exchange_test

import (
	"strings"
	"testing"
	"time"

	"bm/server/api/exchange"
)

func TestReadsTables(t *testing.T) {
	for name, test := range map[string]struct {
		format   exchange.Format
		in, want string
	}{
		"Pocket": {
			exchange.PocketCSV, "title,url,time_added,tags,status\n\"A, with a comma\",https://a.example/,1700000000,x|two words|,unread\n,https://b.example/,1700000001,,archive\n",
			"A, with a comma <https://a.example/> #x #two words STATUS=unread\n <https://b.example/> STATUS=archive",
		},
		"Pocket with a cursor": {
			exchange.PocketCSV, "title,url,time_added,cursor,tags,status\nA,a,1700000000,7,x,unread\n", "A <a> #x STATUS=unread",
		},
		"Raindrop": {
			exchange.RaindropCSV,
			"\ufeffid,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite\r\n" +
				"1,A,my note,what it says,https://a.example/,Apps/Services / AI & more,\"x, two words\",2024-03-01T10:00:00.000Z,https://a.example/c.png,,true\r\n" +
				"2,B,,\"one\r\ntwo\",https://b.example/,Unsorted,,2024-03-02T10:00:00.000Z,,,false\r\n",
			"[Apps/Services]\n [AI & more]\n  A <https://a.example/> #x #two words \"my note\\n\\nwhat it says\" DATA-COVER=https://a.example/c.png DATA-IMPORTANT=true\nB <https://b.example/> \"one\\ntwo\"",
		},
		"Instapaper": {
			exchange.InstapaperCSV, "URL,Title,Selection,Folder,Timestamp,Tags\na,A,chosen,Unread,1700000000,\"[\"\"x\"\",\"\"y, z\"\"]\"\nb,B,,Archive,1700000001,[]\nc,C,,A/B,1,\n",
			"A <a> #x #y, z \"chosen\"\n[Archive]\n B <b>\n[A/B]\n C <c>",
		},
		"ours": {
			exchange.OwnCSV, "title,url,folder,tags,description,created,updated,type,extra\n" +
				"F,,,,about,2020-01-01T00:00:00.000Z,,folder,\"{\"\"FOLDED\"\":\"\"\"\"}\"\nA,a,F,\"x,y\",,,,bookmark,\nF,,,,,,,folder,\n'=1+1,b,F,\"[\"\"a,b\"\"]\",'-d,,,bookmark,\n'tis,c,A\\/B/C\\\\,,,,,,\n",
			"[F] \"about\" FOLDED=\n A <a> #x #y\n[F]\n =1+1 <b> #a,b \"-d\"\n[A/B]\n [C\\]\n  'tis <c>",
		},
		"columns of any order": {exchange.CSV, "Tags;Name;Link;Unknown;Collection\nx|y;\"A \"\"quoted\"\"\";a;u;F/G\n\n;B;b\n", "[F]\n [G]\n  A \"quoted\" <a> #x #y\nB <b>"},
		"tabs":                 {exchange.CSV, "url\ttitle\na\tA, B; C\n", "A, B; C <a>"},
		"one column":           {exchange.CSV, "URL\na\nb", " <a>\n <b>"},
		"a header alone":       {exchange.CSV, "url,title", ""},
		"quotes within":        {exchange.CSV, "url,title\na,The 5\" disk\nb,\"She said \"no\" twice\"\n", "The 5\" disk <a>\nShe said \"no\" twice <b>"},
		"windows-1252":         {exchange.CSV, "url,title\na,Cr\xe8me\n", "Crème <a>"},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := exchange.NewReader(strings.NewReader(test.in))
			if err != nil || reader.Format() != test.format {
				t.Fatalf("format %q, %v", reader.Format(), err)
			}
			if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

// A row that is none of the table counts, says where it stands, and spoils no
// other.
func TestRowsThatAreNone(t *testing.T) {
	const in = "url,title\n\na,A\nb,B,C\n,\n\"c\"d,e\"f\nd,\"two\nlines\"\ne,E\n"
	var got []string
	for _, e := range readAll(t, strings.NewReader(in)) {
		what := e.URL
		if e.Broken != nil {
			what = "broken"
		}
		got = append(got, what+":"+string(rune('0'+e.Line)))
	}
	if want := "a:3 broken:4 broken:5 broken:6 d:7 e:9"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	reader, err := exchange.NewReader(strings.NewReader("url,title\na,A\nb,\"never closed\nc,C\n"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; err == nil; n++ {
		var e *exchange.Entry
		if e, err = reader.Next(); err == nil && n == 1 && (e.Broken == nil || e.Line != 3) {
			t.Errorf("%+v", e)
		}
	}
	if n != 3 {
		t.Errorf("%d entries before the end", n-1)
	}
}

func TestTablesSayDates(t *testing.T) {
	entries := readAll(t, strings.NewReader("title,url,folder,tags,description,created,updated,type,extra\nA,a,,,,2016-02-25T20:55:48.123Z,2017-01-01T00:00:00.000Z,bookmark,\nB,b,,,,soon,,bookmark,\n"))
	if want := time.Date(2016, 2, 25, 20, 55, 48, 123e6, time.UTC); !entries[0].CreatedAt.Equal(want) || entries[0].ModifiedAt.Year() != 2017 {
		t.Errorf("%v, %v", entries[0].CreatedAt, entries[0].ModifiedAt)
	}
	if len(entries[1].Issues) != 1 {
		t.Errorf("%+v", entries[1])
	}
}

// A table that a spreadsheet opens holds no formula.
func TestTablesHoldNoFormulas(t *testing.T) {
	c := formulas()
	var file strings.Builder
	if err := exchange.WriteCSV(&file, c.Source()); err != nil {
		t.Fatal(err)
	}
	for _, cell := range strings.FieldsFunc(file.String(), func(r rune) bool { return r == ',' || r == '\n' || r == '"' }) {
		if strings.IndexByte("=+-@", cell[0]) >= 0 {
			t.Errorf("a cell begins with %q:\n%s", cell, &file)
		}
	}
	if got, want := fromEntries(readAll(t, strings.NewReader(file.String()))), fromSource(c); len(got) != len(want) || !same(got[0], want[0]) || !same(got[1], want[1]) {
		t.Errorf("\n got %+q\nwant %+q", got, want)
	}
}
