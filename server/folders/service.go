package folders

import (
	"context"
	"errors"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/tree"
)

// Service changes folders.
type Service struct{ tree *tree.Tree }

// New makes the service.
func New(t *tree.Tree) *Service { return &Service{tree: t} }

// A check is asked about a row before it is changed, as to whether the caller
// knows its present state.
type check func(rev int64) error

// List is the living folders of a workspace, newest first, or those in its
// trash.
func (s *Service) List(ctx context.Context, scope access.Scope, deleted bool) ([]api.Folder, error) {
	rows, err := s.tree.Folders(ctx, scope, deleted)
	if err != nil {
		return nil, err
	}
	list := make([]api.Folder, len(rows))
	for i := range rows {
		list[i] = rows[i].Folder
	}
	return list, nil
}

// Create makes a folder. The same id again, with the same content, is the
// folder that is there.
func (s *Service) Create(ctx context.Context, scope access.Scope, in api.FolderInput) (created tree.Folder, err error) {
	if err := api.InvalidBody(rules.CheckFolder(&in, true)); err != nil {
		return created, err
	}
	rules.NormalizeFolder(&in)
	err = s.tree.Write(ctx, scope, func(e *tree.Edit) error {
		created = e.NewFolder(in.ID.Value)
		created.Apply(&in, false)
		if in.ID.Value != "" {
			there, err := e.Folder(ctx, in.ID.Value)
			if err == nil {
				return s.again(&created, there, &in)
			}
			if api.CodeOf(err) != api.CodeNotFound {
				return err
			}
		}
		if err := e.CheckFolderParent(ctx, created.ParentID, created.ID); err != nil {
			return tree.Refusal(err, "body.parentId")
		}
		err := e.InsertFolder(ctx, &created)
		if errors.Is(err, tree.ErrTaken) {
			return taken()
		}
		return err
	})
	return created, api.Wrap("make the folder", err)
}

// again answers a create whose id is there already.
func (s *Service) again(created *tree.Folder, there tree.Folder, in *api.FolderInput) error {
	created.CreatedAt = there.CreatedAt
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

// Get is one living folder.
func (s *Service) Get(ctx context.Context, scope access.Scope, id string) (tree.Folder, error) {
	return s.tree.GetFolder(ctx, scope, id)
}

// Update renames, moves or describes a folder.
func (s *Service) Update(ctx context.Context, scope access.Scope, id string, in api.FolderInput, known check) (after tree.Folder, err error) {
	in.ID = api.Optional[string]{} // an id is for creates alone
	if err := api.InvalidBody(rules.CheckFolder(&in, false)); err != nil {
		return after, err
	}
	rules.NormalizeFolder(&in)
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
		if after.ParentID != before.ParentID {
			if err := e.CheckFolderParent(ctx, after.ParentID, id); err != nil {
				return tree.Refusal(err, "body.parentId")
			}
			if !in.SortOrder.Set {
				if after.SortOrder, err = e.NextOrder(ctx, after.ParentID); err != nil {
					return err
				}
			}
		}
		if after.SameContent(&before) {
			return nil
		}
		return e.UpdateFolder(ctx, &before, &after)
	})
	return after, api.Wrap("change the folder", err)
}

// Delete puts a folder with all below it into the trash; one that is there
// already goes for good.
func (s *Service) Delete(ctx context.Context, scope access.Scope, id string, known check) error {
	err := s.tree.Write(ctx, scope, func(e *tree.Edit) error {
		folder, err := e.Folder(ctx, id)
		if err != nil {
			return err
		}
		if err := known(folder.Rev); err != nil {
			return err
		}
		if folder.Live() {
			return e.DeleteFolder(ctx, id)
		}
		return e.PurgeFolder(ctx, &folder)
	})
	return api.Wrap("delete the folder", err)
}

// Restore takes a folder out of the trash, with what its deletion took. Where
// its parent is gone, it comes back below the nearest that lives.
func (s *Service) Restore(ctx context.Context, scope access.Scope, id string) (after tree.Folder, err error) {
	err = s.tree.Write(ctx, scope, func(e *tree.Edit) error {
		before, err := e.Folder(ctx, id)
		if err != nil {
			return err
		}
		if after = before; before.Live() {
			return nil
		}
		if after.ParentID, err = e.LivingAncestor(ctx, before.ParentID); err != nil {
			return err
		}
		if err := e.CheckFolderParent(ctx, after.ParentID, id); err != nil {
			return tree.Refusal(err, "path.id")
		}
		return e.RestoreFolder(ctx, &before, &after)
	})
	return after, api.Wrap("restore the folder", err)
}

func living(ctx context.Context, e *tree.Edit, id string) (tree.Folder, error) {
	folder, err := e.Folder(ctx, id)
	if err == nil && !folder.Live() {
		err = api.Errorf(api.CodeNotFound, "no such folder")
	}
	return folder, err
}
