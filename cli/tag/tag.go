package tag

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

// New is the command group.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tag", Aliases: []string{"tags"}, Short: "List, put, rename and merge tags",
		Example: `  bm tag ls
  bm tag add go,docs https://go.dev/doc
  bm tag rename golang go
  bm tag merge golang go-lang go --dry-run
  bm tag rm later --all`,
	}
	cmd.AddCommand(newList(a), newAdd(a), newRemove(a), newRename(a), newMerge(a))
	return cmd
}

func newList(a *app.App) *cobra.Command {
	format := &output.Format[api.Tag]{Fields: []output.Field[api.Tag]{
		{Name: "name", Get: func(t api.Tag) any { return t.Name }},
		{Name: "count", Get: func(t api.Tag) any { return t.Count }},
	}}
	cmd := &cobra.Command{
		Use:     "ls [PREFIX]",
		Aliases: []string{"list"},
		Short:   "List tags with how many bookmarks have them",
		Example: "  bm tag ls\n  bm tag ls go --json name,count --jq '.[] | select(.count > 10) | .name'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runList(cmd.Context(), a, format, strings.Join(args, ""))
		},
	}
	format.Bind(cmd)
	return cmd
}

func runList(ctx context.Context, a *app.App, format *output.Format[api.Tag], prefix string) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	tags, err := store.Tags(ctx, replica.N, prefix, 0)
	if err != nil {
		return err
	}
	if len(tags) == 0 && !wanted {
		why := "No bookmark has a tag yet: bm tag add TAG BOOKMARK puts one on."
		if prefix != "" {
			why = fmt.Sprintf("No tag begins with %q.", prefix)
		}
		a.SayNone(replica, why)
	}
	return a.IO.Page(ctx, func(w io.Writer) error {
		if wanted {
			return format.List(w, a.IO, tags)
		}
		table := a.IO.NewTable(w, output.Heading{Name: "tag", Flexible: true}, output.Heading{Name: "bookmarks", Right: true})
		for _, t := range tags {
			if err := table.Row(output.Styled(output.Label, t.Name), output.Number(t.Count)); err != nil {
				return err
			}
		}
		return table.End()
	})
}

const commas = "\nTags are separated by commas; a comma within one is written \\,."

func newAdd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "add TAG[,TAG…] BOOKMARK…",
		Short:   "Put tags on bookmarks",
		Long:    "Put tags on bookmarks." + commas,
		Example: "  bm tag add go,docs https://go.dev/doc",
		Args:    cobra.MinimumNArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.CompleteTagList(cmd, args, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			tags, err := some(args[0])
			if err != nil {
				return err
			}
			return runPut(cmd.Context(), a, "tag add "+args[0], args[1:], tags, nil)
		},
	}
}

// some are the tags of a list, which must not be empty.
func some(list string) ([]string, error) {
	tags := app.SplitTags(list)
	if len(tags) == 0 {
		return nil, app.Fail(app.Usage, "There is no tag in %q.", output.Clean(list)).Try("bm tag ls   lists those that there are")
	}
	return tags, nil
}

func newRemove(a *app.App) *cobra.Command {
	var all, yes, dryRun bool
	cmd := &cobra.Command{
		Use:   "rm TAG[,TAG…] [BOOKMARK…]",
		Short: "Take tags off bookmarks",
		Long:  "Take tags off some bookmarks, or with --all off every one." + commas,
		Example: `  bm tag rm later https://go.dev/doc
  bm tag rm later --all --dry-run
  bm tag rm later --all --yes            # off every bookmark`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.CompleteTagList(cmd, args, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			tags, err := some(args[0])
			if err != nil {
				return err
			}
			if all == (len(args) > 1) {
				return app.Fail(app.Usage, "Say which bookmarks to take it off, or --all.").Try("bm tag rm %s BOOKMARK…", output.Clean(args[0]))
			}
			switch {
			case dryRun && all:
				return plan(cmd.Context(), a, carriers(tags), without(tags))
			case dryRun:
				return plan(cmd.Context(), a, picked(args[1:]), without(tags))
			case all:
				return runRemoveAll(cmd.Context(), a, tags, yes)
			}
			return runPut(cmd.Context(), a, "tag rm "+args[0], args[1:], nil, tags)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "off every bookmark")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	bindDryRun(cmd, &dryRun)
	return cmd
}

// runPut puts tags on and takes tags off some bookmarks.
func runPut(ctx context.Context, a *app.App, command string, refs, add, remove []string) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := app.PickBookmarks(ctx, store, replica.N, refs)
	if err != nil {
		return err
	}
	n := 0
	err = a.Edit(ctx, store, replica, command, retagging, func(ed *localstore.Editor) error {
		n, err = ed.TagBookmarks(app.IDs(list), add, remove)
		return err
	})
	return changed(a, n, err)
}

