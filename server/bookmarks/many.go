package bookmarks

import (
	"context"
	"slices"
	"strings"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/sqldb"
	"bm/server/tree"
)

// BulkDelete puts bookmarks into the trash, as one deletion.
func (s *Service) BulkDelete(ctx context.Context, scope access.Scope, in api.BulkDelete) (out api.BulkDeleted, err error) {
	ids := distinct(in.IDs)
	err = s.tree.Write(ctx, scope, func(e *tree.Edit) error {
		out = api.BulkDeleted{}
		out.NotFound, err = eachLiving(ctx, e, ids, func(*tree.Bookmark) error { return nil })
		if err != nil {
			return err
		}
		out.DeletedCount, err = e.DeleteBookmarksByID(ctx, ids)
		return err
	})
	return out, api.Wrap("delete the bookmarks", err)
}

// eachLiving calls fn for those of ids that live, and returns the others. It
// holds one at a time: together they may be very large.
func eachLiving(ctx context.Context, e *tree.Edit, ids []string, fn func(*tree.Bookmark) error) (missing []string, err error) {
	missing = []string{}
	for _, id := range ids {
		b, err := living(ctx, e, id)
		if api.CodeOf(err) == api.CodeNotFound {
			missing = append(missing, id)
			continue
		}
		if err == nil {
			err = fn(&b)
		}
		if err != nil {
			return nil, err
		}
	}
	return missing, nil
}

func distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		was := seen[id]
		seen[id] = true
		return was
	})
}

// DeleteByScope puts every bookmark that is in a scope now into the trash, some
// at a time; folders stay. The scope of a folder is its subtree. Cut off between
// two, the rest is there still, and the same request goes on.
func (s *Service) DeleteByScope(ctx context.Context, scope access.Scope, in api.DeleteByScope) (out api.DeletedCount, err error) {
	filter, err := s.filterOf(ctx, scope, in)
	if err != nil {
		return out, err
	}
	found, err := s.tree.Select(ctx, scope, filter)
	if err != nil {
		return out, err
	}
	for chunk := range found.Chunks(manyRows) {
		if out.DeletedCount > 0 {
			if err := pause(ctx, importGap); err != nil {
				return out, err
			}
		}
		var n int
		err := s.tree.Write(ctx, scope, func(e *tree.Edit) (err error) {
			n, err = e.DeleteSelected(ctx, filter, chunk)
			return err
		})
		if err != nil {
			return out, api.Wrap("delete the bookmarks", err)
		}
		out.DeletedCount += n
	}
	return out, nil
}

// filterOf is what a scope means.
func (s *Service) filterOf(ctx context.Context, scope access.Scope, in api.DeleteByScope) (filter api.BookmarkFilter, err error) {
	var problems []api.FieldError
	bad := func(field, message string) {
		problems = append(problems, api.FieldError{Field: field, Message: message})
	}
	switch in.Scope {
	case api.DeleteFolder:
		filter.FolderID, filter.Recursive = in.FolderID.Value, true
		if filter.FolderID == "" {
			bad("folderId", "is required with scope folder")
		}
	case api.DeleteTag:
		tag := rules.Tag(in.Tag.Value)
		filter.Tags = []string{tag}
		if tag == "" {
			bad("tag", "is required with scope tag")
		}
	case api.DeleteDead:
		filter.FilterStatus = string(api.LinkDead)
	}
	if !in.Confirm {
		bad("confirm", "must be true")
	}
	if err := api.InvalidBody(problems); err != nil || in.Scope != api.DeleteFolder {
		return filter, err
	}
	// The top is no folder here: that would be all.
	err = s.db.Read(ctx, func(tx *sqldb.Tx) error {
		_, err := tree.Depth(ctx, tx, scope, filter.FolderID)
		return err
	})
	if err != nil {
		err = tree.Refusal(err, "body.folderId")
	}
	return filter, err
}

// Move puts bookmarks into another folder, or copies them into another
// workspace and leaves the originals in the trash of this one: a replica that
// follows only one of the two must learn of it.
func (s *Service) Move(ctx context.Context, scope access.Scope, to access.Scope, in api.Move) (out api.Moved, err error) {
	ids := distinct(in.IDs)
	folderID := in.FolderID.Value
	if to == scope {
		err = s.tree.Write(ctx, scope, func(e *tree.Edit) error {
			out, err = s.moveWithin(ctx, e, ids, folderID)
			return err
		})
		return out, api.Wrap("move the bookmarks", err)
	}
	err = s.db.Write(ctx, func(tx *sqldb.Tx) error {
		return s.inBoth(ctx, tx, scope, to, func(from, into *tree.Edit) error {
			out, err = s.moveAcross(ctx, from, into, ids, folderID)
			return err
		})
	})
	return out, api.Wrap("move the bookmarks", err)
}

