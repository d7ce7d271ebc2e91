package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// calendar is a clock that is set by the day.
type calendar struct {
	start time.Time
	days  atomic.Int64
}

func (c *calendar) now() time.Time { return c.start.AddDate(0, 0, int(c.days.Load())) }

// The trash is kept for 30 days, to the row; what is purged is gone, and a
// replica that may have missed it is told to begin anew.
func TestPurge(t *testing.T) {
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &calendar{start: time.Now()}
			config := store(t)
			config.Now = clock.now
			s := servertest.Start(t, config)
			purge(t, s, clock, sqldbtest.Open(t, sqldb.Config{Dir: config.Dir, URL: config.DatabaseURL}), config)
		})
	}
}

func purge(t *testing.T, s *servertest.Server, clock *calendar, db *sqldb.DB, config server.Config) {
	ctx := t.Context()
	ada, bob := servertest.Join(t, s, "ada"), servertest.Join(t, s, "bob")
	furnish(t, ada)
	furnish(t, bob)
	at := client.InWorkspace(ada.Workspace.ID)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cursor := func() string {
		t.Helper()
		page, err := ada.Key.Changes(ctx, ada.Workspace.ID, "", 5000, 0)
		check(err)
		return *page.Pagination.NextCursor
	}
	purged := func(workspaces, rows int) {
		t.Helper()
		done, err := s.Purge(ctx)
		if err != nil || done.Workspaces != workspaces || done.Rows != rows {
			t.Fatalf("day %d: purged %+v, %v, want %d workspaces and %d rows", clock.days.Load(), done, err, workspaces, rows)
		}
		if findings := mustCheck(t, config); len(findings) > 0 {
			t.Fatalf("day %d: %v", clock.days.Load(), findings)
		}
	}
	count := func(table string) (n int) {
		t.Helper()
		check(db.Read(ctx, func(tx *sqldb.Tx) error { return tx.Row(ctx, `SELECT count(*) FROM `+table, nil, &n) }))
		return n
	}

	// Day 0: three bookmarks of each furnishing are in the trash. A folder goes
	// there with all that is in it, a workspace too, and an op is judged.
	old := cursor()
	begun, err := ada.Key.Changes(ctx, ada.Workspace.ID, "", 1, 0) // a bootstrap in its middle
	check(err)
	half := *begun.Pagination.NextCursor
	bookmarks, folders, _ := contents(t, ada.Key, ada.Workspace.ID)
	check(ada.Key.DeleteFolder(ctx, ada.Workspace.ID, folders[0].ID))
	left, leftFolders, _ := contents(t, ada.Key, ada.Workspace.ID)
	goneFolders := len(folders) - len(leftFolders)
	gone := len(bookmarks) - len(left) + goneFolders + 3
	seen := cursor()
	second, err := ada.Key.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "Second"})
	check(err)
	_, err = ada.Key.CreateBookmark(ctx, client.InWorkspace(second.ID), api.BookmarkInput{Title: api.Some("in the second"), Tags: api.Some([]string{"Tag", "of the second"})})
	check(err)
	check(ada.Key.DeleteWorkspace(ctx, second.ID))
	ids := api.NewIDs(time.Now, rand.Reader)
	op := api.Op{OpID: ids.New(), Action: "create", Type: "bookmark", ID: ids.New(), Set: json.RawMessage(`{"title":"pushed"}`)}
	push := func() api.OpStatus {
		t.Helper()
		answer, err := ada.Key.Push(ctx, ada.Workspace.ID, api.PushRequest{Ops: []api.Op{op}})
		check(err)
		return answer.Results[0].Status
	}
	if push() != api.OpApplied {
		t.Fatal("the op was not applied")
	}
	const unused = "tag WHERE NOT EXISTS (SELECT 1 FROM bookmark_tag bt WHERE bt.tag_seq = tag.seq)"
	if count(unused) == 0 || count("op_result") == 0 || count("session") == 0 || count("refresh_token") == 0 {
		t.Fatal("there is nothing to purge")
	}
	purged(0, 0)

	// A tag that was renamed is forgotten at once: nothing else of it is left.
	_, err = ada.Key.RenameTag(ctx, ada.Workspace.ID, api.TagRename{From: "tag", To: "renamed"})
	check(err)
	if count(unused) == 0 {
		t.Fatal("no tag is without bookmarks")
	}
	purged(0, 0)
	if n := count(unused); n != 0 {
		t.Errorf("%d tags that nobody carries are left", n)
	}

	// Day 10: another bookmark goes.
	clock.days.Store(10)
	check(ada.Key.DeleteBookmark(ctx, at, left[0].ID))

	// Day 29: nothing is due yet, and everything comes back that is asked for.
	clock.days.Store(29)
	purged(0, 0)
	if push() != api.OpApplied {
		t.Error("the op's verdict was forgotten too early")
	}
	for _, before := range []string{old, half} {
		if _, err := ada.Key.Changes(ctx, ada.Workspace.ID, before, 5000, 0); err != nil {
			t.Errorf("a replica that was away for 29 days: %v", err)
		}
	}
	trash, err := ada.Key.ListBookmarks(ctx, at, client.ListQuery{BookmarkFilter: api.BookmarkFilter{FilterStatus: "deleted"}, Limit: 200})
	if err != nil || len(trash) != gone-goneFolders+1 {
		t.Fatalf("%d bookmarks in the trash, %v, want %d", len(trash), err, gone-goneFolders+1)
	}

	// Day 31: the day 0 is over. bob's three go as well.
	clock.days.Store(31)
	if _, err := ada.Key.RestoreWorkspace(ctx, second.ID); api.CodeOf(err) != api.CodeGone {
		t.Errorf("a workspace that is due was restored: %v", err)
	}
	purged(1, gone+3)
	purged(0, 0)
	if _, err := ada.Key.RestoreFolder(ctx, ada.Workspace.ID, folders[0].ID); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("restore what was purged: %v", err)
	}
	if _, err := ada.Key.RestoreWorkspace(ctx, second.ID); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("restore a workspace that was purged: %v", err)
	}
	if _, err := ada.Key.RestoreBookmark(ctx, ada.Workspace.ID, left[0].ID); err != nil {
		t.Errorf("restore what was deleted on day 10: %v", err)
	}
	for _, before := range []string{old, half} {
		if _, err := ada.Key.Changes(ctx, ada.Workspace.ID, before, 5000, 0); api.CodeOf(err) != api.CodeResetRequired {
			t.Errorf("a cursor from before the purged deletions: %v", err)
		}
	}
	if page, err := ada.Key.Changes(ctx, ada.Workspace.ID, seen, 5000, 0); err != nil || len(page.Data) == 0 {
		t.Errorf("a cursor that has seen the purged deletions: %v", err)
	}
	for _, table := range []string{"op_result", "session", "refresh_token", unused} {
		if n := count(table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if now, _, _ := contents(t, ada.Key, ada.Workspace.ID); len(now) != len(left)+1 {
		t.Errorf("%d bookmarks live, want %d and the pushed one", len(now), len(left))
	}
}

// A purge that was cut off leaves a workspace half emptied until the next one goes
// on: that is no damage to report.
func TestCheckBesideAPurge(t *testing.T) {
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &calendar{start: time.Now()}
			config := store(t)
			config.Now = clock.now
			s := servertest.Start(t, config)
			leave(t, servertest.Join(t, s, "ada"))
			clock.days.Store(31)
			ctx, cancel := context.WithCancel(t.Context())
			steps := 0
			s.DB().Watch(func(text string) {
				if strings.HasPrefix(text, "DELETE FROM bookmark_tag") {
					if steps++; steps == 2 {
						cancel()
					}
				}
			})
			if _, err := s.Purge(ctx); !errors.Is(err, context.Canceled) || steps != 2 {
				t.Fatalf("cut off at step %d: %v", steps, err)
			}
			s.DB().Watch(nil)
			config.Logger = slog.New(slog.DiscardHandler)
			for range 2 {
				beside := must[*server.Admin](t)(server.OpenAdmin(t.Context(), config))
				if findings := must[[]server.Finding](t)(beside.Check(t.Context())); len(findings) > 0 {
					t.Errorf("found %v", findings)
				}
				if err := beside.Close(t.Context()); err != nil {
					t.Error(err)
				}
				must[server.Purged](t)(s.Purge(t.Context()))
			}
		})
	}
}

