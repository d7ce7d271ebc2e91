package localstore

import (
	"cmp"
	"fmt"

	"bm/server/api"
	"bm/server/api/rules"
)

// AddFolder makes a folder, by the rules of POST …/folders. Two folders with
// the same name and parent may exist; see [Editor.FolderBelow] for a path.
func (ed *Editor) AddFolder(in api.FolderInput) (Folder, error) {
	if err := api.InvalidFields(rules.CheckFolder(&in, true)); err != nil {
		return Folder{}, err
	}
	rules.NormalizeFolder(&in)
	e := Entity{Type: api.TypeFolder, ID: in.ID.Value}
	e.Fields = withFolder(Fields{CreatedAt: in.CreatedAt.Value}, &in)
	if e.ID != "" {
		if there, err := ed.tx.find(ed.replica.N, e.Type, e.ID); err != nil || there != nil {
			return Folder{}, cmp.Or(err, error(api.Errorf(api.CodeConflict, "there is a folder %s already", e.ID)))
		}
	}
	if err := ed.parent("parentId", e.Parent); err != nil {
		return Folder{}, err
	}
	if err := ed.checkDepth(e.Parent, 1); err != nil {
		return Folder{}, err
	}
	if !in.SortOrder.Set {
		var err error
		if e.SortOrder, err = ed.last(e.Parent); err != nil {
			return Folder{}, err
		}
	}
	if err := ed.add(&e); err != nil {
		return Folder{}, err
	}
	return ed.shownFolder(&e), nil
}

func withFolder(f Fields, in *api.FolderInput) Fields {
	f.Title = in.Name.Or(f.Title)
	f.Description = in.Description.Or(f.Description)
	f.Parent = in.ParentID.Or(f.Parent)
	f.SortOrder = in.SortOrder.Or(f.SortOrder)
	f.Extra = in.Extra.Or(f.Extra)
	return f
}

func (ed *Editor) shownFolder(e *Entity) Folder {
	return e.folder(ed.replica, ed.replica.State != StateLocal)
}

// FolderBelow is the folder to which names lead from one, "" for the top; what
// is missing of the way is made. Of several with the same name the first in
// order is meant. Without names it is an empty Folder.
func (ed *Editor) FolderBelow(parentID string, names ...string) (Folder, error) {
	at, err := Folder{}, error(nil)
	at.ID = parentID
	for _, name := range names {
		there, err := ed.tx.folderNamed(ed.replica.N, at.ID, name)
		if err != nil {
			return Folder{}, err
		}
		if there != nil {
			at = ed.shownFolder(there)
			continue
		}
		in := api.FolderInput{Name: api.Some(name)}
		if at.ID != "" {
			in.ParentID = api.Some(at.ID)
		}
		if at, err = ed.AddFolder(in); err != nil {
			return Folder{}, err
		}
	}
	if len(names) == 0 {
		at = Folder{}
	}
	return at, err
}

// UpdateFolder renames or moves a folder, or changes what else in sets, by the
// rules of PATCH …/folders/{id}. A folder that would become its own ancestor
// is a conflict.
func (ed *Editor) UpdateFolder(id string, in api.FolderInput) (Folder, error) {
	e, err := ed.get(api.TypeFolder, id)
	if err != nil {
		return Folder{}, err
	}
	if err := api.InvalidFields(rules.CheckFolder(&in, false)); err != nil {
		return Folder{}, err
	}
	rules.NormalizeFolder(&in)
	fields := withFolder(e.Fields, &in)
	if fields.Parent != e.Parent {
		if err := ed.checkMove(e, fields.Parent); err != nil {
			return Folder{}, err
		}
		if !in.SortOrder.Set {
			if fields.SortOrder, err = ed.last(fields.Parent); err != nil {
				return Folder{}, err
			}
		}
	}
	after, err := ed.put(e, fields)
	if err != nil {
		return Folder{}, err
	}
	return ed.shownFolder(after), nil
}

// checkMove reports what keeps a folder from going below parent.
func (ed *Editor) checkMove(e *Entity, parent string) error {
	if err := ed.parent("parentId", parent); err != nil {
		return err
	}
	above, err := ed.tx.ancestors(ed.replica.N, parent)
	if err != nil {
		return err
	}
	for _, f := range above {
		if f.ID == e.ID {
			return api.Errorf(api.CodeConflict, "%q cannot go into itself or into a folder below it", e.Title)
		}
	}
	height, err := ed.tx.height(ed.replica.N, e.ID)
	if err != nil {
		return err
	}
	return ed.checkDepth(parent, height)
}

