package syncer_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// realServer is the server itself behind its client, in the place of the one
// that the other simulations make up.
type realServer struct {
	t         testing.TB
	config    server.Config
	running   *server.Server
	client    *client.Client
	workspace string
	backup    string
	backups   int

	cursor string
	rows   map[string]*fakeRow
}

func newRealServer(t testing.TB, config server.Config) *realServer {
	t.Helper()
	config.Version, config.Registration, config.Now = "test", server.RegistrationOpen, time.Now
	config.Logger = slog.New(slog.DiscardHandler)
	r := &realServer{t: t, config: config, rows: map[string]*fakeRow{}}
	r.start()
	t.Cleanup(r.stop)
	var err error
	r.client, err = client.New(client.Options{Server: "http://127.0.0.1:1", Version: "test", Transport: r})
	r.must(err)
	session, err := r.client.Register(t.Context(), api.Register{Email: "ada@example.test", Password: "a long enough phrase", NoticeVersion: "1"})
	r.must(err)
	key, err := r.client.As(session.AccessToken).CreateAPIKey(t.Context(), api.APIKeyCreate{NoticeVersion: "1"})
	r.must(err)
	r.client = r.client.As(key.APIKey)
	workspaces, err := r.client.ListWorkspaces(t.Context())
	r.must(err)
	r.workspace = workspaces[0].ID
	r.look()
	return r
}

func (r *realServer) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *realServer) start() {
	r.t.Helper()
	var err error
	r.running, err = server.New(context.Background(), r.config)
	r.must(err)
}

func (r *realServer) stop() {
	r.t.Helper()
	if r.running == nil {
		return
	}
	running := r.running
	r.running = nil
	if err := running.Close(context.Background()); err != nil {
		r.t.Errorf("close the server: %v", err)
	}
}

