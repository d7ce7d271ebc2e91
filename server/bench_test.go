package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
	"bm/server/ratelimit"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
	"bm/server/tree"
)

// connections is how many clients ask at once.
const connections = 32

// benchServer is a server with a hundred thousand bookmarks, or as many as
// -short allows.
func benchServer(b *testing.B) (*servertest.Server, *servertest.Person, string) {
	b.Helper()
	dir := b.TempDir()
	s := servertest.Start(b, server.Config{Dir: dir, Limits: ratelimit.Limits{Key: 1 << 30, Tenant: 1 << 30, IP: 1 << 30}})
	ada := servertest.Join(b, s, "ada")
	rows := 100_000
	if testing.Short() {
		rows = 2_000
	}
	var file bytes.Buffer
	if err := exchange.WriteHTML(&file, exchangetest.Make(1, rows).Source()); err != nil {
		b.Fatal(err)
	}
	if _, err := ada.Key.Import(b.Context(), client.InWorkspace(ada.Workspace.ID), "x.html", &file, ""); err != nil {
		b.Fatal(err)
	}
	return s, ada, filepath.Join(dir, "bm.db")
}

// hammer sends requests over many connections.
func hammer(b *testing.B, ask func(n int64) *http.Request, status int) {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	var n atomic.Int64
	b.SetParallelism(connections / 2) // times GOMAXPROCS
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			response, err := transport.RoundTrip(ask(n.Add(1)))
			if err != nil {
				b.Error(err)
				return
			}
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if err != nil || response.StatusCode != status {
				b.Errorf("status %d, %v", response.StatusCode, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkList compares a list of 50 bookmarks with its ceiling: a bare
// handler that runs the same SELECT and encodes the same JSON.
func BenchmarkList(b *testing.B) {
	s, ada, path := benchServer(b)
	key := func(url string) func(int64) *http.Request {
		return func(int64) *http.Request {
			request, _ := http.NewRequest(http.MethodGet, url, nil)
			request.Header.Set("Authorization", "Bearer "+ada.Secret.Reveal())
			request.Header.Set("X-Workspace-ID", ada.Workspace.ID)
			return request
		}
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=mmap_size(4294967296)&_pragma=cache_size(-16384)")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxIdleConns(8)
	db.SetMaxOpenConns(8)
	stmt, err := db.Prepare(`SELECT ` + tree.BookmarkColumns + ` FROM bookmark b WHERE b.tenant_id = ? AND b.workspace_id = ? AND b.deleted_at = 0
		ORDER BY b.created_at DESC, b.id DESC LIMIT 50`)
	if err != nil {
		b.Fatal(err)
	}
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rows, err := stmt.Query(ada.Workspace.TenantID, ada.Workspace.ID)
		if err != nil {
			panic(err)
		}
		defer func() { _ = rows.Close() }()
		list := make([]api.Bookmark, 0, 50)
		for rows.Next() {
			row, err := tree.ScanBookmark(rows)
			if err != nil {
				panic(err)
			}
			list = append(list, row.Bookmark)
		}
		if err := rows.Err(); err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	defer bare.Close()
	b.Run("bare", func(b *testing.B) { hammer(b, key(bare.URL), http.StatusOK) })
	b.Run("ours", func(b *testing.B) { hammer(b, key(s.URL+"/api/v1/bookmarks"), http.StatusOK) })
}

// BenchmarkCreate compares saving one bookmark with its ceiling: the commits
// of one bare writer to the same tables.
func BenchmarkCreate(b *testing.B) {
	s, ada, path := benchServer(b)
	b.Run("bare", func(b *testing.B) {
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(full)&_pragma=mmap_size(4294967296)&_pragma=cache_size(-16384)&_txlock=immediate")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		db.SetMaxOpenConns(1)
		row := bareRow(b, db)
		b.ResetTimer()
		for n := range b.N {
			row(n)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	})
	b.Run("ours", func(b *testing.B) {
		hammer(b, func(n int64) *http.Request {
			body := fmt.Sprintf(`{"url":"https://example.test/%d","title":"Number %d","tags":["one","two"]}`, n, n)
			request, _ := http.NewRequest(http.MethodPost, s.URL+"/api/v1/bookmarks", strings.NewReader(body))
			request.Header.Set("Authorization", "Bearer "+ada.Secret.Reveal())
			request.Header.Set("X-Workspace-ID", ada.Workspace.ID)
			request.Header.Set("Content-Type", "application/json")
			return request
		}, http.StatusCreated)
	})
}

// bareRow commits one bookmark a call, with its tags and its words, in a
// workspace of no tenant's.
func bareRow(b *testing.B, db *sql.DB) func(n int) {
	b.Helper()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	var tenant string
	must(db.QueryRow(`SELECT id FROM tenant`).Scan(&tenant))
	prepare := func(text string) *sql.Stmt {
		stmt, err := db.Prepare(text)
		must(err)
		return stmt
	}
	_, err := db.Exec(`INSERT OR IGNORE INTO workspace (id, tenant_id, name, slug, created_at, updated_at) VALUES ('bare', ?, 'bare', 'bare', 1, 1)`, tenant)
	must(err)
	_, err = db.Exec(`INSERT OR IGNORE INTO workspace_head (workspace_id, tenant_id, epoch) VALUES ('bare', ?, 'e')`, tenant)
	must(err)
	_, err = db.Exec(`INSERT OR IGNORE INTO tag (workspace_id, tag_key) VALUES ('bare', 'one'), ('bare', 'two')`)
	must(err)
	head := prepare(`UPDATE workspace_head SET rev = rev + 1, digest = '0123456789abcdef', live_count = live_count + 1 WHERE workspace_id = 'bare'`)
	insert := prepare(`INSERT INTO bookmark (id, tenant_id, workspace_id, url, url_key, url_key_version, title, title_key, tags, sort_order, created_at, updated_at, rev)
		VALUES (?, ?, 'bare', ?, ?, 1, ?, ?, '["one","two"]', ?, ?, ?, ?) RETURNING seq`)
	tag := prepare(`INSERT INTO bookmark_tag (tag_seq, bookmark_seq, tag) SELECT seq, ?, tag_key FROM tag WHERE workspace_id = 'bare' AND tag_key = ?`)
	index := prepare(`INSERT INTO bookmark_fts (rowid, title, tags, url, description, scope) VALUES (?, ?, 'one two', ?, '', 'bare')`)
	newID := api.NewIDs(time.Now, rand.Reader).New
	return func(n int) {
		id := newID()
		url, title := fmt.Sprintf("https://example.test/%d", n), fmt.Sprintf("Number %d", n)
		tx, err := db.Begin()
		must(err)
		_, err = tx.Stmt(head).Exec()
		must(err)
		var seq int64
		must(tx.Stmt(insert).QueryRow(id, tenant, url, url, title, title, n, n, n, n).Scan(&seq))
		for _, name := range []string{"one", "two"} {
			_, err = tx.Stmt(tag).Exec(seq, name)
			must(err)
		}
		_, err = tx.Stmt(index).Exec(seq, title, url)
		must(err)
		must(tx.Commit())
	}
}

// BenchmarkImport compares an import over HTTP, parsing and matching included,
// with its ceiling: a bare program that inserts the same rows with the same
// indexes into an empty database, and then fills FTS5 with one INSERT…SELECT.
func BenchmarkImport(b *testing.B) {
	rows := 100_000
	if testing.Short() {
		rows = 2_000
	}
	all := exchangetest.Make(1, rows)
	rate := func(b *testing.B) { b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s") }
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			bareImport(b, all)
		}
		rate(b)
	})
	var file bytes.Buffer
	if err := exchange.WriteHTML(&file, all.Source()); err != nil {
		b.Fatal(err)
	}
	imports := func(b *testing.B, database func(testing.TB) string, beside func(ctx context.Context, c *client.Client, at client.Place)) {
		for b.Loop() {
			b.StopTimer()
			s := servertest.Start(b, server.Config{Dir: b.TempDir(), DatabaseURL: database(b), Limits: ratelimit.Limits{Key: 1 << 30, Tenant: 1 << 30, IP: 1 << 30}})
			ada, ben := servertest.Join(b, s, "ada"), servertest.Join(b, s, "ben")
			ctx, stop := context.WithCancel(b.Context())
			var others sync.WaitGroup
			b.StartTimer()
			others.Go(func() { beside(ctx, ben.Key, client.InWorkspace(ben.Workspace.ID)) })
			sum, err := ada.Key.Import(ctx, client.InWorkspace(ada.Workspace.ID), "x.html", bytes.NewReader(file.Bytes()), "")
			stop()
			others.Wait()
			if err != nil || sum.Imported != rows {
				b.Fatalf("imported %d: %v", sum.Imported, err)
			}
		}
		rate(b)
	}
	for name, database := range map[string]func(testing.TB) string{
		"ours": func(testing.TB) string { return "" }, "postgres": sqldbtest.Postgres,
	} {
		b.Run(name, func(b *testing.B) { imports(b, database, func(context.Context, *client.Client, client.Place) {}) })
		// What somebody else's saves and lists wait meanwhile.
		b.Run(name+"-beside", func(b *testing.B) {
			var saves, lists []time.Duration
			imports(b, database, func(ctx context.Context, c *client.Client, at client.Place) {
				for tick := time.NewTicker(10 * time.Millisecond); ; {
					select {
					case <-ctx.Done():
						tick.Stop()
						return
					case <-tick.C:
					}
					began := time.Now()
					_, err := c.CreateBookmark(context.WithoutCancel(ctx), at, api.BookmarkInput{URL: api.Some("https://example.test")})
					saved := time.Now()
					if err == nil {
						_, err = c.ListBookmarks(context.WithoutCancel(ctx), at, client.ListQuery{})
					}
					if err != nil {
						b.Error(err)
						return
					}
					saves, lists = append(saves, saved.Sub(began)), append(lists, time.Since(saved))
				}
			})
			for what, waits := range map[string][]time.Duration{"write": saves, "read": lists} {
				slices.Sort(waits)
				for _, percent := range []int{50, 99, 100} {
					b.ReportMetric(float64(waits[(len(waits)-1)*percent/100].Microseconds())/1000, fmt.Sprintf("%s-p%d-ms", what, percent))
				}
			}
		})
	}
}

func bareImport(b *testing.B, all *exchangetest.Collection) {
	b.Helper()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	empty, err := server.New(b.Context(), server.Config{Dir: dir, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	must(err)
	must(empty.Close(b.Context()))
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bm.db")+"?_pragma=synchronous(normal)&_pragma=mmap_size(4294967296)&_pragma=cache_size(-16384)")
	must(err)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	tx, err := db.Begin()
	must(err)
	prepare := func(text string) *sql.Stmt {
		stmt, err := tx.Prepare(text)
		must(err)
		return stmt
	}
	_, err = tx.Exec(`INSERT INTO tenant (id, name, name_key, slug, created_at) VALUES ('t', 't', 't', 't', 1)`)
	must(err)
	_, err = tx.Exec(`INSERT INTO workspace (id, tenant_id, name, slug, created_at, updated_at) VALUES ('w', 't', 'w', 'w', 1, 1)`)
	must(err)
	folder := prepare(`INSERT INTO folder (id, tenant_id, workspace_id, parent_id, name, sort_order, created_at, updated_at, rev) VALUES (?, 't', 'w', ?, ?, ?, ?, ?, ?)`)
	bookmark := prepare(`INSERT INTO bookmark (id, tenant_id, workspace_id, folder_id, url, url_key, url_key_version, title, title_key, description, tags, sort_order, created_at, updated_at, rev)
		VALUES (?, 't', 'w', ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)`)
	tag := prepare(`INSERT INTO tag (workspace_id, tag_key) VALUES ('w', ?)`)
	tagged := prepare(`INSERT INTO bookmark_tag (tag_seq, bookmark_seq, tag) VALUES (?, ?, ?)`)
	tagSeqs := map[string]int64{}
	for i, f := range all.Folders {
		_, err = folder.Exec(f.ID, f.ParentID, f.Name, f.SortOrder, f.CreatedAt.UnixMicro(), f.CreatedAt.UnixMicro(), i)
		must(err)
	}
	for i := range all.Bookmarks {
		m := &all.Bookmarks[i]
		tags, err := json.Marshal(m.Tags)
		must(err)
		row, err := bookmark.Exec(m.ID, m.FolderID, m.URL, m.URL, m.Title, m.Title, m.Description, string(tags), m.SortOrder, m.CreatedAt.UnixMicro(), m.CreatedAt.UnixMicro(), i)
		must(err)
		seq, err := row.LastInsertId()
		must(err)
		for _, name := range m.Tags {
			key := strings.ToLower(name)
			if tagSeqs[key] == 0 {
				made, err := tag.Exec(key)
				must(err)
				tagSeqs[key], err = made.LastInsertId()
				must(err)
			}
			_, err = tagged.Exec(tagSeqs[key], seq, name)
			must(err)
		}
	}
	_, err = tx.Exec(`INSERT INTO bookmark_fts (rowid, title, tags, url, description, scope) SELECT seq, title, tags, url, description, 'w' FROM bookmark`)
	must(err)
	must(tx.Commit())
}
