package syncer_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"bm/server"
	"bm/server/api/client"
)

// The server does not tell a bookmark to whoever has just made it. What it chose
// by itself is known nevertheless: the copy shows what the server shows.
func TestWhatIsNotToldAgainIsKnown(t *testing.T) {
	t.Parallel()
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(1, 1)), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		deleted: map[string]bool{}, made: map[string]string{},
	}
	w.server = newFakeServer(w.now)
	w.real = newRealServer(t, server.Config{Dir: t.TempDir()})
	w.equip(1, 1, w.real.workspace)
	d := w.replicas[0]
	plain := d.add("https://go.dev/", "Go", d.mkdir("Dev"), "go", "Docs")
	unnamed := d.add("https://example.com/", "", "")
	d.round(false)
	d.title(plain, "edited")
	d.round(false)
	for _, id := range []string{plain, unnamed} {
		there, err := w.real.client.GetBookmark(t.Context(), client.InWorkspace(w.real.workspace), id)
		w.real.must(err)
		here := d.get(id)
		there.TenantID = here.TenantID // which this replica was never told
		if here.Unsent || asJSON(t, here.Bookmark) != asJSON(t, there) {
			t.Errorf("the copy has\n%s, unsent: %t\nand the server\n%s", asJSON(t, here.Bookmark), here.Unsent, asJSON(t, there))
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
