package places

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bm/localstore/places/placestest"
)

// What a profile holds is looked up by its indexes: the only things that are
// gone through are the tree and, once each, the tags.
func TestReadingIsLinear(t *testing.T) {
	for name, old := range map[string]bool{"modern": false, "old": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "places.sqlite")
			nodes := []placestest.Node{{Title: "A", URL: "https://a.example/", Tags: []string{"x"}, Keyword: "k", PostData: "p", Charset: "UTF-8", Description: "d"}, {Title: "Hidden", Hidden: true}}
			if err := placestest.Make(t.Context(), path, placestest.Profile{Old: old, Menu: nodes}); err != nil {
				t.Fatal(err)
			}
			conn := connect(t, path)
			s, err := readSchema(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.notes) < 2 {
				t.Fatalf("the profile has the notes %v", s.notes)
			}
			if err := s.gatherTags(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			for query, args := range map[string][]any{s.tree(): nil, gatherTags: {4}} {
				plan := explain(t, conn, query, args...)
				for _, step := range plan {
					if strings.Contains(step, "SCAN ") && step != "SCAN t" || strings.Contains(step, "AUTOMATIC") {
						t.Errorf("%s\nin the plan\n%s", step, strings.Join(plan, "\n"))
					}
				}
			}
		})
	}
}

func connect(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", address(path))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close() // it was only read
		_ = db.Close()
	})
	return conn
}

func explain(t *testing.T, conn *sql.Conn, query string, args ...any) []string {
	t.Helper()
	var plan []string
	err := each(t.Context(), conn, func(row *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := row.Scan(&id, &parent, &unused, &step)
		plan = append(plan, step)
		return err
	}, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// However many bookmarks there are, they are not held.
func TestMemoryDoesNotGrowWithBookmarks(t *testing.T) {
	held := func(bookmarks int) int64 {
		path := filepath.Join(t.TempDir(), "places.sqlite")
		running, err := placestest.Start(t.Context(), path, placestest.Profile{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(running.Add(t.Context(), bookmarks, strings.Repeat("title ", 40)), running.End()); err != nil {
			t.Fatal(err)
		}
		w := &most{}
		if err := Backup(context.Background(), path, w, nil); err != nil {
			t.Fatal(err)
		}
		return w.heap
	}
	few, many := held(1000), held(20000)
	t.Logf("%d KiB for 1,000, %d KiB for 20,000", few>>10, many>>10)
	if many > few+4<<20 {
		t.Errorf("1,000 bookmarks take %d KiB, 20,000 take %d", few>>10, many>>10)
	}
}

// most is where a backup is written to; it looks how much memory is in use.
type most struct {
	heap   int64
	writes int
}

func (m *most) Write(p []byte) (int, error) {
	if m.writes++; m.writes%64 == 0 || bytes.HasSuffix(p, []byte("]}")) {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		m.heap = max(m.heap, int64(stats.HeapAlloc))
	}
	return len(p), nil
}
