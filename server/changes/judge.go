package changes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/tree"
)

// judge gives an op its verdict and, where that is applied, its effect. What
// comes back as an error is no verdict: it ends the whole request.
func (p *push) judge(ctx context.Context, op *api.Op) (api.OpResult, error) {
	if op.Type != api.TypeFolder && op.Type != api.TypeBookmark {
		return p.rejected(op, api.Invalid("type", "must be folder or bookmark")), nil
	}
	if permission := needed(op); !p.caller.Can(permission) {
		return p.rejected(op, api.Errorf(api.CodeForbidden, "this needs the permission %s", permission)), nil
	}
	if op.Action == api.OpCreate && !api.ValidNewID(op.ID) {
		return p.rejected(op, api.Invalid("id", "is not a UUIDv7 in lower case")), nil
	}
	if op.Type == api.TypeFolder {
		return p.folder(ctx, op)
	}
	return p.bookmark(ctx, op)
}

func needed(op *api.Op) access.Permission {
	switch {
	case op.Type == api.TypeFolder && op.Action == api.OpDelete:
		return access.FoldersDelete
	case op.Type == api.TypeFolder:
		return access.FoldersWrite
	case op.Action == api.OpDelete:
		return access.BookmarksDelete
	}
	return access.BookmarksWrite
}

// misplaced are the reasons why something cannot be put where an op puts it,
// which a merge can mend.
func misplaced(err error) bool {
	return errors.Is(err, tree.ErrNoParent) || errors.Is(err, tree.ErrDeadParent) || errors.Is(err, tree.ErrCycle)
}

func (p *push) bookmark(ctx context.Context, op *api.Op) (api.OpResult, error) {
	in, bad := decodeBookmark(op)
	if bad != nil {
		return p.rejected(op, bad), nil
	}
	sent := in
	sent.Tags.Value = slices.Clone(in.Tags.Value) // which are brought to their form in place
	if _, bad := rules.CutBookmark(&in); bad != nil {
		return p.rejected(op, api.Invalid("set."+bad.Field, "%s", bad.Message)), nil
	}
	if op.Action == api.OpCreate && !p.taken[op.ID] {
		return p.createBookmark(ctx, op, &in, &sent)
	}
	before, err := p.edit.Bookmark(ctx, op.ID)
	known := err == nil
	if err != nil && api.CodeOf(err) != api.CodeNotFound {
		return api.OpResult{}, err
	}
	switch {
	case op.Action == api.OpCreate && known:
		return stale(op, before.Change()), nil
	case op.Action == api.OpCreate:
		return p.createBookmark(ctx, op, &in, &sent)
	case !known:
		return p.rejected(op, api.Errorf(api.CodeNotFound, "no such bookmark")), nil
	case before.Rev != op.BaseRev, before.Live() == (op.Action == api.OpRestore):
		return stale(op, before.Change()), nil
	case op.Action == api.OpDelete:
		if _, err := p.edit.DeleteBookmarks(ctx, `b.id = $3`, op.ID); err != nil {
			return api.OpResult{}, err
		}
		gone := before
		gone.DeletedAt, gone.Rev = p.edit.Now(), p.edit.Rev()
		return applied(op, gone.Change()), nil
	}
	after := before
	after.Apply(&in, true)
	if err := p.parent(ctx, after.FolderID); misplaced(err) {
		return stale(op, before.Change()), nil
	} else if err != nil {
		return api.OpResult{}, err
	}
	if after.FolderID != before.FolderID && !in.SortOrder.Set {
		if after.SortOrder, err = p.edit.NextOrder(ctx, after.FolderID); err != nil {
			return api.OpResult{}, err
		}
	}
	if op.Action == api.OpRestore {
		err = p.edit.RestoreBookmark(ctx, &before, &after)
	} else if !after.SameContent(&before) {
		err = p.edit.UpdateBookmark(ctx, &before, &after)
	}
	return applied(op, after.Change()), err
}

// createBookmark makes in, which is what was sent in its storable form. Where the
// like has come that the caller has not heard of, it is stale: the two are to become
// one, and once both are there that is nobody's business any more.
func (p *push) createBookmark(ctx context.Context, op *api.Op, in, sent *api.BookmarkInput) (api.OpResult, error) {
	b := p.edit.NewBookmark(op.ID)
	b.Apply(in, true)
	if err := p.parent(ctx, b.FolderID); misplaced(err) {
		return stale(op, nil), nil
	} else if err != nil {
		return api.OpResult{}, err
	}
	if len(p.newcomers) > 0 && p.newcomers[spot{api.TypeBookmark, b.FolderID, rules.URLKey(b.URL)}] {
		return stale(op, nil), nil
	}
	if !p.taken[op.ID] {
		p.created = append(p.created, created{op: op, row: b, known: p.caller.Minimal && asSet(&b, sent, op.Set)})
		p.taken[op.ID] = true
		return api.OpResult{}, nil
	}
	err := p.edit.InsertBookmark(ctx, &b)
	if errors.Is(err, tree.ErrTaken) {
		return p.rejected(op, api.Errorf(api.CodeConflict, "the id is taken by something else")), nil
	}
	return applied(op, b.Change()), err
}