// Nor does a purge that was cut off leave a folder that could be restored without
// what was in it.
func TestAFolderGoesBeforeWhatIsInIt(t *testing.T) {
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &calendar{start: time.Now()}
			config := store(t)
			config.Now = clock.now
			s := servertest.Start(t, config)
			ada := servertest.Join(t, s, "ada")
			at := client.InWorkspace(ada.Workspace.ID)
			folder := must[api.Folder](t)(ada.Key.CreateFolder(t.Context(), ada.Workspace.ID, api.FolderInput{Name: api.Some("f")}))
			b := must[api.Bookmark](t)(ada.Key.CreateBookmark(t.Context(), at, api.BookmarkInput{Title: api.Some("b"), FolderID: api.Some(folder.ID)}))
			if err := ada.Key.DeleteFolder(t.Context(), ada.Workspace.ID, folder.ID); err != nil {
				t.Fatal(err)
			}
			clock.days.Store(31)
			ctx, cancel := context.WithCancel(t.Context())
			begun := 0
			s.DB().Watch(func(text string) {
				if strings.HasPrefix(text, "UPDATE workspace_head SET rev = rev") {
					if begun++; begun == 2 { // the first transaction is on disk
						cancel()
					}
				}
			})
			if _, err := s.Purge(ctx); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			s.DB().Watch(nil)
			_, err := ada.Key.RestoreFolder(t.Context(), ada.Workspace.ID, folder.ID)
			if restored, found := ada.Key.GetBookmark(t.Context(), at, b.ID); err == nil && found != nil {
				t.Errorf("the folder came back without %s: %+v", b.ID, restored)
			}
		})
	}
}

