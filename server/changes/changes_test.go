package changes_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
	"bm/server/tree"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func refused(t *testing.T, err error, code api.Code, about string) {
	t.Helper()
	if api.CodeOf(err) != code || !strings.Contains(err.Error(), about) {
		t.Errorf("got %v, want %s about %q", err, code, about)
	}
}

// yard is a workspace with one who works in it, and the database below.
type yard struct {
	t      *testing.T
	server *servertest.Server
	config server.Config
	ids    *api.IDs
	*servertest.Person
}

func each(t *testing.T, test func(t *testing.T, y *yard)) {
	t.Helper()
	run := func(t *testing.T, config server.Config) {
		s := servertest.Start(t, config)
		test(t, &yard{t, s, config, api.NewIDs(time.Now, rand.Reader), servertest.Join(t, s, "ada")})
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, server.Config{Dir: t.TempDir()})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, server.Config{DatabaseURL: sqldbtest.Postgres(t)})
	})
}

func (y *yard) folder(name, parent string) api.Folder {
	y.t.Helper()
	return must[api.Folder](y.t)(y.Key.CreateFolder(y.t.Context(), y.Workspace.ID, api.FolderInput{Name: api.Some(name), ParentID: api.Some(parent)}))
}

func (y *yard) bookmark(title, folderID string) api.Bookmark {
	y.t.Helper()
	in := api.BookmarkInput{Title: api.Some(title), FolderID: api.Some(folderID)}
	return must[api.Bookmark](y.t)(y.Key.CreateBookmark(y.t.Context(), client.InWorkspace(y.Workspace.ID), in))
}

// pull reads pages from a cursor to the end.
func (y *yard) pull(cursor string, limit int) (all []api.Change, last api.ChangesPage) {
	y.t.Helper()
	for {
		page := must[api.ChangesPage](y.t)(y.Key.Changes(y.t.Context(), y.Workspace.ID, cursor, limit, 0))
		all = append(all, page.Data...)
		cursor = *page.Pagination.NextCursor
		if !page.Pagination.HasMore {
			return all, page
		}
	}
}

func (y *yard) push(from api.ChangesPage, ops ...api.Op) ([]api.OpResult, api.Head) {
	y.t.Helper()
	for i := range ops {
		if ops[i].OpID == "" {
			ops[i].OpID = y.ids.New()
		}
	}
	in := api.PushRequest{Ops: ops}
	if from.Pagination.NextCursor != nil {
		in.Epoch, in.Cursor = from.Head.Epoch, *from.Pagination.NextCursor
	}
	out := must[api.PushResponse](y.t)(y.Key.Push(y.t.Context(), y.Workspace.ID, in))
	if len(out.Results) != len(ops) {
		y.t.Fatalf("%d verdicts on %d ops", len(out.Results), len(ops))
	}
	return out.Results, out.Head
}

func (y *yard) one(from api.ChangesPage, op api.Op) api.OpResult {
	y.t.Helper()
	results, _ := y.push(from, op)
	return results[0]
}

func set(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// checkDigest holds the head to what is really there.
func (y *yard) checkDigest() api.ChangesPage {
	y.t.Helper()
	all, last := y.pull("", 7)
	var digest api.Digest
	for _, change := range all {
		digest = digest.Add(change.ID, change.Rev)
	}
	if last.Head.Digest != digest.String() || last.Head.Count != int64(len(all)) {
		y.t.Errorf("the head says %d rows with digest %s; there are %d with %s", last.Head.Count, last.Head.Digest, len(all), digest)
	}
	return last
}

func TestABootstrapAndWhatFollows(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		dev := y.folder("Dev", "")
		for i := range 10 {
			y.bookmark(fmt.Sprint(i), dev.ID)
		}
		gone := y.bookmark("gone", "")
		if err := y.Key.DeleteBookmark(t.Context(), client.InWorkspace(y.Workspace.ID), gone.ID); err != nil {
			t.Fatal(err)
		}
		all, last := y.pull("", 3)
		if len(all) != 11 || last.Pagination.HasMore || last.Head.Count != 11 || last.Head.Rev != 13 {
			t.Errorf("a bootstrap brings %d rows, head %+v", len(all), last.Head)
		}
		for i, change := range all {
			if change.Deleted || i > 0 && change.Rev <= all[i-1].Rev || (change.Folder == nil) == (change.Bookmark == nil) {
				t.Errorf("row %d is %+v", i, change)
			}
		}
		if all[0].Folder == nil || all[0].Folder.Name != "Dev" || all[1].Bookmark.FolderID != dev.ID {
			t.Errorf("begins with %+v", all[:2])
		}

		renamed := must[api.Folder](t)(y.Key.UpdateFolder(t.Context(), y.Workspace.ID, dev.ID, api.FolderInput{Name: api.Some("Development")}))
		late := y.bookmark("late", "")
		if err := y.Key.DeleteBookmark(t.Context(), client.InWorkspace(y.Workspace.ID), late.ID); err != nil {
			t.Fatal(err)
		}
		more, end := y.pull(*last.Pagination.NextCursor, 1)
		if len(more) != 2 || more[0].Folder == nil || more[0].Folder.Name != renamed.Name || !more[1].Deleted || more[1].ID != late.ID || more[1].Bookmark != nil {
			t.Errorf("then come %+v", more)
		}
		if again, _ := y.pull(*end.Pagination.NextCursor, 0); len(again) != 0 {
			t.Errorf("and then %+v", again)
		}
		y.checkDigest()
	})
}

