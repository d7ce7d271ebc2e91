package bookmark

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/query"
)

func newSearch(a *app.App) *cobra.Command {
	o := &listOptions{app: a, view: newView(a)}
	var save, load, forget string
	var saved bool
	cmd := &cobra.Command{
		Use:   "search QUERY…",
		Short: "Find bookmarks",
		Long: `Find bookmarks by their title, description, URL and tags, best first.

  words            all of them; the last one, and word*, match beginnings
  "a phrase"       these words in this order
  tag:x  #x        with a tag
  folder:"Dev/Go"  in a folder or below it
  site:example.com on a site
  is:dead          also: ok, unknown, archived, untagged, unfiled
  before:2025-01-31  after:2024-12-31
  -word            not; also -tag:x and so on
  one OR two, (…)

Case and accents don't matter. What isn't grammar is searched as words. A minus
in front of the first word would be taken for a flag: -- goes before it.

On a terminal what matched is underlined; what matched in the description alone
is shown in a line below.`,
		Example: `  bm search go concurrency
  bm search 'tag:go -is:dead after:2024-01-01'
  bm search -- -draft tag:go
  bm search golang --json url --jq '.[].url' | xargs -n1 curl -I
  bm search 'tag:later is:unfiled' --save later
  bm search --load later`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.given = cmd.Flags().Changed
			o.limited = o.given("limit")
			o.query = strings.TrimSpace(strings.Join(args, " "))
			if (saved || forget != "") && o.query != "" {
				e := app.Fail(app.Usage, "--saved and --forget take no query: %q is one.", output.Clean(o.query))
				if saved {
					return e.Try("bm search --load %s   searches for the one kept under that name", app.Typed(o.query))
				}
				return e.Try("bm search --forget %s", app.Typed(forget))
			}
			for flag, name := range map[string]string{"save": save, "load": load, "forget": forget} {
				if o.given(flag) && strings.TrimSpace(name) == "" {
					return app.Fail(app.Usage, "--%s wants the name of a query.", flag).Try("bm search --saved   lists those that are kept")
				}
			}
			if save != "" && (len(o.tags) > 0 || o.status != "") {
				return app.Fail(app.Usage, "--save keeps the query, and neither --tag nor --status.").
					Try("tag:x or is:dead in the query itself")
			}
			switch {
			case saved:
				return o.runSaved(cmd.Context())
			case forget != "":
				return runForget(cmd.Context(), a, forget)
			case load != "":
				if err := o.load(cmd.Context(), load); err != nil {
					return err
				}
			}
			if err := o.checkQuery(); err != nil {
				return err
			}
			if o.sort == "" && o.query != "" {
				o.sort = "relevance"
			}
			if save != "" {
				if err := o.save(cmd.Context(), save); err != nil {
					return err
				}
			}
			return runList(cmd.Context(), o)
		},
	}
	o.bind(cmd, "best first")
	flags := cmd.Flags()
	flags.StringVar(&save, "save", "", "keep the query under a `name` on this machine")
	flags.StringVar(&load, "load", "", "search for the query kept under a `name`, and for what else is given")
	flags.BoolVar(&saved, "saved", false, "list the queries that are kept")
	flags.StringVar(&forget, "forget", "", "forget the query kept under a `name`")
	cmd.MarkFlagsMutuallyExclusive("load", "saved", "forget")
	ofBookmarks := cmd.FlagErrorFunc()
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		err = ofBookmarks(c, err)
		if none, ok := errors.AsType[*output.NoFields](err); ok && saved {
			none.Fields = output.Borrow(&o.view.format, savedFields).FieldNames()
		}
		return err
	})
	for _, name := range []string{"load", "forget"} {
		_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeSaved(cmd.Context(), a), cobra.ShellCompDirectiveNoFileComp
		})
	}
	return cmd
}

// checkQuery refuses a query that asks for nothing, and would find everything.
func (o *listOptions) checkQuery() error {
	narrowed := len(o.tags) > 0 || o.status != "" // by flags, as ls is
	if !query.Parse(o.query).Empty() || o.query == "" && narrowed {
		return nil
	}
	e := app.Fail(app.Usage, "There is nothing to search for.")
	if strings.TrimSpace(o.query) != "" {
		e = app.Fail(app.Usage, "There is nothing to search for in %q: no word and no filter.", output.Clean(o.query))
	}
	return e.Try("bm search WORDS, or bm ls for all bookmarks")
}

func completeSaved(ctx context.Context, a *app.App) []string {
	store, err := a.Store(ctx)
	if err != nil {
		return nil
	}
	kept, err := store.SavedSearches(ctx)
	if err != nil {
		return nil
	}
	names := make([]string, len(kept))
	for i := range kept {
		names[i] = kept[i].Name
	}
	return names
}

func (o *listOptions) save(ctx context.Context, name string) error {
	store, err := o.app.Store(ctx)
	if err != nil {
		return err
	}
	return store.SaveSearch(ctx, name, o.query)
}

func (o *listOptions) load(ctx context.Context, name string) error {
	store, err := o.app.Store(ctx)
	if err != nil {
		return err
	}
	kept, err := store.SavedSearches(ctx)
	if err != nil {
		return err
	}
	for _, k := range kept {
		if k.Name == name {
			// What was saved may hold an OR, and parentheses that nothing closes.
			o.query = strings.TrimSpace(query.Enclosed(k.Query) + " " + o.query)
			return nil
		}
	}
	return unkept(name)
}

func unkept(name string) *app.Error {
	return app.Fail(app.NotFound, "No query is kept under %q.", output.Clean(name)).Try("bm search --saved   lists them")
}

var savedFields = []output.Field[localstore.SavedSearch]{
	{Name: "name", Get: func(k localstore.SavedSearch) any { return k.Name }},
	{Name: "query", Get: func(k localstore.SavedSearch) any { return k.Query }},
}

func (o *listOptions) runSaved(ctx context.Context) error {
	a := o.app
	format := output.Borrow(&o.view.format, savedFields)
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	kept, err := store.SavedSearches(ctx)
	if err != nil {
		return err
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, kept)
	}
	if len(kept) == 0 {
		a.SayNone(nil, "No query is kept yet: bm search QUERY --save NAME keeps one.")
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "name"}, output.Heading{Name: "query", Flexible: true})
	for _, k := range kept {
		if err := table.Row(output.Styled(output.Strong, k.Name), output.Text(k.Query)); err != nil {
			return err
		}
	}
	return table.End()
}

func runForget(ctx context.Context, a *app.App, name string) error {
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	err = store.DeleteSearch(ctx, name)
	if api.CodeOf(err) == api.CodeNotFound {
		return unkept(name).Because(err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "Forgot %q.\n", output.Clean(name))
	return nil
}

func newRandom(a *app.App) *cobra.Command {
	v := newView(a)
	limit := 1
	cmd := &cobra.Command{
		Use:     "random",
		Short:   "Show bookmarks by chance",
		Example: "  bm random\n  bm random --limit 5 --json url,title",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runRandom(cmd.Context(), v, limit) },
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 1, "so `many`")
	v.format.Bind(cmd)
	return cmd
}

func runRandom(ctx context.Context, v *view, limit int) error {
	if _, err := v.format.Wanted(); err != nil {
		return err
	}
	if limit < 1 {
		return app.Fail(app.Usage, "--limit %d: a number from 1 is wanted.", limit)
	}
	store, replica, err := v.app.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := store.Random(ctx, replica.N, limit, v.app.Pick)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return app.Fail(app.NotFound, "There are no bookmarks yet.").Try("bm add https://…")
	}
	return v.on(ctx, store).list(of(list))
}
