package exchangetest_test

import (
	"bytes"
	"strings"
	"testing"

	"bm/server/api/exchange/exchangetest"
)

func TestGenerateIsTheSameForASeed(t *testing.T) {
	var files [3]bytes.Buffer
	for i, seed := range []int64{1, 1, 2} {
		if err := exchangetest.Generate(&files[i], seed, 300); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("one seed made two files")
	}
	if bytes.Equal(files[0].Bytes(), files[2].Bytes()) {
		t.Error("two seeds made one file")
	}
}

func TestCollectionIsWhatItSays(t *testing.T) {
	c := exchangetest.Make(1, 100_000)
	if len(c.Bookmarks) != 100_000 || len(c.Folders) != 1900 {
		t.Fatalf("%d bookmarks, %d folders", len(c.Bookmarks), len(c.Folders))
	}
	nested, common, urls := 0, 0, map[string]bool{}
	for _, f := range c.Folders {
		if f.ParentID != "" {
			nested++
		}
	}
	for _, b := range c.Bookmarks {
		if len(b.Tags) < 2 || len(b.Tags) > 6 {
			t.Fatalf("tags %q", b.Tags)
		}
		if strings.Contains(b.Title, exchangetest.CommonWord) {
			common++
		}
		urls[b.URL] = true
	}
	if nested < 1500 || common < 39_000 || common > 41_000 || len(urls) != 100_000 {
		t.Errorf("%d nested folders, %d common titles, %d URLs", nested, common, len(urls))
	}
}
