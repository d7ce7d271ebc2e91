package mirror

import (
	"context"
	"slices"
	"time"

	"bm/daemon"
	"bm/server/api"
	"bm/server/api/client"
	"bm/syncer"
)

// remote is the server as one round of the syncer needs it, called with the key
// that holds.
type remote struct {
	*Profile
	// onward is the cursor behind a page that was not the last.
	onward string
}

// bulkOps is from how many ops on a request is bulk work.
const bulkOps = 100

func (r *remote) Changes(ctx context.Context, workspaceID, cursor string, limit int, wait time.Duration) (page api.ChangesPage, err error) {
	if err := r.take(ctx, r.onward != "" && r.onward == cursor); err != nil {
		return page, err
	}
	defer func() {
		if r.onward = ""; page.Pagination.HasMore && page.Pagination.NextCursor != nil {
			r.onward = *page.Pagination.NextCursor
		}
	}()
	err = r.call(ctx, func(c *client.Client) (err error) {
		page, err = c.Changes(ctx, workspaceID, cursor, limit, wait)
		return err
	})
	if api.CodeOf(err) == api.CodeNotFound && r.lists(ctx, workspaceID) {
		// A server without the feed, or one that lost it in an upgrade: the
		// workspace is there, and nothing of it must freeze.
		err = api.Errorf(api.CodeUnavailable, "the server has this workspace, and no feed of its changes")
	}
	return page, err
}

// take has a request wait for its turn within what the server allows.
func (r *remote) take(ctx context.Context, bulk bool) error {
	r.mu.Lock()
	limit := r.caller.Limit()
	r.mu.Unlock()
	return r.budget.take(ctx, limit, bulk)
}

// lists reports whether the server says that there is the workspace.
func (r *remote) lists(ctx context.Context, workspaceID string) bool {
	var workspaces []api.Workspace
	err := r.call(ctx, func(c *client.Client) (err error) {
		workspaces, err = c.ListWorkspaces(ctx)
		return err
	})
	return err == nil && slices.ContainsFunc(workspaces, func(w api.Workspace) bool { return w.ID == workspaceID })
}

func (r *remote) Push(ctx context.Context, workspaceID string, push api.PushRequest) func() (api.PushResponse, error) {
	var response api.PushResponse
	answered := make(chan error, 1)
	go func() {
		if err := r.take(ctx, len(push.Ops) >= bulkOps); err != nil {
			answered <- err
			return
		}
		answered <- r.call(ctx, func(c *client.Client) (err error) {
			response, err = c.Push(ctx, workspaceID, push)
			return err
		})
	}()
	return func() (api.PushResponse, error) {
		err := <-answered
		return response, err
	}
}

// bulk is how many changes make a round bulk work, whose log and caches are
// not left to the next small edit.
const bulk = 5000

// Round runs one round on a workspace.
func (p *Profile) Round(ctx context.Context, workspaceID string) (daemon.Result, error) {
	if err := p.replaced(); err != nil {
		return daemon.Result{}, err
	}
	replica, err := p.replica(ctx, workspaceID)
	if err != nil {
		return daemon.Result{}, err
	}
	rounds := syncer.New(syncer.Config{Store: p.store, Remote: &remote{Profile: p}, IDs: p.app.IDs})
	report, err := rounds.Round(ctx, replica.N)
	result := daemon.Result{Pulled: report.Pulled, Pushed: report.Pushed}
	if report.Compared != nil && report.Compared.Defect {
		result.Note = replica.Name + ": " + report.Compared.String()
	}
	if err == nil && report.Pulled+report.Pushed >= bulk {
		err = p.tidy(ctx)
	}
	return result, err
}

// tidy leaves neither the log nor unmerged parts of the index to the next
// small edit, nor caches to a daemon that goes on idling.
func (p *Profile) tidy(ctx context.Context) error {
	if err := p.store.FinishBulk(ctx); err != nil {
		return err
	}
	if p.app.LowMemory {
		return p.store.ReleaseMemory(ctx)
	}
	return nil
}
