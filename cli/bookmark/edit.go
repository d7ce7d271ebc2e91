package bookmark

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/rules"
)

type editOptions struct {
	app  *app.App
	view *view

	url, title, description string
	tags, addTags, dropTags app.TagList
	folder                  string
	given                   func(flag string) bool
}

func newEdit(a *app.App) *cobra.Command {
	o := &editOptions{app: a, view: newView(a)}
	cmd := &cobra.Command{
		Use:   "edit BOOKMARK",
		Short: "Change a bookmark",
		Long: `Change a bookmark, named by its id, the beginning of its id, or its URL. What no
flag names stays as it is.`,
		Example: `  bm edit 019a2b3c --title "The Go language"
  bm edit https://go.dev --add-tag docs --remove-tag later
  bm edit 019a2b3c --description ""`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.given = cmd.Flags().Changed
			return runEdit(cmd.Context(), o, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.url, "url", "", "another `URL`")
	flags.StringVar(&o.title, "title", "", "another `title`")
	flags.StringVarP(&o.description, "description", "d", "", "another `description`; empty for none")
	flags.VarP(&o.tags, "tag", "t", "`tags` that replace all others"+app.TagsUsage+`; "" for none`)
	flags.Var(&o.addTags, "add-tag", "these `tags` too")
	flags.Var(&o.dropTags, "remove-tag", "these `tags` no more")
	flags.StringVarP(&o.folder, "folder", "f", "", "into the `folder`, made where there is none; / for the top")
	cmd.MarkFlagsMutuallyExclusive("tag", "add-tag")
	cmd.MarkFlagsMutuallyExclusive("tag", "remove-tag")
	for _, name := range []string{"tag", "add-tag", "remove-tag"} {
		_ = cmd.RegisterFlagCompletionFunc(name, a.CompleteTagList)
	}
	_ = cmd.RegisterFlagCompletionFunc("folder", a.CompleteFolders)
	o.view.format.Bind(cmd)
	return cmd
}

func runEdit(ctx context.Context, o *editOptions, ref string) error {
	if _, err := o.view.format.Wanted(); err != nil {
		return err
	}
	changed := false
	for _, name := range []string{"url", "title", "description", "tag", "add-tag", "remove-tag", "folder"} {
		changed = changed || o.given(name)
	}
	if !changed {
		return app.Fail(app.Usage, "There is nothing to change.").Try("bm edit %s --title …; bm edit --help lists the rest", output.Clean(ref))
	}
	if o.given("url") {
		o.url = app.CompleteURL(strings.Trim(o.url, " "))
		if fault := app.URLFault(o.url, ""); fault != "" {
			return app.Fail(app.Usage, "--url: %s Nothing was changed.", fault).Try("bm edit %s --url https://…", output.Clean(ref))
		}
	}
	store, replica, err := o.app.Replica(ctx)
	if err != nil {
		return err
	}
	b, err := app.PickBookmark(ctx, store, replica.N, ref)
	if err != nil {
		return err
	}
	var into app.Destination
	if o.given("folder") {
		if into, err = app.FindDestination(ctx, store, replica.N, o.folder); err != nil {
			return err
		}
	}
	var edited localstore.Bookmark
	var same []localstore.Bookmark
	err = o.app.Edit(ctx, store, replica, words("edit", app.TitleOf(&b)), app.Work{}, func(ed *localstore.Editor) error {
		in, err := o.input(ed, b.ID, &into)
		if err != nil {
			return err
		}
		if edited, err = ed.UpdateBookmark(b.ID, in); err != nil || !o.given("url") {
			return err
		}
		same, err = ed.SameURL(o.url)
		return err
	})
	if err != nil {
		return err
	}
	if len(same) > 1 {
		fmt.Fprintf(o.app.IO.Err, "%s have this URL now: bm dupes lists them, bm undo takes it back.\n", output.Plural(len(same), "bookmark"))
	}
	return o.view.on(ctx, store).one(edited)
}

func (o *editOptions) input(ed *localstore.Editor, id string, into *app.Destination) (api.BookmarkInput, error) {
	var in api.BookmarkInput
	set := func(flag string, field *api.Optional[string], value string) {
		if o.given(flag) {
			*field = api.Some(value)
		}
	}
	set("url", &in.URL, o.url)
	set("title", &in.Title, o.title)
	set("description", &in.Description, o.description)
	if o.given("tag") {
		in.Tags = api.Some([]string(o.tags))
	}
	if o.given("add-tag") || o.given("remove-tag") {
		// Another program may have tagged it since it was looked for. A change of
		// nothing answers it as it is now.
		b, err := ed.UpdateBookmark(id, api.BookmarkInput{})
		if err != nil {
			return in, err
		}
		in.Tags = api.Some(without(rules.UniteTags(b.Tags, o.addTags), o.dropTags))
	}
	if o.given("folder") {
		folderID, err := into.Make(ed)
		if err != nil {
			return in, err
		}
		in.FolderID = api.Some(folderID)
	}
	return in, nil
}

// without is tags less some, compared as tags are.
func without(tags, less []string) []string {
	drop := map[string]bool{}
	for _, t := range less {
		drop[rules.TagKey(t)] = true
	}
	kept := []string{}
	for _, t := range tags {
		if !drop[rules.TagKey(t)] {
			kept = append(kept, t)
		}
	}
	return kept
}

func newMove(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "mv BOOKMARK… FOLDER",
		Short: "Move bookmarks into a folder",
		Long:  "Move bookmarks to the end of a folder, which is made where there is none; / is the top.",
		Example: `  bm mv https://go.dev Dev/Go
  bm search tag:go is:unfiled --json id --jq '.[].id' | xargs -I% bm mv % Dev/Go`,
		Args: cobra.MinimumNArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.CompleteFolders(cmd, args, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMove(cmd.Context(), a, args[:len(args)-1], args[len(args)-1])
		},
	}
}

func runMove(ctx context.Context, a *app.App, refs []string, path string) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := app.PickBookmarks(ctx, store, replica.N, refs)
	if err != nil {
		return err
	}
	into, err := app.FindDestination(ctx, store, replica.N, path)
	if err != nil {
		return err
	}
	moved, folderID := 0, ""
	command := words("mv", append(titles(list), path)...)
	err = a.Edit(ctx, store, replica, command, app.Work{Doing: "Moving", Noun: "bookmarks"}, func(ed *localstore.Editor) error {
		if folderID, err = into.Make(ed); err != nil {
			return err
		}
		moved, err = ed.MoveBookmarks(app.IDs(list), folderID)
		return err
	})
	if err != nil {
		return err
	}
	if path, err = store.FolderPath(ctx, replica.N, folderID); err != nil {
		return err
	}
	where := output.Clean(cmp.Or(path, "/"))
	if len(into.Missing) > 0 {
		where = "the new folder " + where // which nobody may have meant to make
	}
	fmt.Fprintf(a.IO.Err, "Moved %s to %s.\n", output.Plural(moved, "bookmark"), where)
	return nil
}

func titles(list []localstore.Bookmark) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = app.TitleOf(&list[i])
	}
	return names
}
