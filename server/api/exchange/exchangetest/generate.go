// Package exchangetest makes bookmark files for tests and benchmarks: large,
// varied, and the same for the same seed.
package exchangetest

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"bm/server/api"
	"bm/server/api/exchange"
)

// Words whose frequency is known, for searches: of 100,000 titles about 40,000
// hold CommonWord, 1,000 MiddlingWord, 5 RareWord and 300 ChineseText.
const (
	CommonWord   = "guide"
	MiddlingWord = "sqlite"
	RareWord     = "quokka"
	ChineseText  = "东京"
)

// Collection is what a generated file holds.
type Collection struct {
	// Folders has 19 for each 1,000 bookmarks, nested up to 8 deep.
	Folders []api.Folder
	// Bookmarks are in the order (folder, sortOrder).
	Bookmarks []api.Bookmark
}

// Make makes a collection of n bookmarks, with 2 to 6 tags each, dates and,
// most of them, descriptions.
func Make(seed int64, n int) *Collection {
	g := newGenerator(seed)
	c := &Collection{Folders: g.folders(n * 19 / 1000)}
	c.Bookmarks = make([]api.Bookmark, n)
	for i := range c.Bookmarks {
		c.Bookmarks[i] = g.bookmark(c.Folders)
	}
	slices.SortStableFunc(c.Bookmarks, func(a, b api.Bookmark) int { return cmp.Compare(a.FolderID, b.FolderID) })
	place := map[string]int64{}
	for i := range c.Folders {
		c.Folders[i].SortOrder = next(place, c.Folders[i].ParentID)
	}
	for i := range c.Bookmarks {
		c.Bookmarks[i].SortOrder = next(place, c.Bookmarks[i].FolderID)
	}
	return c
}

func next(place map[string]int64, folderID string) int64 {
	place[folderID] += api.SortGap
	return place[folderID]
}

// Generate writes a collection of n bookmarks as Netscape HTML.
func Generate(w io.Writer, seed int64, n int) error {
	return exchange.WriteHTML(w, Make(seed, n).Source())
}

// Renumber gives the bookmarks their ids in the order of the file, as whoever
// imports it does.
func (c *Collection) Renumber() {
	ids := make([]string, len(c.Bookmarks))
	for i := range ids {
		ids[i] = c.Bookmarks[i].ID
	}
	slices.Sort(ids)
	for i := range ids {
		c.Bookmarks[i].ID = ids[i]
	}
}

// Source is the collection as an export takes it.
func (c *Collection) Source() exchange.Source {
	return exchange.Source{Folders: c.Folders, Bookmarks: c.in}
}

// in are the bookmarks of a folder.
func (c *Collection) in(folderID string) iter.Seq2[*api.Bookmark, error] {
	start, _ := slices.BinarySearchFunc(c.Bookmarks, folderID, func(b api.Bookmark, id string) int { return cmp.Compare(b.FolderID, id) })
	return func(yield func(*api.Bookmark, error) bool) {
		for i := start; i < len(c.Bookmarks) && c.Bookmarks[i].FolderID == folderID; i++ {
			if !yield(&c.Bookmarks[i], nil) {
				return
			}
		}
	}
}

type generator struct {
	rand  *rand.Rand
	ids   *api.IDs
	clock time.Time
	words []string
	zipf  *rand.Zipf
	tags  *rand.Zipf
}

func newGenerator(seed int64) *generator {
	source := rand.NewPCG(uint64(seed), 0x626d)
	g := &generator{rand: rand.New(source), clock: time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)}
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	g.ids = api.NewIDs(func() time.Time { return g.clock }, rand.NewChaCha8(key))
	g.words = g.vocabulary(6000)
	g.zipf = rand.NewZipf(g.rand, 1.2, 8, uint64(len(g.words)-1))
	g.tags = rand.NewZipf(g.rand, 1.1, 4, 1500)
	return g
}