// parent checks the folder that a bookmark goes into. Until a folder is
// changed, what was found of one holds.
func (p *push) parent(ctx context.Context, id string) error {
	found, ok := p.parents[id]
	if !ok {
		found = p.edit.CheckParent(ctx, id)
		if found == nil || misplaced(found) {
			p.parents[id] = found
		}
	}
	return found
}

func (p *push) folder(ctx context.Context, op *api.Op) (api.OpResult, error) {
	clear(p.parents)
	in, bad := decodeFolder(op)
	if bad != nil {
		return p.rejected(op, bad), nil
	}
	rules.CutFolder(&in)
	before, err := p.edit.Folder(ctx, op.ID)
	known := err == nil
	if err != nil && api.CodeOf(err) != api.CodeNotFound {
		return api.OpResult{}, err
	}
	switch {
	case op.Action == api.OpCreate && known:
		return stale(op, before.Change()), nil
	case op.Action == api.OpCreate:
		return p.createFolder(ctx, op, &in)
	case !known:
		return p.rejected(op, api.Errorf(api.CodeNotFound, "no such folder")), nil
	case before.Rev != op.BaseRev, before.Live() == (op.Action == api.OpRestore):
		return stale(op, before.Change()), nil
	case op.Action == api.OpDelete:
		return p.deleteFolder(ctx, op, before)
	}
	after := before
	after.Apply(&in, true)
	if err := p.settle(ctx, &after); misplaced(err) {
		return stale(op, before.Change()), nil
	} else if err != nil {
		return api.OpResult{}, err
	}
	if after.ParentID != before.ParentID && !in.SortOrder.Set {
		if after.SortOrder, err = p.edit.NextOrder(ctx, after.ParentID); err != nil {
			return api.OpResult{}, err
		}
	}
	if op.Action == api.OpRestore {
		err = p.edit.RestoreFolder(ctx, &before, &after)
	} else if !after.SameContent(&before) {
		err = p.edit.UpdateFolder(ctx, &before, &after)
	}
	return applied(op, after.Change()), err
}

// settle finds a folder its place: where the tree would become too deep, it is
// put as deep below the wanted parent's ancestors as is allowed.
func (p *push) settle(ctx context.Context, f *tree.Folder) error {
	for {
		err := p.edit.CheckFolderParent(ctx, f.ParentID, f.ID)
		if !errors.Is(err, tree.ErrTooDeep) || f.ParentID == "" {
			return err
		}
		parent, err := p.edit.Folder(ctx, f.ParentID)
		if err != nil {
			return fmt.Errorf("look for a less deep place: %w", err)
		}
		f.ParentID = parent.ParentID
	}
}

func (p *push) createFolder(ctx context.Context, op *api.Op, in *api.FolderInput) (api.OpResult, error) {
	f := p.edit.NewFolder(op.ID)
	f.Apply(in, true)
	if f.Name == "" {
		f.Name = api.Untitled
	}
	if err := p.settle(ctx, &f); misplaced(err) {
		return stale(op, nil), nil
	} else if err != nil {
		return api.OpResult{}, err
	}
	if p.newcomers[spot{api.TypeFolder, f.ParentID, f.Name}] {
		return stale(op, nil), nil
	}
	err := p.edit.InsertFolder(ctx, &f)
	if errors.Is(err, tree.ErrTaken) {
		return p.rejected(op, api.Errorf(api.CodeConflict, "the id is taken by something else")), nil
	}
	return applied(op, f.Change()), err
}

// deleteFolder takes all that is below along, but only what the caller knew of.
func (p *push) deleteFolder(ctx context.Context, op *api.Op, before tree.Folder) (api.OpResult, error) {
	newest, err := p.edit.NewestBelow(ctx, op.ID)
	if err != nil {
		return api.OpResult{}, err
	}
	if newest > p.decidedAt {
		return stale(op, before.Change()), nil
	}
	if err := p.edit.DeleteFolder(ctx, op.ID); err != nil {
		return api.OpResult{}, err
	}
	gone, err := p.edit.Folder(ctx, op.ID)
	return applied(op, gone.Change()), err
}
