package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// stores is a place for a server's rows on each database, by name.
func stores() map[string]func(t *testing.T) server.Config {
	return map[string]func(t *testing.T) server.Config{
		"sqlite": func(t *testing.T) server.Config { return server.Config{Dir: t.TempDir()} },
		"postgres": func(t *testing.T) server.Config {
			return server.Config{Dir: t.TempDir(), DatabaseURL: sqldbtest.Postgres(t)}
		},
	}
}

// complete is what a command line hands over beside the place.
func complete(config server.Config) server.Config {
	config.Now, config.Version, config.Registration = time.Now, "test", server.RegistrationOpen
	config.Logger = slog.New(slog.DiscardHandler)
	return config
}

func openAdmin(t *testing.T, config server.Config) *server.Admin {
	t.Helper()
	a, err := server.OpenAdmin(t.Context(), complete(config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

func mustCheck(t *testing.T, config server.Config) []server.Finding {
	t.Helper()
	findings, err := openAdmin(t, config).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// furnish fills a workspace with every kind of row.
func furnish(t *testing.T, p *servertest.Person) {
	t.Helper()
	ctx, at := t.Context(), client.InWorkspace(p.Workspace.ID)
	var parent string
	for _, name := range []string{"Dev", "Go", "Łódź"} {
		f, err := p.Key.CreateFolder(ctx, p.Workspace.ID, api.FolderInput{Name: api.Some(name), ParentID: api.Some(parent)})
		if err != nil {
			t.Fatal(err)
		}
		parent = f.ID
	}
	for i := range 30 {
		b, err := p.Key.CreateBookmark(ctx, at, api.BookmarkInput{
			URL: api.Some(fmt.Sprintf("https://a.example/%d", i)), Title: api.Some(fmt.Sprintf("Number %d of Ørsted", i)),
			Tags: api.Some([]string{"Tag", fmt.Sprintf("t%d", i)}), FolderID: api.Some([]string{"", parent}[i%2]),
			Description: api.Some("of a thing"),
		})
		if err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			if err := p.Key.DeleteBookmark(ctx, at, b.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// contents is all of a workspace that its reader sees.
func contents(t *testing.T, c *client.Client, workspace string) (bookmarks []api.Bookmark, folders []api.Folder, found int) {
	t.Helper()
	ctx := t.Context()
	bookmarks, err := c.ListBookmarks(ctx, client.InWorkspace(workspace), client.ListQuery{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	if folders, err = c.ListFolders(ctx, workspace, false); err != nil {
		t.Fatal(err)
	}
	hits, err := c.SearchBookmarks(ctx, workspace, "orsted tag:tag", 200, 0)
	if err != nil {
		t.Fatal(err)
	}
	return bookmarks, folders, len(hits)
}

// A backup taken beside a writer, of either database, restored into either.
func TestBackupRestore(t *testing.T) {
	for from, source := range stores() {
		for to, target := range stores() {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				backupRestore(t, source(t), target(t))
			})
		}
	}
}

func backupRestore(t *testing.T, source, target server.Config) {
	ctx := t.Context()
	s := servertest.Start(t, source)
	ada, bob := servertest.Join(t, s, "ada"), servertest.Join(t, s, "bob")
	furnish(t, ada)
	bookmarks, folders, found := contents(t, ada.Key, ada.Workspace.ID)
	if len(bookmarks) != 27 || len(folders) != 3 || found != 27 {
		t.Fatalf("%d bookmarks, %d folders, %d found", len(bookmarks), len(folders), found)
	}
	before, err := ada.Key.Changes(ctx, ada.Workspace.ID, "", 1000, 0)
	if err != nil {
		t.Fatal(err)
	}

	// Somebody writes while the backup is taken.
	writing, stop := context.WithCancel(ctx)
	var writer sync.WaitGroup
	wrote := make(chan struct{}, 1)
	writer.Go(func() {
		for i := 0; writing.Err() == nil; i++ {
			_, err := bob.Key.CreateBookmark(writing, client.InWorkspace(bob.Workspace.ID), api.BookmarkInput{Title: api.Some(fmt.Sprint(i))})
			if err != nil && writing.Err() == nil {
				t.Error(err)
			}
			select {
			case wrote <- struct{}{}:
			default:
			}
		}
	})
	<-wrote
	file := filepath.Join(t.TempDir(), "backup.db")
	if err := openAdmin(t, source).Backup(ctx, file); err != nil {
		t.Fatal(err)
	}
	<-wrote
	stop()
	writer.Wait()
	if err := openAdmin(t, source).Backup(ctx, file); err == nil {
		t.Error("a backup took another's place")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup's mode is %v, %v", info.Mode(), err)
	}

	if aside, err := server.Restore(ctx, complete(target), file); err != nil || aside != "" {
		t.Fatalf("restore: %q, %v", aside, err)
	}
	if findings := mustCheck(t, target); len(findings) > 0 {
		t.Fatalf("the restored database: %v", findings)
	}
	restored := servertest.Start(t, target)
	c, err := client.New(client.Options{Server: restored.URL, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	// Keys, passwords and sessions go on to hold.
	key := c.As(ada.Secret)
	again, tree, hits := contents(t, key, ada.Workspace.ID)
	if !reflect.DeepEqual(again, bookmarks) || !reflect.DeepEqual(tree, folders) || hits != found {
		t.Errorf("restored: %d bookmarks, %d folders, %d found; they differ", len(again), len(tree), hits)
	}
	if _, err := c.Login(ctx, api.Login{Email: "ada@example.test", Password: servertest.Password}); err != nil {
		t.Errorf("sign in: %v", err)
	}
	if _, err := c.As(ada.Session.AccessToken).Me(ctx); err != nil {
		t.Errorf("the session is gone: %v", err)
	}
	// What is new gets numbers behind those that were restored.
	input := api.BookmarkInput{Title: api.Some("after"), Tags: api.Some([]string{"tag", "after"})}
	if _, err := key.CreateBookmark(ctx, client.InWorkspace(ada.Workspace.ID), input); err != nil {
		t.Errorf("write: %v", err)
	}
	if n, err := key.CountBookmarks(ctx, ada.Workspace.ID, api.BookmarkFilter{Tags: []string{"Tag"}}); err != nil || n != found+1 {
		t.Errorf("%d bookmarks carry the tag that all carry, %v", n, err)
	}

	// Replicas notice: the epoch is another, and its revs are ahead of all
	// that were given out.
	if _, err := key.Changes(ctx, ada.Workspace.ID, *before.Pagination.NextCursor, 1000, 0); api.CodeOf(err) != api.CodeResetRequired {
		t.Errorf("a cursor of the former epoch: %v", err)
	}
	after, err := key.Changes(ctx, ada.Workspace.ID, "", 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	if after.Head.Epoch == before.Head.Epoch || after.Head.Rev < before.Head.Rev+1<<31 {
		t.Errorf("the head was %+v and is %+v", before.Head, after.Head)
	}
}

// What was there is set aside, and comes back by another restore; a database
// of PostgreSQL is not overwritten.
func TestRestoreSetsAside(t *testing.T) {
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, config := t.Context(), store(t)
			dir := t.TempDir()
			s, err := server.New(ctx, complete(config))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(ctx); err != nil {
				t.Fatal(err)
			}
			addAccount := func(email string) {
				t.Helper()
				if err := openAdmin(t, config).AddAccount(ctx, api.Register{Email: email, Password: servertest.Password, NoticeVersion: "1"}); err != nil {
					t.Fatal(err)
				}
			}
			addAccount("first@example.test")
			backup := filepath.Join(dir, "first.db")
			if err := openAdmin(t, config).Backup(ctx, backup); err != nil {
				t.Fatal(err)
			}
			addAccount("second@example.test")
			aside, err := server.Restore(ctx, complete(config), backup)
			if config.DatabaseURL != "" {
				if err == nil || !strings.Contains(err.Error(), "not empty") {
					t.Errorf("a database that is not empty was overwritten: %v", err)
				}
				return
			}
			if err != nil || aside == "" {
				t.Fatalf("restore: %q, %v", aside, err)
			}
			if got := emails(t, config); got != "first@example.test" {
				t.Errorf("the restored database has %s", got)
			}
			if _, err := server.Restore(ctx, complete(server.Config{Dir: filepath.Join(dir, "elsewhere")}), aside); err != nil {
				t.Fatal(err)
			}
			if got := emails(t, server.Config{Dir: filepath.Join(dir, "elsewhere")}); got != "first@example.test second@example.test" {
				t.Errorf("what was set aside has %s", got)
			}
			if left, err := filepath.Glob(filepath.Join(config.Dir, "restore-*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func emails(t *testing.T, config server.Config) string {
	t.Helper()
	accounts, err := openAdmin(t, config).Accounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, a := range accounts {
		list = append(list, a.Email)
	}
	return strings.Join(list, " ")
}

// What is no backup, or a damaged one, takes nobody's place.
func TestRestoreRefuses(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	config := server.Config{Dir: filepath.Join(dir, "srv")}
	s, err := server.New(ctx, complete(config))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(dir, "good.db")
	a := openAdmin(t, config)
	if err := a.Backup(ctx, good); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	truncated := raw[:len(raw)/2]
	scribbled := append([]byte(nil), raw...)
	for i := len(scribbled) / 2; i < len(scribbled)/2+8192; i++ {
		scribbled[i] ^= 0x5a
	}
	for name, bytes := range map[string][]byte{
		"text": []byte("bookmarks\n"), "empty": nil, "truncated": truncated, "scribbled": scribbled, "another program's": foreignDatabase(t),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Restore(ctx, complete(config), path); err == nil {
			t.Errorf("%s was restored", name)
		}
	}
	if _, err := server.Restore(ctx, complete(config), filepath.Join(dir, "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(config.Dir, sqldb.FileName+".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("what refuses sets nothing aside: %v, %v", left, err)
	}
}

// foreignDatabase is a whole SQLite file that no server made, as a browser keeps
// its bookmarks in.
func foreignDatabase(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	db, err := sqldb.Open(t.Context(), sqldb.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), `CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, title TEXT)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "foreign.db")
	if err := db.CopyTo(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Neither a server nor a migration runs beside a restore, and the other way
// round.
func TestAloneOrNot(t *testing.T) {
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := store(t)
			ctx, stop := context.WithCancel(t.Context())
			ready, ended := make(chan string, 1), make(chan error, 1)
			go func() {
				ended <- server.Run(ctx, complete(config), server.Listen{Addr: "127.0.0.1:0"}, func(addr string) { ready <- addr })
			}()
			select {
			case <-ready:
			case err := <-ended:
				t.Fatal(err)
			}
			elsewhere := config
			if config.DatabaseURL != "" {
				// Another folder, the same rows: their lock is the database's.
				elsewhere.Dir = t.TempDir()
			}
			want := map[bool]error{true: sqldb.ErrServing, false: server.ErrHeld}[config.DatabaseURL != ""]
			if _, err := server.Migrate(ctx, complete(elsewhere)); !errors.Is(err, want) {
				t.Errorf("migrate beside a server: %v", err)
			}
			if _, err := server.Restore(ctx, complete(elsewhere), os.DevNull); !errors.Is(err, want) {
				t.Errorf("restore beside a server: %v", err)
			}
			if config.DatabaseURL != "" {
				beside, leave := context.WithCancel(ctx)
				err := server.Run(beside, complete(elsewhere), server.Listen{Addr: "127.0.0.1:0"}, func(string) { leave() })
				if err != nil {
					t.Errorf("a second server on PostgreSQL: %v", err)
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if _, err := server.Migrate(t.Context(), complete(elsewhere)); err != nil {
				t.Errorf("migrate after the server has gone: %v", err)
			}
		})
	}
}
