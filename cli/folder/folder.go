package folder

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

// New is the command group.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "folder", Aliases: []string{"folders"}, Short: "List, make, move and delete folders",
		Example: `  bm folder tree
  bm folder add Dev/Go
  bm folder rename Dev/Go Golang
  bm folder mv Dev/Golang /
  bm folder rm Old --dry-run`,
	}
	cmd.AddCommand(newList(a), newTree(a), newAdd(a), newMove(a), newRename(a), newRemove(a), newRestore(a))
	return cmd
}

func nodeFormat() *output.Format[localstore.Node] {
	type field = output.Field[localstore.Node]
	return &output.Format[localstore.Node]{Fields: []field{
		{Name: "id", Get: func(n localstore.Node) any { return n.ID }},
		{Name: "path", Get: func(n localstore.Node) any { return n.Path }},
		{Name: "name", Get: func(n localstore.Node) any { return n.Name }},
		{Name: "description", Get: func(n localstore.Node) any { return n.Description }},
		{Name: "parentId", Get: func(n localstore.Node) any { return n.ParentID }},
		{Name: "depth", Get: func(n localstore.Node) any { return n.Depth }},
		{Name: "bookmarks", Get: func(n localstore.Node) any { return n.Bookmarks }},
		{Name: "total", Get: func(n localstore.Node) any { return n.Total }},
		{Name: "createdAt", Get: func(n localstore.Node) any { return n.CreatedAt }},
		{Name: "updatedAt", Get: func(n localstore.Node) any { return n.UpdatedAt }},
		{Name: "unsent", Get: func(n localstore.Node) any { return n.Unsent }},
	}}
}

func newList(a *app.App) *cobra.Command {
	format := nodeFormat()
	deleted := false
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List folders by their paths",
		Example: "  bm folder ls\n  bm folder ls --json path,total\n  bm folder ls --deleted",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if deleted {
				return runDeleted(cmd.Context(), a, format)
			}
			return runList(cmd.Context(), a, format)
		},
	}
	cmd.Flags().BoolVar(&deleted, "deleted", false, "those that can be restored")
	format.Bind(cmd)
	return cmd
}

func runList(ctx context.Context, a *app.App, format *output.Format[localstore.Node]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	tree, err := store.Tree(ctx, replica.N)
	if err != nil {
		return err
	}
	if len(tree) == 0 && !wanted {
		a.SayNone(replica, noFolders)
	}
	return show(ctx, a, format, wanted, tree, func(n *localstore.Node) output.Cell { return output.Styled(output.Strong, n.Path) })
}

const noFolders = "There are no folders yet: bm folder add PATH makes one."

func show(ctx context.Context, a *app.App, format *output.Format[localstore.Node], wanted bool, tree []localstore.Node, name func(*localstore.Node) output.Cell) error {
	return a.IO.Page(ctx, func(w io.Writer) error {
		if wanted {
			return format.List(w, a.IO, tree)
		}
		table := a.IO.NewTable(w, output.Heading{Name: "id", Spare: 3}, output.Heading{Name: "folder", Flexible: true, Least: 20},
			output.Heading{Name: "bookmarks", Right: true, Spare: 1}, output.Heading{Name: "with below", Right: true, Spare: 2})
		for i := range tree {
			n := &tree[i]
			err := table.Row(output.Cell{Value: n.ID, Shown: n.ID[:min(len(n.ID), 18)], Style: output.Faint},
				name(n), output.Number(n.Bookmarks), output.Number(n.Total))
			if err != nil {
				return err
			}
		}
		return table.End()
	})
}

func runDeleted(ctx context.Context, a *app.App, format *output.Format[localstore.Node]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	folders, err := store.FoldersDeleted(ctx, replica.N)
	if err != nil {
		return err
	}
	if len(folders) == 0 && !wanted {
		a.SayNone(replica, "No folder was deleted that can be restored.")
	}
	nodes := make([]localstore.Node, len(folders))
	for i := range folders {
		nodes[i] = localstore.Node{Folder: folders[i], Path: folders[i].Name}
	}
	if err := countDeleted(ctx, store, replica.N, nodes); err != nil {
		return err
	}
	return show(ctx, a, format, wanted, nodes, func(n *localstore.Node) output.Cell { return output.Text(n.Path) })
}

