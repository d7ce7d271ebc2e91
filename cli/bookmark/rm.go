package bookmark

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/query"
)

type removeOptions struct {
	app *app.App

	refs    []string
	query   string
	queried bool // --query was given
	yes     bool
	dryRun  bool
}

func newRemove(a *app.App) *cobra.Command {
	o := &removeOptions{app: a}
	cmd := &cobra.Command{
		Use:     "rm BOOKMARK…",
		Aliases: []string{"delete"},
		Short:   "Delete bookmarks",
		Long: fmt.Sprintf(`Delete bookmarks. They can be restored for %d days: bm undo takes back the last
command, bm restore any.`, api.TrashDays),
		Example: `  bm rm https://go.dev
  bm rm --query 'is:dead site:example.com' --dry-run
  bm rm --query 'is:dead site:example.com' --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.refs, o.queried = args, cmd.Flags().Changed("query")
			return runRemove(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.query, "query", "", "all that a `query` finds, see bm search")
	flags.BoolVarP(&o.yes, "yes", "y", false, "don't ask")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only show what would be deleted")
	return cmd
}

func runRemove(ctx context.Context, o *removeOptions) error {
	if len(o.refs) > 0 && o.queried {
		return app.Fail(app.Usage, "Say which bookmarks to delete by name or with --query, not both. Nothing was deleted.").
			Try("two commands; or --query %s   if it was one query, in quotes", app.Typed(o.query+" "+strings.Join(o.refs, " ")))
	}
	if len(o.refs) == 0 && !o.queried {
		return app.Fail(app.Usage, "Say which bookmarks to delete: by name, or with --query.").Try("bm rm https://…")
	}
	if o.queried && query.Parse(o.query).Empty() {
		return app.Fail(app.Usage, "--query %q has no word and no filter: it would mean every bookmark. Nothing was deleted.", output.Clean(o.query)).
			Try("bm search --help   shows what a query can say")
	}
	if o.queried && query.Parse(o.query).Cut {
		return app.Fail(app.Usage, "--query is longer than a query can be: it would mean more than it says. Nothing was deleted.").
			Try("a shorter query")
	}
	if hints := mistaken(o.query); len(hints) > 0 {
		// Words would be found elsewhere than the filter that was meant.
		return app.Fail(app.Usage, "--query %q: %s Nothing was deleted.", output.Clean(o.query), output.Clean(hints[0])).
			Try("bm search %s   shows what it finds", app.Typed(o.query))
	}
	store, replica, err := o.app.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := o.pick(ctx, store, replica.N)
	if err != nil {
		return err
	}
	if o.queried {
		if err := (&listOptions{app: o.app, query: o.query}).hint(ctx, store, replica.N, len(list)); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return app.Fail(app.NotFound, "The query finds nothing.").Try("bm search %s   shows what it finds", app.Typed(o.query))
	}
	if o.dryRun {
		if err := newView(o.app).on(ctx, store).list(of(list)); err != nil {
			return err
		}
		fmt.Fprintf(o.app.IO.Err, "Would delete %s.\n", output.Plural(len(list), "bookmark"))
		return nil
	}
	if err := o.app.Confirm(o.yes, question("Delete", list)); err != nil {
		return err
	}
	what := strings.Join(titles(list), ", ")
	if o.queried {
		what = "--query " + o.query
	}
	deleted := 0
	err = o.app.Edit(ctx, store, replica, words("rm", what), app.Work{Doing: "Deleting", Noun: "bookmarks"}, func(ed *localstore.Editor) error {
		deleted, err = ed.DeleteBookmarks(app.IDs(list)...)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(o.app.IO.Err, "Deleted %s; bm undo takes it back.\n", output.Plural(deleted, "bookmark"))
	return nil
}

func (o *removeOptions) pick(ctx context.Context, store *localstore.Store, replica int64) ([]localstore.Bookmark, error) {
	if !o.queried {
		return app.PickBookmarks(ctx, store, replica, o.refs)
	}
	q := localstore.List{Replica: replica}
	q.Query = o.query
	var list []localstore.Bookmark
	for b, err := range store.All(ctx, q) {
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// question says what will be touched: some by name, the rest by number.
func question(verb string, list []localstore.Bookmark) string {
	const named = 5
	var b strings.Builder
	for i, bookmark := range list {
		if i == named {
			fmt.Fprintf(&b, "  … and %d more\n", len(list)-named)
			break
		}
		fmt.Fprintf(&b, "  %s\n", output.Clean(strings.TrimSpace(bookmark.Title+"  "+bookmark.URL)))
	}
	return fmt.Sprintf("%s%s %s?", b.String(), verb, output.Plural(len(list), "bookmark"))
}

func newRestore(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "restore BOOKMARK…",
		Short: "Bring deleted bookmarks back",
		Long: fmt.Sprintf(`Bring deleted bookmarks back, named by their ids, the beginnings of these, or
their URLs, for %d days after they were deleted. One whose folder is gone comes
back in the nearest folder above it.`, api.TrashDays),
		Example: `  bm ls --deleted
  bm restore https://go.dev
  bm restore 019a2b3c-4d5e-7f60`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runRestore(cmd.Context(), a, args) },
	}
}

func runRestore(ctx context.Context, a *app.App, refs []string) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	ids, err := pickDeleted(ctx, store, replica.N, refs)
	if err != nil {
		return err
	}
	err = a.Edit(ctx, store, replica, words("restore", ids...), app.Work{Doing: "Restoring", Noun: "bookmarks"}, func(ed *localstore.Editor) error {
		return ed.RestoreBookmarks(ids...)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "Restored %s.\n", output.Plural(len(ids), "bookmark"))
	return nil
}
