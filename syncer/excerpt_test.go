package syncer_test

import (
	"strings"
	"testing"

	"bm/localstore"
	"bm/server"
	"bm/server/api/client"
	"bm/server/api/exchange"
)

// What a file says of a bookmark beside what people edit goes along with it, to the
// server and to the other machines.
func TestWhatIsImportedIsSentWhole(t *testing.T) {
	w := newWorld(t, 91, 0)
	w.real = newRealServer(t, server.Config{Dir: t.TempDir()})
	w.equip(91, 2, w.real.workspace)
	a, b := w.replicas[0], w.replicas[1]
	file, err := exchange.NewReader(strings.NewReader(`{"bookmarks": [
		{"url": "https://a.example/", "title": "a", "readerExcerpt": "it says", "videoEmbedUrl": "https://video.example/1"},
		{"url": "https://b.example/", "title": "b"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.store.Import(t.Context(), file, localstore.Import{Replica: a.n, Command: "import"}); err != nil {
		t.Fatal(err)
	}
	a.round1()
	b.round1()
	for i, d := range w.replicas {
		for _, here := range d.bookmarks() {
			there, err := w.real.client.GetBookmark(t.Context(), client.InWorkspace(w.real.workspace), here.ID)
			w.real.must(err)
			there.TenantID = here.TenantID // which this replica was never told
			if here.Unsent || asJSON(t, here.Bookmark) != asJSON(t, there) {
				t.Errorf("%d has\n%s\nand the server\n%s", i, asJSON(t, here.Bookmark), asJSON(t, there))
			}
			if here.Title == "a" && (here.ReaderExcerpt != "it says" || here.VideoEmbedURL != "https://video.example/1") {
				t.Errorf("%d has %q and %q", i, here.ReaderExcerpt, here.VideoEmbedURL)
			}
		}
	}
}