// RoundTrip hands a request to the server without a network.
func (r *realServer) RoundTrip(request *http.Request) (*http.Response, error) {
	request.RemoteAddr = "127.0.0.1:1234"
	request.RequestURI = request.URL.RequestURI()
	if request.Body == nil {
		request.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	r.running.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

func (r *realServer) Changes(ctx context.Context, workspace, cursor string, _ int, wait time.Duration) (api.ChangesPage, error) {
	return r.client.Changes(ctx, workspace, cursor, 3, wait) // many pages of few rows
}

func (r *realServer) Push(ctx context.Context, workspace string, push api.PushRequest) func() (api.PushResponse, error) {
	return answer(r.client.Push(ctx, workspace, push))
}

// look is all that the server has, dead or alive, as its feed told it.
func (r *realServer) look() map[string]*fakeRow {
	r.t.Helper()
	for {
		page, err := r.client.Changes(r.t.Context(), r.workspace, r.cursor, 0, 0)
		if api.CodeOf(err) == api.CodeResetRequired {
			r.cursor, r.rows = "", map[string]*fakeRow{}
			continue
		}
		r.must(err)
		for _, c := range page.Data {
			r.rows[c.ID] = &fakeRow{Change: c}
		}
		if r.cursor = *page.Pagination.NextCursor; !page.Pagination.HasMore {
			return r.rows
		}
	}
}

// edit does something through REST, as another client would.
func (r *realServer) edit(w *world) {
	r.t.Helper()
	place := client.InWorkspace(r.workspace)
	list, err := r.client.ListBookmarks(r.t.Context(), place, client.ListQuery{SortBy: "createdAt", Limit: 200})
	r.must(err)
	word := fmt.Sprintf("rest%d", w.rng.IntN(1000))
	switch {
	case w.upheaval && len(list) == 0:
		return
	case w.upheaval: // what no replica has yet, a restore loses for good
	case len(list) == 0 || w.rng.IntN(3) == 0:
		b, err := r.client.CreateBookmark(r.t.Context(), place, api.BookmarkInput{
			URL: api.Some(fmt.Sprintf("https://example.com/%d", w.rng.IntN(30))), Title: api.Some(word), Tags: api.Some([]string{word}),
		})
		r.must(err)
		w.made[b.ID] = b.URL
		return
	}
	b := list[w.rng.IntN(len(list))]
	switch w.rng.IntN(4) {
	case 0:
		w.deleted[b.ID] = true
		r.must(r.client.DeleteBookmark(r.t.Context(), place, b.ID))
	case 1:
		_, err = r.client.UpdateBookmark(r.t.Context(), place, b.ID, api.BookmarkInput{FolderID: api.Clear[string]()})
	default:
		_, err = r.client.UpdateBookmark(r.t.Context(), place, b.ID, api.BookmarkInput{Title: api.Some(word), Tags: api.Some(append(b.Tags, word))})
	}
	r.must(err)
}

// purge forgets every tombstone, as if 30 days had passed.
func (r *realServer) purge() {
	r.t.Helper()
	db := sqldbtest.Open(r.t, sqldb.Config{Dir: r.config.Dir, URL: r.config.DatabaseURL})
	err := db.Write(r.t.Context(), func(tx *sqldb.Tx) error {
		for _, table := range []string{"bookmark", "folder"} {
			if _, err := tx.Exec(r.t.Context(), `UPDATE `+table+` SET deleted_at = 1 WHERE deleted_at > 0`); err != nil {
				return err
			}
		}
		return nil
	})
	r.must(err)
	_, err = r.running.Purge(r.t.Context())
	r.must(err)
}

// keep makes a backup beside the running server.
func (r *realServer) keep() {
	r.t.Helper()
	r.backups++
	r.backup = filepath.Join(r.t.TempDir(), fmt.Sprintf("backup-%d.db", r.backups))
	admin, err := server.OpenAdmin(r.t.Context(), r.config)
	r.must(err)
	r.must(admin.Backup(r.t.Context(), r.backup))
	r.must(admin.Close(r.t.Context()))
}

// restore puts the backup in the database's place.
func (r *realServer) restore() {
	r.t.Helper()
	r.stop()
	_, err := server.Restore(r.t.Context(), r.config, r.backup)
	r.must(err)
	r.start()
}

// simulateReal lets replicas live with the real server.
func simulateReal(t *testing.T, seed uint64, config server.Config, upheaval bool) {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		deleted: map[string]bool{}, made: map[string]string{},
	}
	w.server = newFakeServer(w.now)
	w.real, w.upheaval = newRealServer(t, config), upheaval
	w.equip(seed, 2+int(seed%2), w.real.workspace)
	w.live(seed, upheaval)
	w.check()
}

// check has the server's own check find nothing.
func (w *world) check() {
	w.t.Helper()
	admin, err := server.OpenAdmin(w.t.Context(), w.real.config)
	w.real.must(err)
	findings, err := admin.Check(w.t.Context())
	w.real.must(err)
	w.real.must(admin.Close(w.t.Context()))
	if len(findings) > 0 {
		w.t.Errorf("the server's database: %+v", findings)
	}
}

func TestReplicasAgreeWithTheRealServer(t *testing.T) {
	for _, seed := range seeds(t, 10) { // the real server takes its time
		t.Run(fmt.Sprintf("sqlite/%d", seed), func(t *testing.T) {
			t.Parallel()
			simulateReal(t, 20_000+seed, server.Config{Dir: t.TempDir()}, false)
		})
		t.Run(fmt.Sprintf("postgres/%d", seed), func(t *testing.T) {
			t.Parallel()
			simulateReal(t, 30_000+seed, server.Config{DatabaseURL: sqldbtest.Postgres(t), Dir: t.TempDir()}, false)
		})
		t.Run(fmt.Sprintf("upheaval/%d", seed), func(t *testing.T) {
			t.Parallel()
			simulateReal(t, 40_000+seed, server.Config{Dir: t.TempDir()}, true)
		})
	}
}
