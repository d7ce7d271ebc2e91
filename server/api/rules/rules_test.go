package rules_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"bm/server/api"
	"bm/server/api/rules"
)

func TestTags(t *testing.T) {
	for name, test := range map[string]struct{ in, want []string }{
		"nothing":                 {nil, []string{}},
		"trimmed, no empties":     {[]string{" go ", "", "\t", "db"}, []string{"go", "db"}},
		"first spelling is kept":  {[]string{"Go", "GO", "go", "gO "}, []string{"Go"}},
		"white space is folded":   {[]string{"machine\t\n learning", "machine learning"}, []string{"machine learning"}},
		"a comma is a character":  {[]string{"a,b"}, []string{"a,b"}},
		"decomposed is composed":  {[]string{"cafe\u0301", "CAFÉ"}, []string{"café"}},
		"order stays":             {[]string{"z", "a", "m"}, []string{"z", "a", "m"}},
		"no-break space is space": {[]string{"\u00a0a\u00a0b\u00a0"}, []string{"a b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rules.Tags(test.in); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTagKey(t *testing.T) {
	for _, same := range [][]string{
		{"Straße", "STRASSE", "strasse"},
		{"ΣΊΣΥΦΟΣ", "σίσυφος"},
		{" Машинное  обучение", "машинное обучение"},
		{"É", "e\u0301"},
	} {
		for _, tag := range same[1:] {
			if rules.TagKey(tag) != rules.TagKey(same[0]) {
				t.Errorf("%q and %q have different keys", same[0], tag)
			}
		}
	}
	if rules.TagKey("resume") == rules.TagKey("résumé") {
		t.Error("accents must tell tags apart")
	}
}

func TestUniteTags(t *testing.T) {
	have := []string{"Go", "db"}
	if got, want := rules.UniteTags(have, []string{"go", "web"}), []string{"Go", "db", "web"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !reflect.DeepEqual(have, []string{"Go", "db"}) {
		t.Errorf("the input was changed to %q", have)
	}
}

func TestLineAndText(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		" a ":                     "a",
		"a  b":                    "a  b",
		"a \n  b":                 "a b",
		"a\u2028b\tc  d":          "a b c  d",
		"\n\tone\r\n\ttwo\r\n":    "one two",
		"Other   stuff\x0b of it": "Other   stuff of it",
	} {
		if got := rules.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"":               "",
		" a\r\n b\rc\n ": "a\n b\nc",
		"a\n\n\tb":       "a\n\n\tb",
	} {
		if got := rules.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{
		"My Links":               "my-links",
		" -- Café & Thé! -- ":    "cafe-the",
		"漢字":                     "",
		strings.Repeat("a ", 99): strings.Repeat("a-", 31) + "a",
		strings.Repeat("ab", 99): strings.Repeat("ab", 32),
	} {
		got := rules.Slug(in)
		if got != want {
			t.Errorf("Slug(%q) = %q, want %q", in, got, want)
		}
		if got != "" && !rules.ValidSlug(got) {
			t.Errorf("%q is made but not accepted", got)
		}
	}
	for _, bad := range []string{"", "-a", "a-", "A", "a b", "é", strings.Repeat("a", 65)} {
		if rules.ValidSlug(bad) {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestCheckBookmark(t *testing.T) {
	text := api.Some[string]
	for name, test := range map[string]struct {
		in    api.BookmarkInput
		field string // "" for none
	}{
		"nothing at all":       {api.BookmarkInput{}, ""},
		"all cleared":          {api.BookmarkInput{URL: api.Clear[string](), Tags: api.Clear[[]string](), FolderID: text("")}, ""},
		"a bookmarklet":        {api.BookmarkInput{URL: text("javascript:void(0)")}, ""},
		"relative url":         {api.BookmarkInput{URL: text("?lY47tw")}, "url"},
		"no host":              {api.BookmarkInput{URL: text("https:///x")}, "url"},
		"url of the limit":     {api.BookmarkInput{URL: text("data:" + strings.Repeat("x", api.MaxURL-5))}, ""},
		"url over the limit":   {api.BookmarkInput{URL: text("data:" + strings.Repeat("x", api.MaxURL-4))}, "url"},
		"title of the limit":   {api.BookmarkInput{Title: text(strings.Repeat("é", api.MaxTitle))}, ""},
		"title over the limit": {api.BookmarkInput{Title: text(strings.Repeat("é", api.MaxTitle+1))}, "title"},
		"NUL":                  {api.BookmarkInput{Description: text("a\x00b")}, "description"},
		"invalid UTF-8":        {api.BookmarkInput{Title: text("a\xff")}, "title"},
		"long tag":             {api.BookmarkInput{Tags: api.Some([]string{"a", strings.Repeat("x", 129)})}, "tags[1]"},
		"padded tag":           {api.BookmarkInput{Tags: api.Some([]string{strings.Repeat(" ", 200) + "x"})}, ""},
		"too many tags":        {api.BookmarkInput{Tags: api.Some(make([]string, 257))}, "tags"},
		"folder not an id":     {api.BookmarkInput{FolderID: text("root")}, "folderId"},
		"id of version 4":      {api.BookmarkInput{ID: text("01890a5d-ac96-474b-bcce-b302099a8057")}, "id"},
		"id cleared":           {api.BookmarkInput{ID: api.Clear[string]()}, ""},
		"id empty":             {api.BookmarkInput{ID: text("")}, ""},
		"big sort order":       {api.BookmarkInput{SortOrder: api.Some[int64](1 << 53)}, "sortOrder"},
		"video not web":        {api.BookmarkInput{VideoEmbedURL: text("javascript:alert(1)")}, "videoEmbedUrl"},
		"extra":                {api.BookmarkInput{Extra: api.Some(map[string]string{"ICON_URI": "x", "PRIVATE": "1"})}, ""},
		"extra lower case":     {api.BookmarkInput{Extra: api.Some(map[string]string{"private": "1"})}, "extra"},
		"extra handler":        {api.BookmarkInput{Extra: api.Some(map[string]string{"ONCLICK": "x"})}, "extra"},
		"extra href":           {api.BookmarkInput{Extra: api.Some(map[string]string{"HREF": "x"})}, "extra"},
		"extra icon":           {api.BookmarkInput{Extra: api.Some(map[string]string{"ICON": "x"})}, "extra"},
		"extra over the limit": {api.BookmarkInput{Extra: api.Some(map[string]string{"A": strings.Repeat("x", api.MaxExtra)})}, "extra"},
		"extra with NUL":       {api.BookmarkInput{Extra: api.Some(map[string]string{"A": "\x00"})}, "extra.A"},
	} {
		t.Run(name, func(t *testing.T) {
			found := rules.CheckBookmark(&test.in)
			switch {
			case test.field == "" && len(found) != 0:
				t.Errorf("found %v", found)
			case test.field != "" && (len(found) != 1 || found[0].Field != test.field):
				t.Errorf("found %v, want one about %s", found, test.field)
			}
		})
	}
}

func TestCheckReportsEveryField(t *testing.T) {
	in := api.BookmarkInput{URL: api.Some("x"), Title: api.Some("\x00"), SortOrder: api.Some[int64](-1 << 60)}
	if found := rules.CheckBookmark(&in); len(found) != 3 {
		t.Errorf("found %v, want three", found)
	}
}

func TestCheckFolder(t *testing.T) {
	text := api.Some[string]
	for name, test := range map[string]struct {
		in     api.FolderInput
		create bool
		field  string
	}{
		"create with a name":     {api.FolderInput{Name: text("Dev")}, true, ""},
		"create without":         {api.FolderInput{}, true, "name"},
		"create blank":           {api.FolderInput{Name: text(" \n")}, true, "name"},
		"update without":         {api.FolderInput{}, false, ""},
		"update clears":          {api.FolderInput{Name: api.Clear[string]()}, false, "name"},
		"to the top":             {api.FolderInput{ParentID: api.Clear[string]()}, false, ""},
		"long name":              {api.FolderInput{Name: text(strings.Repeat("x", 513))}, true, "name"},
		"long description":       {api.FolderInput{Description: text(strings.Repeat("x", 4097))}, false, "description"},
		"parent that is no id":   {api.FolderInput{ParentID: text("../x")}, false, "parentId"},
		"a slash is just a name": {api.FolderInput{Name: text("TCP/IP, UDP")}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := rules.CheckFolder(&test.in, test.create)
			switch {
			case test.field == "" && len(found) != 0:
				t.Errorf("found %v", found)
			case test.field != "" && (len(found) != 1 || found[0].Field != test.field):
				t.Errorf("found %v, want one about %s", found, test.field)
			}
		})
	}
}

func TestCutBookmark(t *testing.T) {
	in := api.BookmarkInput{
		URL:           api.Some(" ?lY47tw\n"),
		Title:         api.Some("a\x00b\n" + strings.Repeat("ü", api.MaxTitle)),
		Description:   api.Some(strings.Repeat("d", api.MaxDescription+1)),
		Tags:          api.Some([]string{"Go", "go", strings.Repeat("t", 200), strings.Repeat("t", 201), "\xff"}),
		Extra:         api.Some(map[string]string{"PRIVATE": "1", "ONCLICK": "x", "ZZ": strings.Repeat("z", api.MaxExtra)}),
		VideoEmbedURL: api.Some("javascript:x"),
	}
	issues, bad := rules.CutBookmark(&in)
	if bad != nil {
		t.Fatalf("refused: %v", bad)
	}
	if found := withoutURL(rules.CheckBookmark(&in)); len(found) != 0 {
		t.Errorf("what was cut does not pass the check: %v", found)
	}
	codes := map[string]int{}
	for _, issue := range issues {
		codes[issue.Code]++
	}
	if want := map[string]int{
		api.IssueTextRepaired: 2, api.IssueURLNotAbsolute: 1, api.IssueTitleCut: 1, api.IssueDescriptionCut: 1,
		api.IssueTagsCut: 1, api.IssueExtraDropped: 2,
	}; !reflect.DeepEqual(codes, want) {
		t.Errorf("issues %v, want %v", codes, want)
	}
	if in.URL.Value != "?lY47tw" || !strings.HasPrefix(in.Title.Value, "a\uFFFDb ü") {
		t.Errorf("url %q, title begins %q", in.URL.Value, in.Title.Value[:10])
	}
	if want := []string{"Go", strings.Repeat("t", 128), "\uFFFD"}; !reflect.DeepEqual(in.Tags.Value, want) {
		t.Errorf("tags %q", in.Tags.Value)
	}
	if want := map[string]string{"PRIVATE": "1"}; !reflect.DeepEqual(in.Extra.Value, want) {
		t.Errorf("extra %q", in.Extra.Value)
	}
}

func TestCutBookmarkLeavesGoodOnesAlone(t *testing.T) {
	in := api.BookmarkInput{URL: api.Some("https://go.dev/"), Title: api.Some("Go"), Tags: api.Some([]string{"a b"})}
	before := in
	if issues, bad := rules.CutBookmark(&in); bad != nil || len(issues) != 0 {
		t.Errorf("issues %v, %v", issues, bad)
	}
	if !reflect.DeepEqual(in, before) {
		t.Errorf("changed to %+v", in)
	}
}

func TestCutBookmarkRefusesAnOverlongURL(t *testing.T) {
	in := api.BookmarkInput{URL: api.Some("https://x.example/" + strings.Repeat("y", api.MaxURL))}
	if _, bad := rules.CutBookmark(&in); bad == nil || bad.Code != api.IssueURLTooLong {
		t.Errorf("got %v", bad)
	}
}

func TestCutFolder(t *testing.T) {
	in := api.FolderInput{Name: api.Some(strings.Repeat("n", 600)), Description: api.Some(strings.Repeat("d", 5000))}
	if issues := rules.CutFolder(&in); len(issues) != 2 {
		t.Errorf("issues %v", issues)
	}
	if found := rules.CheckFolder(&in, true); len(found) != 0 {
		t.Errorf("what was cut does not pass the check: %v", found)
	}
	nameless := api.FolderInput{Name: api.Some("\t")}
	if rules.CutFolder(&nameless); nameless.Name.Value != api.Untitled {
		t.Errorf("a folder without a name is called %q", nameless.Name.Value)
	}
}

// What is cut passes the check, whatever it was; and cutting it again changes
// nothing.
func FuzzCutBookmark(f *testing.F) {
	f.Add("https://go.dev", "Go", "d", "a,b", "PRIVATE", "1")
	f.Add("\xff", "a\x00", "\r\n", "A,a", "ONX", "\xfe")
	f.Fuzz(func(t *testing.T, url, title, description, tags, name, value string) {
		in := api.BookmarkInput{
			URL: api.Some(url), Title: api.Some(title), Description: api.Some(description),
			Tags: api.Some(strings.Split(tags, ",")), Extra: api.Some(map[string]string{name: value}),
		}
		if _, bad := rules.CutBookmark(&in); bad != nil {
			return
		}
		if found := withoutURL(rules.CheckBookmark(&in)); len(found) != 0 {
			t.Fatalf("%+v does not pass: %v", in, found)
		}
		again := in
		again.Tags.Value = append([]string(nil), in.Tags.Value...)
		if issues, _ := rules.CutBookmark(&again); len(issues) > 1 || len(issues) == 1 && issues[0].Field != "url" {
			t.Fatalf("cut twice: %v", issues)
		}
		if len(in.Tags.Value) > 0 && !reflect.DeepEqual(again.Tags, in.Tags) || again.Title != in.Title || again.Description != in.Description {
			t.Fatalf("a second cut changed %+v to %+v", in, again)
		}
	})
}

func FuzzTagKey(f *testing.F) {
	f.Add("Straße")
	f.Add("İstanbul")
	f.Fuzz(func(t *testing.T, tag string) {
		if !utf8.ValidString(tag) {
			return
		}
		key := rules.TagKey(tag)
		if again := rules.TagKey(key); again != key {
			t.Fatalf("the key of %q is %q, its key %q", tag, key, again)
		}
		if rules.TagKey(rules.Tag(tag)) != key {
			t.Fatalf("the normal form of %q has another key", tag)
		}
	})
}

// withoutURL leaves out what import is allowed to keep: a relative URL.
func withoutURL(found []api.FieldError) []api.FieldError {
	var rest []api.FieldError
	for _, e := range found {
		if e.Field != "url" {
			rest = append(rest, e)
		}
	}
	return rest
}