// What changes while pages are read comes behind the bootstrap: nothing is
// missed, and the cursor that it ends with is the head at its start.
func TestABootstrapBesideEdits(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		var rows []api.Bookmark
		for i := range 6 {
			rows = append(rows, y.bookmark(fmt.Sprint(i), ""))
		}
		ctx, place := t.Context(), client.InWorkspace(y.Workspace.ID)
		first := must[api.ChangesPage](t)(y.Key.Changes(ctx, y.Workspace.ID, "", 2, 0))
		must[api.Bookmark](t)(y.Key.UpdateBookmark(ctx, place, rows[3].ID, api.BookmarkInput{Title: api.Some("changed")}))
		if err := y.Key.DeleteBookmark(ctx, place, rows[0].ID); err != nil {
			t.Fatal(err)
		}
		y.bookmark("new", "")
		rest, last := y.pull(*first.Pagination.NextCursor, 2)
		if titles := titlesOf(append(first.Data, rest...)); titles != "0 1 2 4 5" {
			t.Errorf("the bootstrap brought %q", titles)
		}
		after, _ := y.pull(*last.Pagination.NextCursor, 2)
		if titles := titlesOf(after); titles != "changed -"+rows[0].ID+" new" {
			t.Errorf("then %q", titles)
		}
	})
}

func titlesOf(changes []api.Change) string {
	var names []string
	for _, c := range changes {
		switch {
		case c.Deleted:
			names = append(names, "-"+c.ID)
		case c.Folder != nil:
			names = append(names, c.Folder.Name+"/")
		default:
			names = append(names, c.Bookmark.Title)
		}
	}
	return strings.Join(names, " ")
}

func TestAPageHoldsFourMegabytes(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		for range 20 {
			in := api.BookmarkInput{Title: api.Some("x"), Description: api.Some(strings.Repeat("ł", api.MaxDescription)), ReaderExcerpt: api.Some(strings.Repeat("ł", api.MaxReaderExcerpt))}
			must[api.Bookmark](t)(y.Key.CreateBookmark(t.Context(), client.InWorkspace(y.Workspace.ID), in))
		}
		page := must[api.ChangesPage](t)(y.Key.Changes(t.Context(), y.Workspace.ID, "", 0, 0))
		if len(page.Data) != 15 || !page.Pagination.HasMore {
			t.Errorf("a page holds %d rows of 262 kB", len(page.Data))
		}
		if all, _ := y.pull("", 0); len(all) != 20 {
			t.Errorf("all pages hold %d rows", len(all))
		}
	})
}

