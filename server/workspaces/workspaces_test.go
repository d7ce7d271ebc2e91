package workspaces_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// each runs a test on every database, with a clock of its own.
func each(t *testing.T, test func(t *testing.T, s *servertest.Server, c *clock)) {
	t.Helper()
	run := func(name string, config func(t *testing.T) server.Config) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
			given := config(t)
			given.Now = c.now
			test(t, servertest.Start(t, given), c)
		})
	}
	run("sqlite", func(t *testing.T) server.Config { return server.Config{Dir: t.TempDir()} })
	run("postgres", func(t *testing.T) server.Config { return server.Config{DatabaseURL: sqldbtest.Postgres(t)} })
}

// refused checks that an error is the server's, with a code.
func refused(t *testing.T, err error, code api.Code) {
	t.Helper()
	if !errors.Is(err, &api.Error{Code: code}) {
		t.Errorf("got %v, want %s", err, code)
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func names(list []api.Workspace) string {
	var all []string
	for _, w := range list {
		name := w.Name
		if w.IsDefault {
			name += "*"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func TestWorkspaces(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server, c *clock) {
		ctx := t.Context()
		ada := servertest.Join(t, s, "ada")
		one := must[api.Workspace](t)
		if w := ada.Workspace; w.Name != "Bookmarks" || !w.IsDefault || w.HubLinkCheckSchedule != api.CheckOnDemand || w.TenantID != ada.Session.Account.TenantID || !w.CreatedAt.Equal(c.now()) {
			t.Errorf("the first workspace is %+v", w)
		}
		c.advance(time.Second)
		made := one(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "  Reading\tlist "}))
		if made.Name != "Reading list" || made.Slug != "reading-list" || made.IsDefault {
			t.Errorf("made %+v", made)
		}
		c.advance(time.Second)
		same := one(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "Reading list"}))
		if same.Slug != "reading-list-2" {
			t.Errorf("a generated slug that is taken became %q", same.Slug)
		}
		if w := one(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "読書"})); w.Slug != "workspace" || w.Name != "読書" {
			t.Errorf("a name without letters of Latin: %+v", w)
		}
		_, err := ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "x", Slug: api.Some("reading-list")})
		refused(t, err, api.CodeConflict)
		for _, bad := range []api.WorkspaceCreate{
			{Name: ""}, {Name: " \t "}, {Name: strings.Repeat("x", 257)}, {Name: "x", Slug: api.Some("Not a slug")}, {Name: "x", Slug: api.Some("-x")},
		} {
			_, err := ada.JWT.CreateWorkspace(ctx, bad)
			refused(t, err, api.CodeValidation)
		}
		one(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: strings.Repeat("ü", 256)}))

		renamed := one(ada.JWT.RenameWorkspace(ctx, made.ID, "Later"))
		if renamed.Name != "Later" || renamed.Slug != made.Slug {
			t.Errorf("renamed to %+v", renamed)
		}
		_, err = ada.JWT.RenameWorkspace(ctx, made.ID, " ")
		refused(t, err, api.CodeValidation)

		for given, want := range map[api.Optional[api.LinkCheckSchedule]]api.LinkCheckSchedule{
			api.Some(api.CheckDaily): api.CheckDaily, api.Some(api.CheckWeekly): api.CheckWeekly, api.Clear[api.LinkCheckSchedule](): api.CheckOnDemand,
			api.Some(api.LinkCheckSchedule("")): api.CheckOnDemand,
		} {
			if w := one(ada.JWT.SetHubSettings(ctx, made.ID, api.HubSettings{HubLinkCheckSchedule: given})); w.HubLinkCheckSchedule != want {
				t.Errorf("%+v made it %s", given, w.HubLinkCheckSchedule)
			}
		}
		one(ada.JWT.SetHubSettings(ctx, made.ID, api.HubSettings{HubLinkCheckSchedule: api.Some(api.CheckDaily)}))
		if w := one(ada.JWT.SetHubSettings(ctx, made.ID, api.HubSettings{})); w.HubLinkCheckSchedule != api.CheckDaily {
			t.Errorf("nothing given made it %s", w.HubLinkCheckSchedule)
		}
		_, err = ada.JWT.SetHubSettings(ctx, made.ID, api.HubSettings{HubLinkCheckSchedule: api.Some(api.LinkCheckSchedule("hourly"))})
		refused(t, err, api.CodeValidation)
	})
}

