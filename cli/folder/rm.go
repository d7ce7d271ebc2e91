package folder

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

func newRemove(a *app.App) *cobra.Command {
	var yes, dryRun bool
	cmd := &cobra.Command{
		Use:               "rm FOLDER",
		Aliases:           []string{"delete"},
		Short:             "Delete a folder with everything in it",
		Long:              fmt.Sprintf("Delete a folder with everything in it. It can be restored for %d days.", api.TrashDays),
		Example:           "  bm folder rm Old/Stuff\n  bm folder rm Old/Stuff --dry-run\n  bm folder rm Old/Stuff --yes",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRemove(cmd.Context(), a, args[0], yes, dryRun)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show the folders that would be deleted")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

func runRemove(ctx context.Context, a *app.App, path string, yes, dryRun bool) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	folder, err := app.PickFolder(ctx, store, replica.N, path)
	if err != nil {
		return err
	}
	if folder.ID == "" {
		return app.Fail(app.Usage, "The top of the tree can't be deleted.")
	}
	q := localstore.List{Replica: replica.N}
	q.FolderID, q.Recursive = folder.ID, true
	n, err := store.Count(ctx, q)
	if err != nil {
		return err
	}
	if dryRun {
		return planRemove(ctx, a, store, replica, folder, n)
	}
	if !yes {
		all, err := withBelow(ctx, store, replica.N, folder)
		if err != nil {
			return err
		}
		within := output.Plural(n, "bookmark")
		if below := len(all) - 1; below > 0 {
			within = output.Plural(below, "folder") + " and " + within
		}
		if err := a.Confirm(yes, fmt.Sprintf("Delete the folder %s with %s in it?", folder.Name, within)); err != nil {
			return err
		}
	}
	var folders, bookmarks int
	err = a.Edit(ctx, store, replica, "folder rm "+path, app.Work{Doing: "Deleting", Noun: "folders and bookmarks"}, func(ed *localstore.Editor) error {
		folders, bookmarks, err = ed.DeleteFolder(folder.ID)
		return err
	})
	return done(a, err, "Deleted %s and %s; bm undo takes it back.", output.Plural(folders, "folder"), output.Plural(bookmarks, "bookmark"))
}

// planRemove shows what a deletion would take along, and deletes nothing.
func planRemove(ctx context.Context, a *app.App, store *localstore.Store, replica *localstore.Replica, folder localstore.Folder, bookmarks int) error {
	all, err := withBelow(ctx, store, replica.N, folder)
	if err != nil {
		return err
	}
	err = show(ctx, a, &output.Format[localstore.Node]{}, false, all, func(n *localstore.Node) output.Cell { return output.Styled(output.Strong, n.Path) })
	if err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "Would delete %s and %s.\n", output.Plural(len(all), "folder"), output.Plural(bookmarks, "bookmark"))
	return nil
}

// withBelow are a folder and all those in it.
func withBelow(ctx context.Context, store *localstore.Store, replica int64, folder localstore.Folder) ([]localstore.Node, error) {
	tree, err := store.Tree(ctx, replica)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(tree, func(n localstore.Node) bool { return n.ID == folder.ID })
	if at < 0 {
		return nil, app.Fail(app.NotFound, "The folder %s has just been deleted.", output.Clean(folder.Name))
	}
	end := at + 1
	for end < len(tree) && tree[end].Depth > tree[at].Depth {
		end++
	}
	return tree[at:end], nil
}

// countDeleted counts the bookmarks that the deletion of each folder took along.
func countDeleted(ctx context.Context, store *localstore.Store, replica int64, tops []localstore.Node) error {
	at := map[string]int{}
	for i := range tops {
		at[tops[i].ID] = i
	}
	parents := map[string]string{}
	q := localstore.List{Replica: replica}
	q.FilterStatus = "deleted"
	for b, err := range store.All(ctx, q) {
		if err != nil {
			return err
		}
		// What is dead may lie in a circle, which the server breaks for the living.
		for id, steps := b.FolderID, 0; id != "" && steps <= len(parents); steps++ {
			if i, found := at[id]; found {
				if b.DeletedAt.Equal(tops[i].DeletedAt.Time) { // else it was deleted before
					tops[i].Total++
					if id == b.FolderID {
						tops[i].Bookmarks++
					}
				}
				break
			}
			parent, known := parents[id]
			if !known {
				folder, err := store.Folder(ctx, replica, id)
				if err != nil && api.CodeOf(err) != api.CodeNotFound { // after a repair, the server's may not be there yet
					return err
				}
				parent = folder.ParentID
				parents[id] = parent
			}
			id = parent
		}
	}
	return nil
}

// completeDeleted offers the names of the folders that can be restored.
func completeDeleted(ctx context.Context, a *app.App) ([]string, cobra.ShellCompDirective) {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	folders, err := store.FoldersDeleted(ctx, replica.N)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, f := range folders {
		names = append(names, output.Clean(f.Name))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func newRestore(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "restore FOLDER",
		Short:   "Bring a deleted folder back, with what its deletion took along",
		Example: "  bm folder ls --deleted\n  bm folder restore Stuff",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeDeleted(cmd.Context(), a)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runRestore(cmd.Context(), a, args[0]) },
	}
}

// maxNamed is how many of the folders that a name may mean are told.
const maxNamed = 10

func runRestore(ctx context.Context, a *app.App, ref string) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	deleted, err := store.FoldersDeleted(ctx, replica.N)
	if err != nil {
		return err
	}
	var found []localstore.Folder
	var names []string
	for _, f := range deleted {
		names = append(names, f.Name)
		if f.Name == ref || len(ref) >= 4 && strings.HasPrefix(f.ID, strings.ToLower(ref)) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		e := app.Fail(app.NotFound, "No deleted folder is called %q.", output.Clean(ref))
		if near := config.Nearest(ref, names); near != "" {
			return e.Try("%s   if that was meant; bm folder ls --deleted lists them all", app.Typed(near))
		}
		return e.Try("bm folder ls --deleted   lists them")
	case 1:
	default:
		e := app.Fail(app.Usage, "%d deleted folders are called %q:", len(found), output.Clean(ref))
		for _, f := range found[:min(len(found), maxNamed)] {
			e.Message += "\n  " + f.ID
		}
		if len(found) > maxNamed {
			e.Message += "\n  …"
		}
		return e.Try("bm folder restore with one of these ids")
	}
	err = a.Edit(ctx, store, replica, "folder restore "+found[0].Name, app.Work{Doing: "Restoring", Noun: "folders and bookmarks"}, func(ed *localstore.Editor) error {
		return ed.RestoreFolder(found[0].ID)
	})
	if err != nil {
		return err
	}
	q := localstore.List{Replica: replica.N}
	q.FolderID, q.Recursive = found[0].ID, true
	n, err := store.Count(ctx, q)
	what := " with " + output.Plural(n, "bookmark") + " in it."
	if found[0].DeletedElsewhere {
		what = "; what its deletion took along comes back with the next sync."
	}
	if err = done(a, err, "Restored %s%s", output.Clean(found[0].Name), what); err != nil {
		return err
	}
	back, err := store.Folder(ctx, replica.N, found[0].ID) // it may lie elsewhere now
	if err != nil {
		return err
	}
	return sayNamesake(ctx, a, store, replica, back)
}
