package bookmark

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
)

func newDupes(a *app.App) *cobra.Command {
	v := newView(a)
	var merge, yes, dryRun bool
	cmd := &cobra.Command{
		Use:   "dupes",
		Short: "Find bookmarks that are kept more than once, and unite them",
		Long: `Find bookmarks with the same URL, differences that don't matter aside.

--merge unites each group in its oldest bookmark: the tags of all, every title
and description. Nothing of them is lost, and bm undo takes it back.`,
		Example: `  bm dupes
  bm dupes --merge --dry-run
  bm dupes --merge --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDupes(cmd.Context(), v, merge && !dryRun, yes) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&merge, "merge", false, "unite them")
	flags.BoolVar(&dryRun, "dry-run", false, "only show what --merge would unite")
	flags.BoolVarP(&yes, "yes", "y", false, "don't ask")
	v.format.Bind(cmd)
	return cmd
}

func runDupes(ctx context.Context, v *view, merge, yes bool) error {
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
	if !merge {
		var all []localstore.Bookmark
		for _, group := range groups {
			all = append(all, group...)
		}
		return v.on(ctx, store).list(of(all))
	}
	extra := 0
	for _, group := range groups {
		extra += len(group) - 1
	}
	if extra == 0 {
		fmt.Fprintln(a.IO.Err, "Nothing is kept more than once.")
		return nil
	}
	if err := a.Confirm(yes, fmt.Sprintf("Unite %s into %s?", output.Plural(extra+len(groups), "bookmark"), output.Plural(len(groups), "bookmark"))); err != nil {
		return err
	}
	err = store.Edit(ctx, replica.N, "dupes --merge", func(ed *localstore.Editor) error {
		for _, group := range groups {
			if _, err := ed.MergeBookmarks(group[0].ID, app.IDs(group[1:])...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.Edited(ctx)
	fmt.Fprintf(a.IO.Err, "United %s into %s.\n", output.Plural(extra+len(groups), "bookmark"), output.Plural(len(groups), "bookmark"))
	return nil
}
