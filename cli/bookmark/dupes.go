package bookmark

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
)

func newDupes(a *app.App) *cobra.Command {
	v := newView(a)
	groups := map[string]int{} // by the bookmarks' ids
	v.format.Fields = append(v.format.Fields, output.Field[localstore.Bookmark]{
		Name: "group", Get: func(b localstore.Bookmark) any { return groups[b.ID] },
	})
	var merge, yes, dryRun bool
	cmd := &cobra.Command{
		Use:   "dupes",
		Short: "Find bookmarks that are kept more than once, and unite them",
		Long: `Find bookmarks with the same URL, differences that don't matter aside.

--merge unites each group in its oldest bookmark: the tags of all, every title
and description. It stays in its folder, or goes into that of the oldest that is
in one. The others are in the trash, and bm undo takes it back.`,
		Example: `  bm dupes
  bm dupes --json group,id,folder
  bm dupes --merge --dry-run
  bm dupes --merge --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDupes(cmd.Context(), v, groups, merge, dryRun, yes)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&merge, "merge", false, "unite them")
	flags.BoolVar(&dryRun, "dry-run", false, "only show what --merge would unite")
	flags.BoolVarP(&yes, "yes", "y", false, "don't ask")
	v.format.Bind(cmd)
	return cmd
}

func runDupes(ctx context.Context, v *view, groupOf map[string]int, merge, dryRun, yes bool) error {
	if _, err := v.format.Wanted(); err != nil {
		return err
	}
	a := v.app
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	groups, err := store.Duplicates(ctx, replica.N)
	if err != nil {
		return err
	}
	var all []localstore.Bookmark
	for n, group := range groups {
		all = append(all, group...)
		for i := range group {
			groupOf[group[i].ID] = n + 1
		}
	}
	if !merge || dryRun {
		if err := v.on(ctx, store).list(of(all)); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		if wanted, _ := v.format.Wanted(); merge || dryRun {
			fmt.Fprintln(a.IO.Err, "Nothing is kept more than once.")
		} else if !wanted {
			a.SayNone(replica, "Nothing is kept more than once.")
		}
		return nil
	}
	what := output.Plural(len(all), "bookmark") + " into " + output.Plural(len(groups), "bookmark")
	if dryRun {
		fmt.Fprintf(a.IO.Err, "Would unite %s.\n", what)
	}
	if !merge || dryRun {
		return nil
	}
	if err := a.Confirm(yes, fmt.Sprintf("Unite %s?", what)); err != nil {
		return err
	}
	err = a.Edit(ctx, store, replica, "dupes --merge", app.Work{Doing: "Uniting", Noun: "bookmarks", Total: len(all)}, func(ed *localstore.Editor) error {
		for _, group := range groups {
			if err := unite(ed, group); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "United %s; bm undo takes it back.\n", what)
	return nil
}

// unite makes one bookmark of a group, the oldest first. An import without
// folders must not take those of another out of theirs.
func unite(ed *localstore.Editor, group []localstore.Bookmark) error {
	if _, err := ed.MergeBookmarks(group[0].ID, app.IDs(group[1:])...); err != nil {
		return err
	}
	filed := slices.IndexFunc(group, func(b localstore.Bookmark) bool { return b.FolderID != "" })
	if filed <= 0 {
		return nil
	}
	_, err := ed.MoveBookmarks([]string{group[0].ID}, group[filed].FolderID)
	return err
}