// vocabulary makes words that can be pronounced, each once.
func (g *generator) vocabulary(n int) []string {
	onsets := strings.Fields("b br c ch d dr f fl g gr h j k kl l m n p pl pr r s sk st t tr v w z")
	nuclei := strings.Fields("a e i o u ai ea io ou")
	codas := strings.Fields("n r s t l m nd rt ck x")
	seen := map[string]bool{CommonWord: true, MiddlingWord: true, RareWord: true}
	words := make([]string, 0, n)
	for len(words) < n {
		var b strings.Builder
		for range 1 + g.rand.IntN(3) {
			b.WriteString(onsets[g.rand.IntN(len(onsets))])
			b.WriteString(nuclei[g.rand.IntN(len(nuclei))])
		}
		b.WriteString(codas[g.rand.IntN(len(codas))])
		if word := b.String(); !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

func (g *generator) word() string { return g.words[g.zipf.Uint64()] }

func (g *generator) phrase(least, most int) string {
	words := make([]string, least+g.rand.IntN(most-least+1))
	for i := range words {
		words[i] = g.word()
	}
	return strings.Join(words, " ")
}

// tick moves the clock on: twenty years for 100,000 bookmarks.
func (g *generator) tick() api.Time {
	g.clock = g.clock.Add(time.Duration(g.rand.Int64N(int64(3*time.Hour + 30*time.Minute))))
	return api.At(g.clock.Truncate(time.Second))
}

func (g *generator) folders(n int) []api.Folder {
	folders := make([]api.Folder, n)
	depth := make([]int, n)
	for i := range folders {
		at := api.At(g.clock)
		folders[i] = api.Folder{ID: g.ids.New(), Name: title(g.phrase(1, 3)), CreatedAt: at, UpdatedAt: at}
		if i%20 == 3 {
			folders[i].Description = g.phrase(4, 10)
		}
		if i > 12 {
			if parent := g.rand.IntN(i); depth[parent] < 7 {
				folders[i].ParentID, depth[i] = folders[parent].ID, depth[parent]+1
			}
		}
	}
	return folders
}

func (g *generator) bookmark(folders []api.Folder) api.Bookmark {
	at := g.tick()
	b := api.Bookmark{
		ID: g.ids.New(), Title: g.title(), CreatedAt: at, UpdatedAt: at,
		LinkStatus: api.LinkUnknown, Archive: api.Archive{Status: api.ArchiveNone},
	}
	b.URL = g.url(b.ID)
	if len(folders) > 0 && g.rand.IntN(50) > 0 {
		b.FolderID = folders[g.rand.IntN(len(folders))].ID
	}
	seen := map[string]bool{}
	for want := 2 + g.rand.IntN(5); len(b.Tags) < want; {
		if tag := g.words[g.tags.Uint64()]; !seen[tag] {
			seen[tag] = true
			b.Tags = append(b.Tags, tag)
		}
	}
	if g.rand.IntN(10) < 7 {
		b.Description = title(g.phrase(6, 30)) + "."
	}
	return b
}

func (g *generator) title() string {
	words := []string{g.phrase(2, 8)}
	if g.rand.IntN(1000) < 400 {
		words = append(words, CommonWord)
	}
	if g.rand.IntN(100) == 0 {
		words = append(words, MiddlingWord)
	}
	if g.rand.IntN(20_000) == 0 {
		words = append(words, RareWord)
	}
	switch g.rand.IntN(1000) {
	case 0, 1, 2:
		words = append(words, "在"+ChineseText+"的生活")
	case 3, 4, 5, 6:
		words = append(words, "Новости")
	case 7, 8, 9:
		words = append(words, "Łódź & Ærø <notes>")
	}
	return title(strings.Join(words, " "))
}

func (g *generator) url(id string) string {
	path := strings.ReplaceAll(g.phrase(1, 5), " ", "-")
	switch g.rand.IntN(8) {
	case 0:
		return fmt.Sprintf("https://%s.example.org/%s?id=%s&ref=%s", g.word(), path, id[24:], g.word())
	case 1:
		return fmt.Sprintf("http://www.%s.example/%d/%02d/%s.html#%s", g.word(), g.clock.Year(), g.clock.Month(), path, id[28:])
	default:
		return fmt.Sprintf("https://%s.example/%s/%s", g.word(), path, id[26:])
	}
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