// checkDepth reports whether something so many levels high fits below parent.
func (ed *Editor) checkDepth(parent string, height int) error {
	above, err := ed.tx.ancestors(ed.replica.N, parent)
	if err != nil {
		return err
	}
	if len(above)+height > api.MaxTreeDepth {
		return api.Invalid("parentId", "the tree would be deeper than %d levels", api.MaxTreeDepth)
	}
	return nil
}

// below selects the ids of a folder (?2) and of all live folders below it in a
// replica (?1).
const below = `WITH RECURSIVE below (id) AS (SELECT ?2 UNION
	SELECT f.id FROM below CROSS JOIN folder f ON f.replica = ?1 AND f.parent = below.id AND f.deleted_at = 0) `

// DeleteFolder puts a folder and everything below it into the trash, and
// answers how many folders and bookmarks that were.
func (ed *Editor) DeleteFolder(id string) (folders, bookmarks int, err error) {
	e, err := ed.get(api.TypeFolder, id)
	if err != nil {
		return 0, 0, err
	}
	of := []any{ed.replica.N, e.ID}
	inside, err := ed.tx.collect(below+`SELECT `+bookmarkColumns+` FROM bookmark b
		WHERE b.replica = ?1 AND b.deleted_at = 0 AND b.folder IN (SELECT id FROM below)`, of, scanBookmark)
	if err != nil {
		return 0, 0, err
	}
	tree, err := ed.tx.collect(below+`SELECT `+folderColumns+` FROM folder f
		WHERE f.replica = ?1 AND f.deleted_at = 0 AND f.id IN (SELECT id FROM below)`, of, scanFolder)
	if err != nil {
		return 0, 0, err
	}
	ed.expect(len(tree) + len(inside))
	deletion := ed.tx.store.ids.New()
	for _, rows := range [][]Entity{inside, tree} {
		for i := range rows {
			if err := ed.hide(&rows[i], trashed{deletion, rows[i].Parent}); err != nil {
				return 0, 0, err
			}
		}
	}
	ed.noteDeletion(e, deletion, len(tree)+len(inside))
	return len(tree), len(inside), nil
}

// RestoreFolder takes a folder out of the trash with what its deletion took
// along. Of a folder that another machine deleted, what is in it follows with
// the next round, since only the server knows what went with it.
func (ed *Editor) RestoreFolder(id string) error {
	e, err := ed.tx.find(ed.replica.N, api.TypeFolder, id)
	if err != nil {
		return err
	}
	if e == nil {
		return notFound(api.TypeFolder, id)
	}
	if !e.Deleted() {
		return nil
	}
	return ed.showSubtree(e)
}

// showSubtree brings a folder back and, top-down, what was deleted with it and
// lies below it.
func (ed *Editor) showSubtree(top *Entity) error {
	t, replica, deletion := ed.tx, ed.replica.N, top.Deletion
	if deletion == "" {
		return ed.restore(top)
	}
	if err := ed.expectTaken(deletion); err != nil {
		return err
	}
	if err := ed.restore(top); err != nil {
		return err
	}
	queue := []string{top.ID}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		inside, err := t.bookmarks(`WHERE b.replica = ? AND b.deletion = ? AND b.deleted_at > 0 AND b.folder = ?`, replica, deletion, at)
		if err != nil {
			return err
		}
		folders, err := t.folders(`WHERE f.replica = ? AND f.deletion = ? AND f.deleted_at > 0 AND f.parent = ?`, replica, deletion, at)
		if err != nil {
			return err
		}
		for i := range folders {
			queue = append(queue, folders[i].ID)
		}
		for _, e := range append(folders, inside...) {
			if err := ed.restore(&e); err != nil {
				return err
			}
		}
	}
	return nil
}

// expectTaken expects what went with a deletion and is not back yet.
func (ed *Editor) expectTaken(deletion string) error {
	var n int
	err := ed.tx.row(`SELECT (SELECT COUNT(*) FROM folder WHERE replica = ?1 AND deletion = ?2 AND deleted_at > 0)
		+ (SELECT COUNT(*) FROM bookmark WHERE replica = ?1 AND deletion = ?2 AND deleted_at > 0)`, ed.replica.N, deletion).Scan(&n)
	if err != nil {
		return fmt.Errorf("count what went with a folder: %w", err)
	}
	ed.expect(n)
	return nil
}
