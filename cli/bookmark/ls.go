package bookmark

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/query"
)

type listOptions struct {
	app  *app.App
	view *view

	folder    string
	filed     bool // folder was given
	tags      app.TagList
	query     string
	sort      string
	status    string
	limit     int
	recursive bool
	deleted   bool
	count     bool

	limited bool // --limit was given
	given   func(flag string) bool
}

// onScreen is how many rows a list has on a terminal unless it is told.
const onScreen = 50

func newList(a *app.App) *cobra.Command {
	o := &listOptions{app: a, view: newView(a)}
	cmd := &cobra.Command{
		Use:     "ls [FOLDER]",
		Aliases: []string{"list"},
		Short:   "List bookmarks",
		Long: `List bookmarks, newest first. On a terminal the first 50, in a pipe all of them,
with tabs between id, title, URL, tags, folder and date.`,
		Example: `  bm ls
  bm ls Dev/Go --recursive --sort title
  bm ls --tag go --tag docs --json url --jq '.[].url'
  bm ls --template '{{.title}} <{{.url}}> {{join ", " .tags}}'
  bm ls --deleted
  bm open "$(bm ls | fzf | cut -f1)"`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.folder, o.filed = args[0], true
			}
			o.given = cmd.Flags().Changed
			o.limited = o.given("limit")
			return runList(cmd.Context(), o)
		},
	}
	o.bind(cmd, "newest first")
	flags := cmd.Flags()
	flags.BoolVarP(&o.recursive, "recursive", "r", false, "what is in the folders below, too")
	flags.BoolVar(&o.deleted, "deleted", false, "what was deleted and can be restored")
	return cmd
}

// bind adds what ls and search have in common.
func (o *listOptions) bind(cmd *cobra.Command, order string) {
	flags := cmd.Flags()
	flags.VarP(&o.tags, "tag", "t", "only with all of these `tags`"+app.TagsUsage)
	flags.StringVar(&o.sort, "sort", "", "order by `key`: "+strings.Join(api.SortKeys, ", ")+"; - in front for descending (default "+order+")")
	flags.StringVar(&o.status, "status", "", "only `what` is one of: "+strings.Join(api.FilterStatuses, ", "))
	flags.IntVarP(&o.limit, "limit", "n", 0, "at most so `many`; 0 for all")
	flags.BoolVarP(&o.count, "count", "c", false, "only count them")
	_ = cmd.RegisterFlagCompletionFunc("tag", o.app.CompleteTagList)
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(api.SortKeys, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(api.FilterStatuses, cobra.ShellCompDirectiveNoFileComp))
	o.view.format.Bind(cmd)
}

func (o *listOptions) check() error {
	if _, err := o.view.format.Wanted(); err != nil {
		return err
	}
	if len(o.tags) == 0 && o.given("tag") {
		// A script's variable that is empty must not mean every bookmark.
		return app.Fail(app.Usage, "--tag is empty: it names no tag.").Try("--status untagged   for those that have none")
	}
	if len(o.tags) > api.MaxTags {
		return app.Fail(app.Usage, "--tag names %d tags, and no bookmark has more than %d.", len(o.tags), api.MaxTags)
	}
	if o.limit < 0 {
		return app.Fail(app.Usage, "--limit %d: a number from 0 is wanted.", o.limit)
	}
	if o.status != "" && !slices.Contains(api.FilterStatuses, o.status) {
		return app.Fail(app.Usage, "--status %q: one of %s is wanted.", output.Clean(o.status), strings.Join(api.FilterStatuses, ", "))
	}
	if o.sort == "-relevance" {
		return app.Fail(app.Usage, "--sort \"-relevance\": the best come first, and there is no other way round.").Try("--sort relevance")
	}
	if key := strings.TrimPrefix(o.sort, "-"); key != "" && !slices.Contains(api.SortKeys, key) {
		return app.Fail(app.Usage, "--sort %q: one of %s is wanted, with - in front for descending.", output.Clean(o.sort), strings.Join(api.SortKeys, ", "))
	}
	return nil
}

func runList(ctx context.Context, o *listOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	store, replica, err := o.app.Replica(ctx)
	if err != nil {
		return err
	}
	q := localstore.List{Replica: replica.N, SortBy: o.sort, Limit: o.limit}
	q.Tags, q.Query, q.FilterStatus, q.Recursive = o.tags, o.query, o.status, o.recursive
	if o.deleted {
		q.FilterStatus = "deleted"
	}
	if o.query != "" {
		o.view.marks = newHighlight(query.Parse(o.query))
	}
	if o.filed {
		folder, err := app.PickFolder(ctx, store, replica.N, o.folder)
		if err != nil {
			return err
		}
		if q.FolderID = folder.ID; q.FolderID == "" {
			q.FolderID = api.RootFolder
		}
	}
	if o.count {
		n, err := store.Count(ctx, q)
		if err != nil {
			return err
		}
		if _, err = fmt.Fprintln(o.app.IO.Out, n); err != nil {
			return err
		}
		return o.hint(ctx, store, replica.N, n)
	}
	cut := !o.limited && o.app.IO.OutTTY
	if cut {
		q.Limit = onScreen
	}
	shown := 0
	err = o.view.on(ctx, store).list(func(yield func(localstore.Bookmark) error) error {
		for b, err := range store.All(ctx, q) {
			if err != nil {
				return err
			}
			shown++
			if err := yield(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = o.hint(ctx, store, replica.N, shown)
	}
	if wanted, _ := o.view.format.Wanted(); err == nil && shown == 0 && !wanted {
		why, failed := o.none(ctx, store, replica)
		if failed != nil {
			return failed
		}
		o.app.SayNone(replica, why)
	}
	if err != nil || !cut || shown < onScreen {
		return err
	}
	return o.sayHowMany(ctx, store, q)
}

// none is why a list has no rows.
func (o *listOptions) none(ctx context.Context, store *localstore.Store, replica *localstore.Replica) (string, error) {
	switch {
	case o.query != "" || len(o.tags) > 0 || o.status != "":
		return "Nothing was found.", nil
	case o.deleted:
		return "Nothing was deleted that can be restored.", nil
	case o.filed && !o.recursive:
		return "No bookmark is in this folder; --recursive shows those below it, too.", nil
	case o.filed:
		return "No bookmark is in this folder or below it.", nil
	}
	all, err := store.Replicas(ctx)
	if err != nil {
		return "", err
	}
	if len(all) > 1 {
		// They may well be looked for in the wrong one.
		return fmt.Sprintf("There are no bookmarks in %s; bm workspace ls lists the other workspaces.", replica.Name), nil
	}
	return "There are no bookmarks yet: bm add https://… keeps one, bm import FILE brings a browser's along.", nil
}

// sayHowMany tells somebody who sees the first rows how many there are.
func (o *listOptions) sayHowMany(ctx context.Context, store *localstore.Store, q localstore.List) error {
	q.Limit = 0
	n, err := store.Count(ctx, q)
	if err == nil && n > onScreen {
		fmt.Fprintf(o.app.IO.Err, "The first %d of %d; --limit 0 shows all.\n", onScreen, n)
	}
	return err
}