func TestCursorsThatCannotGoOn(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		ctx := t.Context()
		eve := servertest.Join(t, y.server, "eve")
		b := y.bookmark("x", "")
		_, last := y.pull("", 0)
		cursor := *last.Pagination.NextCursor
		for _, bad := range []string{"x", cursor + "x", cursor[1:], "A" + cursor, cursor + "\n", strings.Repeat("x", 5000)} {
			_, err := y.Key.Changes(ctx, y.Workspace.ID, bad, 0, 0)
			refused(t, err, api.CodeValidation, "query.cursor")
		}
		_, err := eve.Key.Changes(ctx, eve.Workspace.ID, cursor, 0, 0)
		refused(t, err, api.CodeValidation, "query.cursor")
		_, err = eve.Key.Changes(ctx, y.Workspace.ID, "", 0, 0)
		refused(t, err, api.CodeNotFound, "no such workspace")
		_, err = y.Key.Push(ctx, y.Workspace.ID, api.PushRequest{Cursor: "x", Ops: []api.Op{{OpID: y.ids.New(), Action: api.OpDelete, Type: api.TypeBookmark, ID: b.ID}}})
		refused(t, err, api.CodeValidation, "body.cursor")

		db := sqldbtest.Open(t, sqldb.Config{Dir: y.config.Dir, URL: y.config.DatabaseURL})
		exec := func(text string) {
			t.Helper()
			err := db.Write(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, text)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		reset := func(why string) *api.Error {
			t.Helper()
			_, err := y.Key.Changes(ctx, y.Workspace.ID, cursor, 0, 0)
			refused(t, err, api.CodeResetRequired, why)
			_, pushErr := y.Key.Push(ctx, y.Workspace.ID, api.PushRequest{
				Epoch: last.Head.Epoch, Cursor: cursor, Ops: []api.Op{{OpID: y.ids.New(), Action: api.OpDelete, Type: api.TypeBookmark, ID: b.ID, BaseRev: 1}},
			})
			refused(t, pushErr, api.CodeResetRequired, why)
			failure, _ := err.(*api.Error) //nolint:errorlint // the client's own
			return failure
		}
		exec(`UPDATE workspace_head SET purged_rev = 1000, rev = 2000`)
		_ = reset("no longer known")
		exec(`UPDATE workspace_head SET purged_rev = 0, rev = 0`)
		_ = reset("ahead")
		exec(`UPDATE workspace_head SET rev = 7`)
		ids := api.NewIDs(time.Now, rand.Reader)
		for i, want := range []int64{7, 7} {
			if i == 1 { // a second restore keeps what the epochs share
				exec(`UPDATE workspace_head SET rev = rev + 5`)
			}
			if err := db.Write(ctx, func(tx *sqldb.Tx) error { return tree.MintEpochs(ctx, tx, ids.New) }); err != nil {
				t.Fatal(err)
			}
			failure := reset("restored")
			if failure == nil || !slices.Equal(failure.Details, []api.FieldError{{Field: "sharedRev", Message: strconv.FormatInt(want, 10)}}) {
				t.Errorf("after %d restores: %+v", i+1, failure)
			}
		}
		if _, last := y.pull("", 0); last.Head.SharedRev != 7 || last.Head.Rev < 7+5+2<<32 {
			t.Errorf("the head is %+v", last.Head)
		}
	})
}

func TestWaiting(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		ctx := t.Context()
		y.bookmark("first", "")
		other := must[api.Workspace](t)(y.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "other"}))
		_, last := y.pull("", 0)
		type answer struct {
			page api.ChangesPage
			err  error
		}
		wait := func(c *client.Client) <-chan answer {
			got := make(chan answer, 1)
			go func() {
				page, err := c.Changes(ctx, y.Workspace.ID, *last.Pagination.NextCursor, 0, 20*time.Second)
				got <- answer{page, err}
			}()
			return got
		}
		held := wait(y.Key)
		must[api.Bookmark](t)(y.Key.CreateBookmark(ctx, client.InWorkspace(other.ID), api.BookmarkInput{Title: api.Some("elsewhere")}))
		select {
		case got := <-held:
			t.Fatalf("did not wait: %+v %v", got.page, got.err)
		case <-time.After(300 * time.Millisecond): // a change elsewhere would have come by now
		}
		started := time.Now()
		y.bookmark("second", "")
		if got := <-held; got.err != nil || titlesOf(got.page.Data) != "second" {
			t.Errorf("waited for %+v, %v", got.page.Data, got.err)
		}
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("heard of it after %s", took)
		}

		// Access that ends ends the wait with it, at the next change at the
		// latest.
		_, last = y.pull("", 0)
		key := must[api.APIKeySecret](t)(y.JWT.CreateAPIKey(ctx, api.APIKeyCreate{NoticeVersion: "1"}))
		held = wait(y.Key.As(key.APIKey))
		for y.server.Waiting() == 0 {
			time.Sleep(time.Millisecond)
		}
		if err := y.JWT.RevokeAPIKey(ctx, key.Metadata.ID); err != nil {
			t.Fatal(err)
		}
		y.bookmark("third", "")
		refused(t, (<-held).err, api.CodeUnauthorized, "")

		held = wait(y.Key.As(must[api.APIKeySecret](t)(y.JWT.CreateAPIKey(ctx, api.APIKeyCreate{NoticeVersion: "1"})).APIKey))
		if got := <-held; got.err != nil || titlesOf(got.page.Data) != "third" {
			t.Errorf("what is there already is answered at once: %+v %v", got.page.Data, got.err)
		}
	})
}

