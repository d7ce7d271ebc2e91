package tag

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api/rules"
)

func bindDryRun(cmd *cobra.Command, dryRun *bool) {
	cmd.Flags().BoolVar(dryRun, "dry-run", false, "only show what would change, with the tags that it would have")
}

// source finds the bookmarks that a command is about.
type source func(ctx context.Context, store *localstore.Store, replica int64) ([]localstore.Bookmark, error)

// picked are those that are named.
func picked(refs []string) source {
	return func(ctx context.Context, store *localstore.Store, replica int64) ([]localstore.Bookmark, error) {
		return app.PickBookmarks(ctx, store, replica, refs)
	}
}

// carriers are those that have one of some tags.
func carriers(tags []string) source {
	return func(ctx context.Context, store *localstore.Store, replica int64) ([]localstore.Bookmark, error) {
		var list []localstore.Bookmark
		seen := map[string]bool{}
		for _, tag := range tags {
			q := localstore.List{Replica: replica}
			q.Tags = []string{tag}
			for b, err := range store.All(ctx, q) {
				if err != nil {
					return nil, err
				}
				if !seen[b.ID] {
					seen[b.ID] = true
					list = append(list, b)
				}
			}
		}
		if len(list) == 0 {
			return nil, unknown(ctx, store, replica, tags...)
		}
		return list, nil
	}
}

// without takes tags away.
func without(tags []string) func([]string) []string {
	return func(had []string) []string {
		return slices.DeleteFunc(slices.Clone(had), func(tag string) bool { return contains(tags, tag) })
	}
}

// replaced puts one tag where others were.
func replaced(from []string, into string) func([]string) []string {
	return func(had []string) []string {
		tags := slices.Clone(had)
		for i, tag := range tags {
			if contains(from, tag) {
				tags[i] = into
			}
		}
		return rules.Tags(tags)
	}
}

func contains(tags []string, tag string) bool {
	return slices.ContainsFunc(tags, func(other string) bool { return rules.TagKey(other) == rules.TagKey(tag) })
}

// plan shows what a command would change, and changes nothing.
func plan(ctx context.Context, a *app.App, find source, change func([]string) []string) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := find(ctx, store, replica.N)
	if err != nil {
		return err
	}
	// In the order of a list, as far as it goes.
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "id", Spare: 2}, output.Heading{Name: "title", Flexible: true},
		output.Heading{Name: "url", Flexible: true, Spare: 1}, output.Heading{Name: "tags", Flexible: true})
	n := 0
	for i := range list {
		after := app.TagList(change(list[i].Tags))
		if slices.Equal(after, list[i].Tags) {
			continue
		}
		n++
		err := table.Row(output.Cell{Value: list[i].ID, Shown: app.ShortID(list[i].ID), Style: output.Faint},
			output.Cell{Value: list[i].Title, Alone: list[i].URL, Style: output.Strong},
			output.Styled(output.Link, list[i].URL), output.Styled(output.Label, after.String()))
		if err != nil {
			return err
		}
	}
	if err := table.End(); err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "Would change %s.\n", output.Plural(n, "bookmark"))
	return nil
}
