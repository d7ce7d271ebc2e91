package app

import (
	"context"
	"strings"

	"bm/cli/config"
	"bm/cli/output"
	"bm/localstore"
)

// PickFolder finds the live folder that ref means: a path such as Dev/Go, an
// id, or the beginning of one. "/" is the top, an empty folder. Of several that
// ref means none is picked.
func PickFolder(ctx context.Context, store *localstore.Store, replica int64, ref string) (localstore.Folder, error) {
	if err := checkFolder(ref); err != nil {
		return localstore.Folder{}, err
	}
	if isTop(ref) {
		return localstore.Folder{}, nil
	}
	found, missing, err := foldersAt(ctx, store, replica, ref)
	if err == nil && len(missing) > 0 {
		found, err = foldersWithID(ctx, store, replica, ref, minPrefix)
	}
	if err != nil {
		return localstore.Folder{}, err
	}
	switch len(found) {
	case 0:
		return localstore.Folder{}, noFolder(ctx, store, replica, ref)
	case 1:
		return found[0].folder, nil
	}
	return localstore.Folder{}, severalFolders(ctx, store, replica, ref, found)
}

// noFolder says that there is no folder of a name, and which was meant.
func noFolder(ctx context.Context, store *localstore.Store, replica int64, ref string) error {
	tree, err := store.Folders(ctx, replica)
	if err != nil {
		return err
	}
	paths := make([]string, len(tree))
	for i := range tree {
		paths[i] = tree[i].Path
	}
	e := Fail(NotFound, "There is no folder %q.", output.Clean(ref))
	if near := config.Nearest(ref, paths); near != "" {
		return e.Try("%s   if that was meant; bm folder ls lists them all", Typed(near))
	}
	return e.Try("bm folder ls   lists them")
}

// A Destination is a folder that something goes into: one that is there, or one
// that is made where there is none.
type Destination struct {
	// Folder is the folder, or as much of the way to it as is there; empty for
	// the top.
	Folder localstore.Folder
	// Missing are the names of the folders to make below it.
	Missing []string
	// Depth is how deep it lies when it is made; 0 is the top.
	Depth int
}

// FindDestination finds the folder that ref means, or where to make it. A full
// id, as a list shows it, is one, never the name of a new folder.
func FindDestination(ctx context.Context, store *localstore.Store, replica int64, ref string) (Destination, error) {
	if err := checkFolder(ref); err != nil {
		return Destination{}, err
	}
	if isTop(ref) {
		return Destination{}, nil
	}
	found, missing, err := foldersAt(ctx, store, replica, ref)
	if err != nil {
		return Destination{}, err
	}
	if len(missing) > 0 {
		named, err := foldersWithID(ctx, store, replica, ref, shownPrefix)
		if err != nil {
			return Destination{}, err
		}
		if len(named) > 0 {
			found, missing = named, nil
		}
	}
	switch len(found) {
	case 0:
		return Destination{Missing: missing, Depth: len(missing)}, nil
	case 1:
		return Destination{Folder: found[0].folder, Missing: missing, Depth: found[0].depth + 1 + len(missing)}, nil
	}
	return Destination{}, severalFolders(ctx, store, replica, ref, found)
}

// Make makes what is missing, and is the folder's id, "" for the top.
func (d *Destination) Make(ed *localstore.Editor) (string, error) {
	if len(d.Missing) == 0 {
		return d.Folder.ID, nil
	}
	// Another program may have made it since it was looked for.
	made, err := ed.FolderBelow(d.Folder.ID, d.Missing...)
	return made.ID, err
}

func checkFolder(ref string) error {
	if strings.TrimSpace(ref) == "" {
		return Fail(Usage, "The name of a folder can't be empty.").Try("/ for the top of the tree")
	}
	return nil
}

func isTop(ref string) bool { return len(localstore.SplitPath(ref)) == 0 }

const (
	// minPrefix is the length from which the beginning of an id is taken for
	// one, and shownPrefix that at which it can be nothing else.
	minPrefix   = 4
	shownPrefix = 18
)

// placed is a folder, and how deep it lies: 0 right at the top.
type placed struct {
	folder localstore.Folder
	depth  int
}

// foldersAt are the folders with a path. Where there are none they are those
// that lead furthest towards it, and missing is the rest of the way. It reads
// no more of the tree than what lies along it.
func foldersAt(ctx context.Context, store *localstore.Store, replica int64, path string) (found []placed, missing []string, err error) {
	names := localstore.SplitPath(path)
	parents := []string{""}
	for n, name := range names {
		children, err := store.FoldersIn(ctx, replica, parents)
		if err != nil {
			return nil, nil, err
		}
		next := named(children, parents, name)
		if len(next) == 0 {
			return found, names[n:], nil
		}
		found, parents = nil, nil
		for _, f := range next {
			found, parents = append(found, placed{f, n}), append(parents, f.ID)
		}
	}
	return found, nil, nil
}

// named are the folders with a name. Where none in a parent has it to the
// letter, case does not count there.
func named(all []localstore.Folder, parents []string, name string) (found []localstore.Folder) {
	exact, folded := map[string][]localstore.Folder{}, map[string][]localstore.Folder{}
	for _, f := range all {
		switch {
		case f.Name == name:
			exact[f.ParentID] = append(exact[f.ParentID], f)
		case strings.EqualFold(f.Name, name):
			folded[f.ParentID] = append(folded[f.ParentID], f)
		}
	}
	for _, parent := range parents {
		if len(exact[parent]) > 0 {
			found = append(found, exact[parent]...)
		} else {
			found = append(found, folded[parent]...)
		}
	}
	return found
}

// foldersWithID are those whose ids begin with ref, which is so long at least.
func foldersWithID(ctx context.Context, store *localstore.Store, replica int64, ref string, least int) (found []placed, err error) {
	ref = strings.ToLower(ref)
	if len(ref) < least {
		return nil, nil
	}
	tree, err := store.Folders(ctx, replica)
	for i := range tree {
		if strings.HasPrefix(tree[i].ID, ref) {
			found = append(found, placed{tree[i].Folder, tree[i].Depth})
		}
	}
	return found, err
}

// severalFolders names them with what they hold, which is counted only here.
func severalFolders(ctx context.Context, store *localstore.Store, replica int64, ref string, found []placed) error {
	tree, err := store.Tree(ctx, replica)
	if err != nil {
		return err
	}
	meant := make(map[string]bool, len(found))
	for _, f := range found {
		meant[f.folder.ID] = true
	}
	e := Fail(Usage, "%q means several folders:", output.Clean(ref))
	told := 0
	for i := range tree {
		if !meant[tree[i].ID] {
			continue
		}
		if told++; told == maxNamed {
			e.Message += "\n  …"
			break
		}
		e.Message += "\n  " + tree[i].ID + "  " + output.Clean(tree[i].Path) + "  with " + output.Plural(tree[i].Total, "bookmark")
	}
	return e.Try("the same command with one of these ids")
}