// retagging is what every command about tags may do to many.
var retagging = app.Work{Doing: "Changing", Noun: "bookmarks"}

// changed ends a command that changed n bookmarks.
func changed(a *app.App, n int, err error) error {
	if err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "Changed %s.\n", output.Plural(n, "bookmark"))
	return nil
}

func runRemoveAll(ctx context.Context, a *app.App, tags []string, yes bool) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := carriers(tags)(ctx, store, replica.N)
	if err != nil {
		return err
	}
	if err := a.Confirm(yes, fmt.Sprintf("Take %s off %s?", strings.Join(tags, ", "), output.Plural(len(list), "bookmark"))); err != nil {
		return err
	}
	total, missing := 0, ""
	err = a.Edit(ctx, store, replica, "tag rm --all "+strings.Join(tags, ","), retagging, func(ed *localstore.Editor) error {
		total = 0
		for _, tag := range tags {
			n, err := ed.RemoveTag(tag)
			if err != nil {
				missing = tag
				return err
			}
			total += n
		}
		return nil
	})
	if api.CodeOf(err) == api.CodeNotFound {
		return unknown(ctx, store, replica.N, missing)
	}
	return changed(a, total, err)
}

func newRename(a *app.App) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use:               "rename TAG NEW",
		Short:             "Give a tag another name on every bookmark",
		Example:           "  bm tag rename golang go --dry-run\n  bm tag rename golang go",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.CompleteTags,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReplace(cmd.Context(), a, "tag rename", args, dryRun)
		},
	}
	bindDryRun(cmd, &dryRun)
	return cmd
}

func newMerge(a *app.App) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use:               "merge TAG… INTO",
		Short:             "Replace several tags by one on every bookmark",
		Example:           "  bm tag merge golang go-lang go --dry-run\n  bm tag merge golang go-lang go",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.CompleteTags,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReplace(cmd.Context(), a, "tag merge", args, dryRun)
		},
	}
	bindDryRun(cmd, &dryRun)
	return cmd
}

// runReplace replaces tags by the last of names, each of which is one tag.
func runReplace(ctx context.Context, a *app.App, command string, names []string, dryRun bool) error {
	last := len(names) - 1
	from, into := names[:last], names[last]
	for _, name := range names {
		if strings.TrimSpace(name) == "" {
			return app.Fail(app.Usage, "A tag can't be empty.").Try("bm %s --help", command)
		}
	}
	if dryRun {
		return plan(ctx, a, carriers(from), replaced(from, into))
	}
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	n := 0
	err = a.Edit(ctx, store, replica, command+" "+strings.Join(names, " "), retagging, func(ed *localstore.Editor) error {
		n, err = ed.MergeTags(from, into)
		return err
	})
	if api.CodeOf(err) == api.CodeNotFound {
		return unknown(ctx, store, replica.N, from...)
	}
	return changed(a, n, err)
}

// unknown says that no bookmark has one of some tags, and which tag was meant.
func unknown(ctx context.Context, store *localstore.Store, replica int64, tags ...string) error {
	what := "the tag " + output.Clean(strconv.Quote(tags[0]))
	if len(tags) > 1 {
		list := app.TagList(tags)
		what = "any of the tags " + output.Clean(list.String())
	}
	e := app.Fail(app.NotFound, "No bookmark has %s.", what)
	all, err := store.Tags(ctx, replica, "", 0)
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	for _, tag := range tags {
		if near := config.Nearest(tag, names); near != "" {
			return e.Try("%s   if that was meant; bm tag ls lists them all", app.Typed(near))
		}
	}
	return e.Try("bm tag ls   lists them")
}
