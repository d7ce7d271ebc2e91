package app

import (
	"context"
	"strings"

	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
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
	tree, err := store.Folders(ctx, replica)
	if err != nil {
		return localstore.Folder{}, err
	}
	found, _ := foldersAt(tree, ref)
	if len(found) == 0 {
		found = foldersWithID(tree, ref, minPrefix)
	}
	switch len(found) {
	case 0:
		return localstore.Folder{}, Fail(NotFound, "There is no folder %q.", output.Clean(ref)).
			Try("bm folder ls   lists them; bm folder add %q makes it", output.Clean(ref))
	case 1:
		return found[0].Folder, nil
	}
	return localstore.Folder{}, severalFolders(ctx, store, replica, ref, found)
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
	tree, err := store.Folders(ctx, replica)
	if err != nil {
		return Destination{}, err
	}
	found, missing := foldersAt(tree, ref)
	if len(missing) > 0 {
		if named := foldersWithID(tree, ref, shownPrefix); len(named) > 0 {
			found, missing = named, nil
		}
	}
	switch len(found) {
	case 0:
		return Destination{Missing: missing, Depth: len(missing)}, nil
	case 1:
		return Destination{Folder: found[0].Folder, Missing: missing, Depth: found[0].Depth + 1 + len(missing)}, nil
	}
	return Destination{}, severalFolders(ctx, store, replica, ref, found)
}

// Make makes what is missing, and is the folder's id, "" for the top.
func (d *Destination) Make(ed *localstore.Editor) (string, error) {
	id := d.Folder.ID
	for _, name := range d.Missing {
		in := api.FolderInput{Name: api.Some(name)}
		if id != "" {
			in.ParentID = api.Some(id)
		}
		made, err := ed.AddFolder(in)
		if err != nil {
			return "", err
		}
		id = made.ID
	}
	return id, nil
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

// foldersAt are the folders with a path. Where there are none they are those
// that lead furthest towards it, and missing is the rest of the way.
func foldersAt(tree []localstore.Node, path string) (found []*localstore.Node, missing []string) {
	children := map[string][]*localstore.Node{}
	for i := range tree {
		children[tree[i].ParentID] = append(children[tree[i].ParentID], &tree[i])
	}
	names := localstore.SplitPath(path)
	parents := []string{""}
	for n, name := range names {
		var next []*localstore.Node
		for _, parent := range parents {
			next = append(next, named(children[parent], name)...)
		}
		if len(next) == 0 {
			return found, names[n:]
		}
		found, parents = next, nil
		for _, f := range next {
			parents = append(parents, f.ID)
		}
	}
	return found, nil
}

// named are the folders with a name. Where none has it to the letter, case
// does not count.
func named(all []*localstore.Node, name string) (found []*localstore.Node) {
	var folded []*localstore.Node
	for _, f := range all {
		switch {
		case f.Name == name:
			found = append(found, f)
		case strings.EqualFold(f.Name, name):
			folded = append(folded, f)
		}
	}
	if len(found) == 0 {
		return folded
	}
	return found
}

// foldersWithID are those whose ids begin with ref, which is so long at least.
func foldersWithID(tree []localstore.Node, ref string, least int) (found []*localstore.Node) {
	ref = strings.ToLower(ref)
	for i := range tree {
		if len(ref) >= least && strings.HasPrefix(tree[i].ID, ref) {
			found = append(found, &tree[i])
		}
	}
	return found
}

// severalFolders names them with what they hold, which is counted only here.
func severalFolders(ctx context.Context, store *localstore.Store, replica int64, ref string, found []*localstore.Node) error {
	tree, err := store.Tree(ctx, replica)
	if err != nil {
		return err
	}
	totals := make(map[string]int, len(tree))
	for i := range tree {
		totals[tree[i].ID] = tree[i].Total
	}
	e := Fail(Usage, "%q means several folders:", output.Clean(ref))
	for _, f := range found {
		e.Message += "\n  " + f.ID + "  " + output.Clean(f.Path) + "  with " + output.Plural(totals[f.ID], "bookmark")
	}
	return e.Try("the same command with one of these ids")
}
