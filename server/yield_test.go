package server_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/api/exchange/exchangetest"
	"bm/server/servertest"
	"bm/server/sqldb"
)

// An import's transaction is long only while nobody else wants to write.
func TestAnImportMakesRoom(t *testing.T) {
	const rows = 5_000
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	ada := servertest.Join(t, s, "ada")
	var file bytes.Buffer
	if err := exchangetest.Generate(&file, 3, rows); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	stored := func(tx *sqldb.Tx) (n int, err error) {
		return n, tx.Row(ctx, `SELECT live_count FROM workspace_head WHERE workspace_id = $1`, []any{ada.Workspace.ID}, &n)
	}
	var once sync.Once
	var other sync.WaitGroup
	var found int
	s.DB().Watch(func(text string) {
		if strings.HasPrefix(text, "INSERT INTO bookmark ") {
			once.Do(func() {
				other.Go(func() {
					err := s.DB().Write(ctx, func(tx *sqldb.Tx) (err error) {
						found, err = stored(tx)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				})
			})
		}
	})
	defer s.DB().Watch(nil)
	sum, err := ada.Key.Import(ctx, client.InWorkspace(ada.Workspace.ID), "x.html", &file, "")
	if err != nil || sum.Imported != rows {
		t.Fatalf("%+v, %v", sum, err)
	}
	other.Wait()
	if found == 0 || found >= rows {
		t.Errorf("who came in the middle of an import wrote when %d of %d bookmarks were there", found, rows)
	}
}

// What breaks while an import decides is told its sender, and the server, whose
// goroutine that is, lives on.
func TestAnImportThatBreaksTakesNothingWithIt(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	ada := servertest.Join(t, s, "ada")
	s.DB().Watch(func(text string) {
		if strings.HasPrefix(text, "SELECT seq, url_key, CASE") {
			panic("a defect")
		}
	})
	upload := func() error {
		_, err := ada.Key.Import(context.WithoutCancel(t.Context()), client.InWorkspace(ada.Workspace.ID), "x.html",
			strings.NewReader(`<DL><DT><A HREF="https://go.dev">Go</A></DL>`), "")
		return err
	}
	if err := upload(); api.CodeOf(err) != api.CodeInternal {
		t.Errorf("a defect was answered with %v", err)
	}
	s.DB().Watch(nil)
	if err := upload(); err != nil {
		t.Error(errors.Join(errors.New("after the defect"), err))
	}
}
