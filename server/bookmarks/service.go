package bookmarks

import (
	"context"
	"errors"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/sqldb"
	"bm/server/tree"
)

// Workspaces is what this package needs of the workspaces' feature.
type Workspaces interface {
	// Get is the workspace that an export names.
	Get(ctx context.Context, scope access.Scope) (api.Workspace, error)
}

// Service changes bookmarks.
type Service struct {
	db         *sqldb.DB
	tree       *tree.Tree
	workspaces Workspaces
	now        func() time.Time
	newID      func() string
}

// New makes the service.
func New(db *sqldb.DB, t *tree.Tree, workspaces Workspaces, now func() time.Time, newID func() string) *Service {
	return &Service{db: db, tree: t, workspaces: workspaces, now: now, newID: newID}
}

// A check is asked about a row before it is changed, as to whether the caller
// knows its present state.
type check func(rev int64) error

// Get is one living bookmark.
func (s *Service) Get(ctx context.Context, scope access.Scope, id string) (tree.Bookmark, error) {
	return s.tree.Get(ctx, scope, id)
}

// Create saves a bookmark. The same id again, with the same content, is the
// bookmark that is there.
func (s *Service) Create(ctx context.Context, scope access.Scope, in api.BookmarkInput) (created tree.Bookmark, err error) {
	if err := api.InvalidBody(rules.CheckBookmark(&in)); err != nil {
		return created, err
	}
	rules.NormalizeBookmark(&in)
	err = s.tree.Write(ctx, scope, func(e *tree.Edit) error {
		created = e.NewBookmark(in.ID.Value)
		created.Apply(&in, false)
		if in.ID.Value != "" {
			there, err := e.Bookmark(ctx, in.ID.Value)
			if err == nil {
				return again(&created, there, &in)
			}
			if api.CodeOf(err) != api.CodeNotFound {
				return err
			}
		}
		if err := e.CheckParent(ctx, created.FolderID); err != nil {
			return tree.Refusal(err, "body.folderId")
		}
		err := e.InsertBookmark(ctx, &created)
		if errors.Is(err, tree.ErrTaken) {
			return taken()
		}
		return err
	})
	return created, api.Wrap("save the bookmark", err)
}

// again answers a create whose id is there already.
func again(created *tree.Bookmark, there tree.Bookmark, in *api.BookmarkInput) error {
	created.CreatedAt, created.LinkStatus, created.Archive = there.CreatedAt, there.LinkStatus, there.Archive
	if !in.SortOrder.Set || in.SortOrder.Null {
		created.SortOrder = there.SortOrder
	}
	if !there.Live() || !created.SameContent(&there) {
		return taken()
	}
	*created = there
	return nil
}

func taken() error { return api.Errorf(api.CodeConflict, "the id is taken by something else") }

// Update changes what in gives.
func (s *Service) Update(ctx context.Context, scope access.Scope, id string, in api.BookmarkInput, known check) (after tree.Bookmark, err error) {
	in.ID = api.Optional[string]{} // an id is for creates alone
	if err := api.InvalidBody(rules.CheckBookmark(&in)); err != nil {
		return after, err
	}
	rules.NormalizeBookmark(&in)
	err = s.tree.Write(ctx, scope, func(e *tree.Edit) error {
		before, err := living(ctx, e, id)
		if err != nil {
			return err
		}
		if err := known(before.Rev); err != nil {
			return err
		}
		after = before
		after.Apply(&in, false)
		if after.FolderID != before.FolderID {
			if err := e.CheckParent(ctx, after.FolderID); err != nil {
				return tree.Refusal(err, "body.folderId")
			}
			if !in.SortOrder.Set {
				if after.SortOrder, err = e.NextOrder(ctx, after.FolderID); err != nil {
					return err
				}
			}
		}
		if after.SameContent(&before) {
			return nil
		}
		return e.UpdateBookmark(ctx, &before, &after)
	})
	return after, api.Wrap("change the bookmark", err)
}

// Delete puts a bookmark into the trash; one that is there already goes for
// good.
func (s *Service) Delete(ctx context.Context, scope access.Scope, id string, known check) error {
	err := s.tree.Write(ctx, scope, func(e *tree.Edit) error {
		b, err := e.Bookmark(ctx, id)
		if err != nil {
			return err
		}
		if err := known(b.Rev); err != nil {
			return err
		}
		if !b.Live() {
			return e.PurgeBookmark(ctx, &b)
		}
		_, err = e.DeleteBookmarks(ctx, `b.id = $3`, id)
		return err
	})
	return api.Wrap("delete the bookmark", err)
}

// Restore takes a bookmark out of the trash. Where its folder is gone, it
// comes back in the nearest that lives.
func (s *Service) Restore(ctx context.Context, scope access.Scope, id string) (after tree.Bookmark, err error) {
	err = s.tree.Write(ctx, scope, func(e *tree.Edit) error {
		before, err := e.Bookmark(ctx, id)
		if err != nil {
			return err
		}
		if after = before; before.Live() {
			return nil
		}
		if after.FolderID, err = e.LivingAncestor(ctx, before.FolderID); err != nil {
			return err
		}
		return e.RestoreBookmark(ctx, &before, &after)
	})
	return after, api.Wrap("restore the bookmark", err)
}

func living(ctx context.Context, e *tree.Edit, id string) (tree.Bookmark, error) {
	b, err := e.Bookmark(ctx, id)
	if err == nil && !b.Live() {
		err = api.Errorf(api.CodeNotFound, "no such bookmark")
	}
	return b, err
}