// A workspace that another server removes while this one goes through the trash ends
// its own part alone.
func TestAPurgeWithoutTheWorkspace(t *testing.T) {
	clock := &calendar{start: time.Now()}
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t), Now: clock.now}
	s := servertest.Start(t, config)
	ada, bob := servertest.Join(t, s, "ada"), servertest.Join(t, s, "bob")
	furnish(t, ada)
	furnish(t, bob)
	clock.days.Store(31)
	first := min(ada.Workspace.ID, bob.Workspace.ID) // the trash is gone through in their order
	other := sqldbtest.Open(t, sqldb.Config{URL: config.DatabaseURL})
	s.DB().Watch(func(text string) {
		if !strings.Contains(text, "FROM workspace_head h") {
			return
		}
		s.DB().Watch(func(string) { // which workspaces there are has been read
			s.DB().Watch(nil)
			err := other.Write(t.Context(), func(tx *sqldb.Tx) error {
				_, err := tx.Exec(t.Context(), `DELETE FROM workspace WHERE id = $1`, first)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	})
	if done, err := s.Purge(t.Context()); err != nil || done.Rows != 3 {
		t.Errorf("purged %+v, %v", done, err)
	}
}

// leave puts a workspace of a few hundred bookmarks into the trash.
func leave(t *testing.T, p *servertest.Person) (workspaceID string) {
	t.Helper()
	second := must[api.Workspace](t)(p.JWT.CreateWorkspace(t.Context(), api.WorkspaceCreate{Name: "second"}))
	var file bytes.Buffer
	file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
	for i := range 600 {
		fmt.Fprintf(&file, "<DT><A HREF=\"https://example.com/%d\" TAGS=\"one,two\">n%d</A>\n", i, i)
	}
	file.WriteString("</DL>")
	must[api.ImportSummary](t)(p.Key.Import(t.Context(), client.InWorkspace(second.ID), "x.html", &file, ""))
	if err := p.JWT.DeleteWorkspace(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
	return second.ID
}

// Two servers may empty one workspace at once. Where the other was faster is not
// the end: what was left would belong to a workspace that is gone.
func TestPurgesOfTwoServers(t *testing.T) {
	clock := &calendar{start: time.Now()}
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t), Now: clock.now}
	s := servertest.Start(t, config)
	ctx := t.Context()
	left := leave(t, servertest.Join(t, s, "ada"))
	clock.days.Store(31)

	db := sqldbtest.Open(t, sqldb.Config{URL: config.DatabaseURL})
	number := func(query string) (n int) {
		t.Helper()
		if err := db.Read(ctx, func(tx *sqldb.Tx) error { return tx.Row(ctx, query, nil, &n) }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	type outcome struct {
		purged server.Purged
		err    error
	}
	done := make(chan outcome, 1)
	// The other is in the middle of its first step.
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		for _, text := range []string{
			`UPDATE workspace_head SET rev = rev WHERE workspace_id = $1`,
			`DELETE FROM bookmark_tag WHERE (tag_seq, bookmark_seq) IN (
				SELECT bt.tag_seq, bt.bookmark_seq FROM tag t JOIN bookmark_tag bt ON bt.tag_seq = t.seq WHERE t.workspace_id = $1 LIMIT (0 + 500))`,
		} {
			if _, err := tx.Exec(ctx, text, left); err != nil {
				return err
			}
		}
		go func() {
			purged, err := s.Purge(ctx)
			done <- outcome{purged, err}
		}()
		for number(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 0 {
			if len(done) > 0 {
				return errors.New("the purge did not wait for the other")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.err != nil || got.purged.Workspaces != 1 {
		t.Errorf("purged %+v, %v", got.purged, got.err)
	}
	for _, table := range []string{"bookmark_tag", "tag", "bookmark"} {
		if n := number(`SELECT count(*) FROM ` + table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}