func TestTrashOfWorkspaces(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server, c *clock) {
		ctx := t.Context()
		ada := servertest.Join(t, s, "ada")
		one, many := must[api.Workspace](t), must[[]api.Workspace](t)
		first := ada.Workspace
		refused(t, ada.JWT.DeleteWorkspace(ctx, first.ID), api.CodeConflict) // the last one
		c.advance(time.Second)
		one(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "Second"}))
		c.advance(time.Second)
		one(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "Third"}))
		if got := names(many(ada.JWT.ListWorkspaces(ctx))); got != "Third Second Bookmarks*" {
			t.Errorf("workspaces: %s", got)
		}

		// The oldest other one becomes the default.
		if err := ada.JWT.DeleteWorkspace(ctx, first.ID); err != nil {
			t.Fatal(err)
		}
		if got := names(many(ada.JWT.ListWorkspaces(ctx))); got != "Third Second*" {
			t.Errorf("workspaces after the default was deleted: %s", got)
		}
		for what, err := range map[string]error{
			"get":    func() error { _, err := ada.JWT.GetWorkspace(ctx, first.ID); return err }(),
			"rename": func() error { _, err := ada.JWT.RenameWorkspace(ctx, first.ID, "x"); return err }(),
			"delete": ada.JWT.DeleteWorkspace(ctx, first.ID),
		} {
			if !errors.Is(err, &api.Error{Code: api.CodeGone}) {
				t.Errorf("%s of a deleted workspace: %v", what, err)
			}
		}

		// Its slug is free; restored, it takes another.
		one(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "New", Slug: api.Some(first.Slug)}))
		c.advance(29*24*time.Hour + time.Minute)
		ada.JWT = ada.Key // the token has ended meanwhile
		deleted := must[[]api.DeletedWorkspaceSummary](t)(ada.JWT.ListDeletedWorkspaces(ctx))
		if len(deleted) != 1 || deleted[0].ID != first.ID || deleted[0].Slug != first.Slug || deleted[0].DaysUntilPermanentDeletion != 1 {
			t.Errorf("deleted %+v", deleted)
		}
		back := one(ada.JWT.RestoreWorkspace(ctx, first.ID))
		if back.Slug == first.Slug || !strings.HasPrefix(back.Slug, first.Slug) || back.IsDefault || back.Name != first.Name || !back.CreatedAt.Equal(first.CreatedAt.Time) {
			t.Errorf("restored as %+v", back)
		}
		_, err := ada.JWT.RestoreWorkspace(ctx, first.ID)
		refused(t, err, api.CodeConflict)
		if deleted, err := ada.JWT.ListDeletedWorkspaces(ctx); err != nil || len(deleted) != 0 {
			t.Errorf("deleted %+v, %v", deleted, err)
		}
		if got := names(many(ada.JWT.ListWorkspaces(ctx))); !strings.Contains(got, "Second*") {
			t.Errorf("the default moved: %s", got)
		}

		// Deleted ones come in the order of every list, the newest first, whenever
		// they were deleted.
		byName := map[string]string{}
		for _, w := range many(ada.JWT.ListWorkspaces(ctx)) {
			byName[w.Name] = w.ID
		}
		for _, name := range []string{"Second", "New", "Third"} {
			c.advance(time.Second)
			if err := ada.JWT.DeleteWorkspace(ctx, byName[name]); err != nil {
				t.Fatal(err)
			}
		}
		var order []string
		for _, w := range must[[]api.DeletedWorkspaceSummary](t)(ada.JWT.ListDeletedWorkspaces(ctx)) {
			order = append(order, w.Name)
		}
		if got := strings.Join(order, " "); got != "New Third Second" {
			t.Errorf("deleted ones come as %s", got)
		}
	})
}

// Of many that delete all workspaces at the same moment one is refused.
func TestLastWorkspaceStays(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server, _ *clock) {
		ctx := t.Context()
		for round := range 6 {
			ada := servertest.Join(t, s, fmt.Sprint("ada", round))
			ids := []string{ada.Workspace.ID}
			for range 5 {
				ids = append(ids, must[api.Workspace](t)(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "More"})).ID)
			}
			errs := make(chan error, len(ids))
			for _, id := range ids {
				go func() { errs <- ada.JWT.DeleteWorkspace(ctx, id) }()
			}
			done := 0
			for range ids {
				if err := <-errs; err == nil {
					done++
				} else {
					refused(t, err, api.CodeConflict)
				}
			}
			left := must[[]api.Workspace](t)(ada.JWT.ListWorkspaces(ctx))
			if done != len(ids)-1 || len(left) != 1 || !left[0].IsDefault {
				t.Fatalf("%d were deleted, %d are left: %+v", done, len(left), left)
			}
		}
	})
}

// Many who make workspaces of one name at the same moment all get one.
func TestSlugsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server, _ *clock) {
		ada := servertest.Join(t, s, "ada")
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if _, err := ada.JWT.CreateWorkspace(t.Context(), api.WorkspaceCreate{Name: "Same"}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		var slugs []string
		for _, w := range must[[]api.Workspace](t)(ada.JWT.ListWorkspaces(t.Context())) {
			slugs = append(slugs, w.Slug)
		}
		slices.Sort(slugs)
		if len(slices.Compact(slugs)) != 9 {
			t.Errorf("slugs %v", slugs)
		}
	})
}
