package bookmark

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/rules"
)

func newDupes(a *app.App) *cobra.Command {
	v := newView(a)
	groups := map[string]int{} // by the bookmarks' ids
	v.format.Fields = append(v.format.Fields, output.Field[localstore.Bookmark]{
		Name: "group", Get: func(b localstore.Bookmark) any { return groups[b.ID] },
	})
	v.groups = groups
	o := &dupesOptions{view: v}
	cmd := &cobra.Command{
		Use:   "dupes",
		Short: "Find bookmarks that are kept more than once, and unite them",
		Long: `Find bookmarks with the same URL, differences that don't matter aside: the case
of scheme and host, a default port, an empty path or fragment, percent-encoding,
and the two ways to write an international name.

--merge unites each group in its oldest bookmark: the tags of all, the oldest
date, every title, description and attribute. It stays in its folder, or goes
into that of the oldest that is in one. The others are in the trash, and bm undo
takes it back. With --strip-tracking parameters such as utm_source don't count,
and what stays loses them.`,
		Example: `  bm dupes
  bm dupes --json group,id,folder
  bm dupes --merge --dry-run
  bm dupes --strip-tracking --merge --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDupes(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.merge, "merge", false, "unite them")
	flags.BoolVar(&o.strip, "strip-tracking", false, "heed no parameters that only tell who follows a URL")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only show what --merge would unite")
	flags.BoolVarP(&o.yes, "yes", "y", false, "don't ask")
	v.format.Bind(cmd)
	return cmd
}

type dupesOptions struct {
	*view

	merge, strip, dryRun, yes bool
}

func runDupes(ctx context.Context, o *dupesOptions) error {
	if _, err := o.format.Wanted(); err != nil {
		return err
	}
	a := o.app
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	groups, err := store.Duplicates(ctx, replica.N, o.strip)
	if err != nil {
		return err
	}
	var all []localstore.Bookmark
	for n, group := range groups {
		all = append(all, group...)
		for i := range group {
			o.groups[group[i].ID] = n + 1
		}
	}
	if !o.merge || o.dryRun {
		if err := o.on(ctx, store).list(of(all)); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		if wanted, _ := o.format.Wanted(); o.merge || o.dryRun {
			fmt.Fprintln(a.IO.Err, "Nothing is kept more than once.")
		} else if !wanted {
			a.SayNone(replica, "Nothing is kept more than once.")
		}
		return nil
	}
	if o.dryRun {
		fmt.Fprintf(a.IO.Err, "Would unite %s.\n", counted(groups))
	}
	if !o.merge || o.dryRun {
		return nil
	}
	if err := a.Confirm(o.yes, fmt.Sprintf("Unite %s?", counted(groups))); err != nil {
		return err
	}
	var united, left [][]localstore.Bookmark
	err = a.Edit(ctx, store, replica, "dupes --merge", app.Work{Doing: "Uniting", Noun: "bookmarks", Total: len(all)}, func(ed *localstore.Editor) error {
		united, left = nil, nil
		for _, group := range groups {
			err := o.unite(ed, group)
			switch {
			case errors.Is(err, localstore.ErrTooMuch):
				left = append(left, group)
			case err != nil:
				return err
			default:
				united = append(united, group)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "United %s; bm undo takes it back.\n", counted(united))
	if len(left) == 0 {
		return nil
	}
	for _, group := range left {
		fmt.Fprintf(a.IO.Err, "  left as they are, since one has no room for all of it: %s\n", output.Clean(group[0].URL))
	}
	return app.Fail(app.Partly, "%s too much.", holds(len(left))).Try("bm dupes   shows them; bm edit shortens a description")
}

func holds(groups int) string {
	if groups == 1 {
		return "1 group holds"
	}
	return fmt.Sprintf("%d groups hold", groups)
}

// counted says how many become how many.
func counted(groups [][]localstore.Bookmark) string {
	all := 0
	for _, group := range groups {
		all += len(group)
	}
	return output.Plural(all, "bookmark") + " into " + output.Plural(len(groups), "bookmark")
}

// unite makes one bookmark of a group, the oldest first. An import without
// folders must not take those of another out of theirs.
func (o *dupesOptions) unite(ed *localstore.Editor, group []localstore.Bookmark) error {
	if _, err := ed.MergeBookmarks(group[0].ID, app.IDs(group[1:])...); err != nil {
		return err
	}
	if url := rules.StripTracking(group[0].URL); o.strip && url != group[0].URL {
		if _, err := ed.UpdateBookmark(group[0].ID, api.BookmarkInput{URL: api.Some(url)}); err != nil {
			return err
		}
	}
	filed := slices.IndexFunc(group, func(b localstore.Bookmark) bool { return b.FolderID != "" })
	if filed <= 0 {
		return nil
	}
	_, err := ed.MoveBookmarks([]string{group[0].ID}, group[filed].FolderID)
	return err
}