// inBoth edits two workspaces in one transaction. Their heads are locked in
// the order of their ids, so that two moves never wait for each other.
func (s *Service) inBoth(ctx context.Context, tx *sqldb.Tx, from, to access.Scope, fn func(from, to *tree.Edit) error) error {
	first, second := from, to
	if swapped := strings.Compare(from.WorkspaceID, to.WorkspaceID) > 0; swapped {
		first, second = to, from
	}
	return s.tree.Within(ctx, tx, first, func(a *tree.Edit) error {
		return s.tree.Within(ctx, tx, second, func(b *tree.Edit) error {
			if first == from {
				return fn(a, b)
			}
			return fn(b, a)
		})
	})
}

func (s *Service) moveWithin(ctx context.Context, e *tree.Edit, ids []string, folderID string) (out api.Moved, err error) {
	if err := e.CheckParent(ctx, folderID); err != nil {
		return out, tree.Refusal(err, "body.folderId")
	}
	out.NotFound, err = eachLiving(ctx, e, ids, func(before *tree.Bookmark) (err error) {
		out.MovedCount++
		if before.FolderID == folderID {
			return nil
		}
		after := *before
		after.FolderID = folderID
		if after.SortOrder, err = e.NextOrder(ctx, folderID); err != nil {
			return err
		}
		return e.UpdateBookmark(ctx, before, &after)
	})
	return out, err
}

func (s *Service) moveAcross(ctx context.Context, from, into *tree.Edit, ids []string, folderID string) (out api.Moved, err error) {
	if err := into.CheckParent(ctx, folderID); err != nil {
		return out, tree.Refusal(err, "body.folderId")
	}
	out.NotFound, err = eachLiving(ctx, from, ids, func(before *tree.Bookmark) error {
		out.MovedCount++
		after := into.NewBookmark("")
		after.CopyContent(before)
		after.FolderID = folderID
		return into.InsertBookmark(ctx, &after)
	})
	if err != nil {
		return out, err
	}
	_, err = from.DeleteBookmarksByID(ctx, ids)
	return out, err
}

// RenameTag gives a tag another name wherever it stands. A new spelling of the
// same tag is a change too.
func (s *Service) RenameTag(ctx context.Context, scope access.Scope, in api.TagRename) (api.Updated, error) {
	return s.replaceTags(ctx, scope, []string{in.From}, in.To, "body.to")
}

// MergeTags replaces several tags by one.
func (s *Service) MergeTags(ctx context.Context, scope access.Scope, in api.TagMerge) (api.Updated, error) {
	return s.replaceTags(ctx, scope, in.From, in.Into, "body.into")
}

func (s *Service) replaceTags(ctx context.Context, scope access.Scope, from []string, to, field string) (out api.Updated, err error) {
	tag := rules.Tag(to)
	if problem := rules.CheckText(field, tag, api.MaxTag); problem != nil {
		return out, api.InvalidFields([]api.FieldError{*problem})
	}
	if tag == "" {
		return out, api.Invalid(field, "must not be empty")
	}
	keys := make(map[string]bool, len(from))
	for _, name := range from {
		keys[rules.TagKey(rules.Tag(name))] = true
	}
	for key := range keys {
		for last, first := int64(0), true; first || last != 0; first = false {
			var n int
			if n, last, err = s.replaceSome(ctx, scope, key, last, keys, tag); err != nil {
				return out, api.Wrap("change the tags", err)
			}
			out.UpdatedCount += n
			if last != 0 {
				if err := pause(ctx, importGap); err != nil {
					return out, err
				}
			}
		}
	}
	return out, nil
}

// manyRows is how many bookmarks one transaction changes or deletes: short
// enough for other writers not to notice.
const manyRows = 300

// replaceSome replaces tags of bookmarks behind one that carry one of them.
// Those that it changed carry none of the others either. Cut off between two,
// the rest has the old tag still, and the same request goes on.
func (s *Service) replaceSome(ctx context.Context, scope access.Scope, key string, after int64, keys map[string]bool, tag string) (n int, last int64, err error) {
	err = s.tree.Write(ctx, scope, func(e *tree.Edit) (err error) {
		n = 0
		last, err = e.WithTag(ctx, key, after, manyRows, func(before *tree.Bookmark) error {
			after := *before
			after.Tags = replaced(before.Tags, keys, tag)
			if slices.Equal(after.Tags, before.Tags) {
				return nil
			}
			n++
			return e.UpdateBookmark(ctx, before, &after)
		})
		return err
	})
	return n, last, err
}

// replaced puts tag where the first of the keys stood, and drops the others
// as well as a second of its own.
func replaced(tags []string, keys map[string]bool, tag string) []string {
	own := rules.TagKey(tag)
	list, placed := make([]string, 0, len(tags)), false
	for _, have := range tags {
		key := rules.TagKey(have)
		switch {
		case !keys[key] && key != own:
			list = append(list, have)
		case !placed:
			list, placed = append(list, tag), true
		}
	}
	return list
}