func newTree(a *app.App) *cobra.Command {
	format := nodeFormat()
	cmd := &cobra.Command{
		Use:     "tree",
		Short:   "Show folders as a tree",
		Example: "  bm folder tree",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runTree(cmd.Context(), a, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runTree(ctx context.Context, a *app.App, format *output.Format[localstore.Node]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	if wanted || !a.IO.OutTTY {
		return runList(ctx, a, format)
	}
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	tree, err := store.Tree(ctx, replica.N)
	if err != nil {
		return err
	}
	if len(tree) == 0 {
		a.SayNone(replica, noFolders)
	}
	return a.IO.Page(ctx, func(w io.Writer) error {
		for i := range tree {
			n := &tree[i]
			line := strings.Repeat("  ", n.Depth) + a.IO.Styled(output.Strong, output.Clean(n.Name)) +
				a.IO.Styled(output.Faint, fmt.Sprintf(" (%d)", n.Total))
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
		return nil
	})
}

func newAdd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "add PATH…",
		Aliases: []string{"create"},
		Short:   "Make folders",
		Long:    `Make folders, with those above them. A slash within a name is written \/.`,
		Example: "  bm folder add Dev/Go",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runAdd(cmd.Context(), a, args) },
	}
}

func runAdd(ctx context.Context, a *app.App, paths []string) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	wanted := make([]app.Destination, len(paths))
	for i, path := range paths {
		if wanted[i], err = app.FindDestination(ctx, store, replica.N, path); err != nil {
			return err
		}
		if len(wanted[i].Missing) > 0 {
			continue
		}
		if wanted[i].Folder.ID == "" {
			return app.Fail(app.Usage, "%q is the top of the tree, no folder to make.", output.Clean(path)).Try("bm folder add Dev/Go")
		}
		return app.Fail(app.Conflict, "There is a folder %q already.", output.Clean(path))
	}
	type place struct{ parent, name string }
	var made map[place]string // several may lie in one that is new
	err = a.Edit(ctx, store, replica, "folder add "+strings.Join(paths, " "), app.Work{Doing: "Making", Noun: "folders"}, func(ed *localstore.Editor) error {
		made = map[place]string{}
		for _, d := range wanted {
			for _, name := range d.Missing {
				at := place{d.Folder.ID, name}
				if made[at] == "" {
					next := app.Destination{Folder: d.Folder, Missing: []string{name}}
					if made[at], err = next.Make(ed); err != nil {
						return err
					}
				}
				d.Folder.ID = made[at]
			}
		}
		return nil
	})
	return done(a, err, "Made %s.", output.Plural(len(made), "folder"))
}

func done(a *app.App, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, format+"\n", args...)
	return nil
}

func newMove(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "mv FOLDER INTO",
		Short:             "Move a folder into another; / is the top",
		Example:           "  bm folder mv Go Dev\n  bm folder mv Dev/Go /",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			store, replica, err := a.Replica(ctx)
			if err != nil {
				return err
			}
			folder, err := app.PickFolder(ctx, store, replica.N, args[0])
			if err != nil {
				return err
			}
			into, err := app.PickFolder(ctx, store, replica.N, args[1])
			if err != nil {
				return err
			}
			folder, err = update(ctx, a, store, replica, folder, "folder mv "+strings.Join(args, " "), api.FolderInput{ParentID: api.Some(into.ID)})
			path, lookup := store.FolderPath(ctx, replica.N, into.ID)
			if err = done(a, cmp.Or(err, lookup), "Moved %s to %s.", output.Clean(folder.Name), output.Clean(cmp.Or(path, "/"))); err != nil {
				return err
			}
			return sayNamesake(ctx, a, store, replica, folder)
		},
	}
}

func newRename(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "rename FOLDER NAME",
		Short:             "Give a folder another name",
		Example:           "  bm folder rename Dev/Go Golang",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			store, replica, err := a.Replica(ctx)
			if err != nil {
				return err
			}
			folder, err := app.PickFolder(ctx, store, replica.N, args[0])
			if err != nil {
				return err
			}
			if strings.TrimSpace(args[1]) == "" {
				return app.Fail(app.Usage, "The name of a folder can't be empty.").Try("bm folder rename %q NAME", output.Clean(args[0]))
			}
			before := folder.Name
			folder, err = update(ctx, a, store, replica, folder, "folder rename "+strings.Join(args, " "), api.FolderInput{Name: api.Some(args[1])})
			if err = done(a, err, "Renamed %s to %s.", output.Clean(before), output.Clean(folder.Name)); err != nil {
				return err
			}
			return sayNamesake(ctx, a, store, replica, folder)
		},
	}
}

func update(ctx context.Context, a *app.App, store *localstore.Store, replica *localstore.Replica, folder localstore.Folder, command string, in api.FolderInput) (localstore.Folder, error) {
	if folder.ID == "" {
		return folder, app.Fail(app.Usage, "The top of the tree can't be changed.")
	}
	err := a.Edit(ctx, store, replica, command, app.Work{}, func(ed *localstore.Editor) error {
		after, err := ed.UpdateFolder(folder.ID, in)
		if err == nil {
			folder = after
		}
		return err
	})
	return folder, err
}

// sayNamesake tells of a folder that has the same path now: from here on the
// path means neither of the two.
func sayNamesake(ctx context.Context, a *app.App, store *localstore.Store, replica *localstore.Replica, folder localstore.Folder) error {
	tree, err := store.Tree(ctx, replica.N)
	if err != nil {
		return err
	}
	for i := range tree {
		if n := &tree[i]; n.ParentID == folder.ParentID && n.Name == folder.Name && n.ID != folder.ID {
			fmt.Fprintf(a.IO.Err, "There is another folder %s: name them by their ids from now on, %s and %s.\n", output.Clean(n.Path), output.Clean(folder.ID), output.Clean(n.ID))
		}
	}
	return nil
}