// A right that ends while a request is held ends the request: the credential
// itself is as good as before.
func TestARightEndsMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		ctx := t.Context()
		db := sqldbtest.Open(t, sqldb.Config{Dir: y.config.Dir, URL: y.config.DatabaseURL})
		write := func(text string, args ...any) {
			t.Helper()
			err := db.Write(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, text, args...)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		bob := servertest.Join(t, y.server, "bob")
		tenant, account := y.Session.Account.TenantID, bob.Session.Account.AccountID
		write(`INSERT INTO membership (tenant_id, account_id, role, is_owner, created_at) VALUES ($1, $2, 'support', FALSE, 1)`, tenant, account)
		guest := must[api.Session](t)(bob.JWT.SwitchOrganization(ctx, api.SwitchOrganization{TenantID: tenant}))
		c := bob.JWT.As(guest.AccessToken)
		_, last := y.pull("", 0)
		held := make(chan error, 1)
		go func() {
			_, err := c.Changes(ctx, y.Workspace.ID, *last.Pagination.NextCursor, 0, 20*time.Second)
			held <- err
		}()
		for y.server.Waiting() == 0 {
			time.Sleep(time.Millisecond)
		}
		write(`UPDATE membership SET role = 'member' WHERE tenant_id = $1 AND account_id = $2`, tenant, account)
		y.bookmark("not for bob", "")
		refused(t, <-held, api.CodeNotFound, "")
		must[[]string](t)(c.MyPermissions(ctx)) // he is a member still
	})
}

func TestEvents(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		eve := servertest.Join(t, y.server, "eve")
		stream := must[*client.EventStream](t)(y.Key.Events(t.Context()))
		defer func() { _ = stream.Close() }()
		must[api.Bookmark](t)(eve.Key.CreateBookmark(t.Context(), client.InWorkspace(eve.Workspace.ID), api.BookmarkInput{Title: api.Some("hers")}))
		y.bookmark("x", "")
		if event := must[api.Event](t)(stream.Next()); event.WorkspaceID != y.Workspace.ID || event.Rev != 1 {
			t.Errorf("the first event is %+v", event)
		}
		y.bookmark("y", "")
		if event := must[api.Event](t)(stream.Next()); event.WorkspaceID != y.Workspace.ID || event.Rev != 2 {
			t.Errorf("the second event is %+v", event)
		}

		// A stream ends with its credential, and not at the next change only.
		ended := func(c *client.Client, end func() error) {
			t.Helper()
			theirs := must[*client.EventStream](t)(c.Events(t.Context()))
			defer func() { _ = theirs.Close() }()
			began := time.Now()
			if err := end(); err != nil {
				t.Fatal(err)
			}
			if event, err := theirs.Next(); err == nil {
				t.Errorf("an ended credential hears %+v", event)
			}
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("the stream ended after %s", took)
			}
		}
		for _, end := range []func(id string) error{
			func(id string) error { return y.JWT.RevokeAPIKey(t.Context(), id) },
			func(id string) error { _, err := y.JWT.RotateAPIKey(t.Context(), id); return err },
		} {
			key := must[api.APIKeySecret](t)(y.JWT.CreateAPIKey(t.Context(), api.APIKeyCreate{NoticeVersion: "1"}))
			ended(y.Key.As(key.APIKey), func() error { return end(key.Metadata.ID) })
		}
		session := must[api.Session](t)(y.JWT.Login(t.Context(), api.Login{Email: "ada@example.test", Password: servertest.Password}))
		ended(y.JWT.As(session.AccessToken), func() error { return y.JWT.As(session.AccessToken).Logout(t.Context(), api.Logout{}) })

		key := must[api.APIKeySecret](t)(y.JWT.CreateAPIKey(t.Context(), api.APIKeyCreate{NoticeVersion: "1"}))
		theirs := must[*client.EventStream](t)(y.Key.As(key.APIKey).Events(t.Context()))
		defer func() { _ = theirs.Close() }()
		if err := y.JWT.RevokeAPIKey(t.Context(), key.Metadata.ID); err != nil {
			t.Fatal(err)
		}
		y.bookmark("secret", "")
		if event, err := theirs.Next(); err == nil {
			t.Errorf("a revoked key hears %+v", event)
		}
		_ = must[api.Event](t)(stream.Next())
		y.server.EndStreams()
		if event, err := stream.Next(); err == nil {
			t.Errorf("a server that stops says %+v", event)
		}
	})
}

