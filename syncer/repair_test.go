package syncer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"bm/localstore"
	"bm/server"
	"bm/server/api"
	"bm/syncer"
)

// spoil writes over leaves of the index of ids.
func spoil(t *testing.T, path, id string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := 0
	for at := 4096 * 40; at+4096 <= len(content) && spoilt < 6; at += 4096 {
		if page := content[at : at+4096]; page[0] == 10 && bytes.Contains(page, []byte(id)) {
			copy(page, bytes.Repeat([]byte{0xee}, len(page)))
			spoilt++
		}
	}
	if spoilt == 0 {
		t.Fatal("no page to spoil")
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fill has the server have so many bookmarks.
func (w *world) fill(n int) {
	w.t.Helper()
	for i := range n {
		in, err := json.Marshal(api.BookmarkInput{URL: api.Some(fmt.Sprintf("https://example.com/%d", i)), Title: api.Some("x")})
		if err != nil {
			w.t.Fatal(err)
		}
		w.server.apply(api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: fmt.Sprintf("0190-%04d", i), Set: in}, 0)
	}
}

// The server took the edits and the answer was lost: the repaired replica asks
// for the verdicts, and does not send the same edits over what came since.
func TestARepairedReplicaSettlesWhatItHadSent(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t, 31, 2)
	a, b := w.replicas[0], w.replicas[1]
	w.server.page = 5000
	w.fill(3000)
	known := a.add("https://known.example/", "known", "")
	w.peace()
	made := a.add("https://made.example/", "made", "")
	a.title(known, "edited")
	lose := &loseAnswer{device: a}
	if _, err := a.against(lose, 0).Round(ctx, a.n); err == nil || !lose.lost {
		t.Fatalf("the answer was not lost: %v", err)
	}
	for range 2 { // both come to the other machine, which goes on with them
		if _, err := b.sync.Round(ctx, b.n); err != nil {
			t.Fatal(err)
		}
		b.title(made, "made, and edited elsewhere")
	}
	unsent := a.add("https://unsent.example/", "never sent", "")

	path := a.store.Path()
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, path, "0190-2")
	ids := api.NewIDs(w.now, seeded{w.rng})
	mended, did, err := localstore.Recover(ctx, localstore.Options{Path: path, Now: w.now, IDs: ids})
	if err != nil || did.Incomplete || did.Rows != 3 {
		t.Fatalf("recovery %+v, %v", did, err)
	}
	t.Cleanup(func() {
		if err := mended.Close(); err != nil {
			t.Error(err)
		}
	})
	a.store, a.sync = mended, syncer.New(syncer.Config{Store: mended, Remote: a, IDs: ids, Pause: a.pause})
	w.peace()
	for id, want := range map[string]string{made: "made, and edited elsewhere", known: "edited", unsent: "never sent"} {
		if got := a.get(id).Title; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if conflicts, err := a.store.Conflicts(ctx, a.n); err != nil || len(conflicts) > 0 {
		t.Errorf("conflicts %+v, %v", conflicts, err)
	}
}

// What was deleted elsewhere meanwhile is judged as ever: an edit beats it, and
// an order within a folder does not.
func TestARepairedReplicaHearsOfDeletions(t *testing.T) {
	w := newWorld(t, 33, 2)
	a, b := w.replicas[0], w.replicas[1]
	edited, ordered := a.add("https://edited.example/", "Go", ""), a.add("https://ordered.example/", "Go", "")
	w.peace()
	a.title(edited, "edited")
	a.must(func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark(ordered, api.BookmarkInput{SortOrder: api.Some(int64(5))})
		return err
	})
	b.rm(edited)
	b.rm(ordered)
	b.round1()
	a.spoil()
	report := a.round1()
	if report.Compared == nil || report.Compared.Defect || !a.alive(edited) || a.alive(ordered) {
		t.Errorf("%+v; the edited one is alive: %v, the other: %v", report.Compared, a.alive(edited), a.alive(ordered))
	}
	w.peace()
}

// What the real server makes of a row is what was sent.
func TestUndoOfWhatTheRealServerTook(t *testing.T) {
	w := newWorld(t, 32, 0)
	w.real = newRealServer(t, server.Config{Dir: t.TempDir()})
	w.equip(32, 1, w.real.workspace)
	a := w.replicas[0]
	a.must(func(ed *localstore.Editor) error {
		f, err := ed.AddFolder(api.FolderInput{Name: api.Some("Dev"), Description: api.Some("d"), Extra: api.Some(map[string]string{"A": "b"})})
		if err != nil {
			return err
		}
		_, err = ed.AddBookmark(api.BookmarkInput{
			URL: api.Some("HTTPS://Go.dev:443/x?b=1&a=2#frag"), Title: api.Some(" Go "), FolderID: api.Some(f.ID), Tags: api.Some([]string{"Über", "go", "a b"}),
			Description: api.Some("two\r\nlines"), Extra: api.Some(map[string]string{"A": "b"}), SnapshotEnabled: api.Some(true),
		})
		return err
	})
	if report, err := a.sync.Round(t.Context(), a.n); err != nil || report.Waiting != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	did, err := a.store.Undo(t.Context(), nil)
	if err != nil || len(did.Skipped) > 0 || did.Rows != 2 {
		t.Errorf("undo %+v, %v", did, err)
	}
	if report, err := a.sync.Round(t.Context(), a.n); err != nil || report.Waiting != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	for id, row := range w.real.look() {
		if !row.Deleted {
			t.Errorf("%s is alive on the server", id)
		}
	}
}