// A key of one workspace hears nothing of the others of its organization.
func TestEventsOfOneWorkspace(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		other := must[api.Workspace](t)(y.JWT.CreateWorkspace(t.Context(), api.WorkspaceCreate{Name: "other"}))
		narrow := must[api.APIKeySecret](t)(y.JWT.CreateAPIKey(t.Context(), api.APIKeyCreate{NoticeVersion: "1", WorkspaceID: api.Some(y.Workspace.ID)}))
		listen := func(c *client.Client) *client.EventStream {
			stream := must[*client.EventStream](t)(c.Events(t.Context()))
			t.Cleanup(func() { _ = stream.Close() })
			return stream
		}
		all, one := listen(y.Key), listen(y.Key.As(narrow.APIKey))
		must[api.Bookmark](t)(y.Key.CreateBookmark(t.Context(), client.InWorkspace(other.ID), api.BookmarkInput{Title: api.Some("elsewhere")}))
		if event := must[api.Event](t)(all.Next()); event.WorkspaceID != other.ID {
			t.Errorf("the organization's key hears %+v", event)
		}
		y.bookmark("here", "")
		if event := must[api.Event](t)(one.Next()); event.WorkspaceID != y.Workspace.ID {
			t.Errorf("a key of one workspace hears %+v", event)
		}
	})
}

// Two servers on one PostgreSQL hear of each other's changes.
func TestEventsOfAnotherServer(t *testing.T) {
	url := sqldbtest.Postgres(t)
	one, two := servertest.Start(t, server.Config{DatabaseURL: url}), servertest.Start(t, server.Config{DatabaseURL: url})
	ada := servertest.Join(t, one, "ada")
	there := must[*client.Client](t)(client.New(client.Options{Server: two.URL, Version: "test", Token: ada.Secret}))
	stream := must[*client.EventStream](t)(there.Events(t.Context()))
	defer func() { _ = stream.Close() }()
	must[api.Bookmark](t)(ada.Key.CreateBookmark(t.Context(), client.InWorkspace(ada.Workspace.ID), api.BookmarkInput{Title: api.Some("x")}))
	if event := must[api.Event](t)(stream.Next()); event.WorkspaceID != ada.Workspace.ID || event.Rev != 1 {
		t.Errorf("heard %+v", event)
	}
	keys := must[[]api.APIKeyMetadata](t)(ada.JWT.ListAPIKeys(t.Context()))
	began := time.Now()
	if err := ada.JWT.RevokeAPIKey(t.Context(), keys[0].ID); err != nil {
		t.Fatal(err)
	}
	if event, err := stream.Next(); err == nil || time.Since(began) > 8*time.Second {
		t.Errorf("a key that was revoked at the one hears %+v at the other, after %s", event, time.Since(began))
	}
}

// An account that is locked beside the servers is heard no more, its keys' streams
// too, whether or not it was signed in.
func TestEventsOfALockedAccount(t *testing.T) {
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t)}
	s := servertest.Start(t, config)
	ada := servertest.Join(t, s, "ada")
	if err := ada.JWT.Logout(t.Context(), api.Logout{}); err != nil {
		t.Fatal(err)
	}
	stream := must[*client.EventStream](t)(ada.Key.Events(t.Context()))
	defer func() { _ = stream.Close() }()
	config.Now, config.Logger = time.Now, slog.New(slog.DiscardHandler)
	admin := must[*server.Admin](t)(server.OpenAdmin(t.Context(), config))
	defer func() { _ = admin.Close(t.Context()) }()
	began := time.Now()
	if err := admin.SetLocked(t.Context(), "ada@example.test", true); err != nil {
		t.Fatal(err)
	}
	if event, err := stream.Next(); err == nil || time.Since(began) > 8*time.Second {
		t.Errorf("the key of a locked account hears %+v, after %s", event, time.Since(began))
	}
}
