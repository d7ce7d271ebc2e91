package bookmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/rules"
)

type addOptions struct {
	app  *app.App
	view *view

	urls        []string
	lines       []int // where each was on the standard input; nil for arguments
	title       string
	description string
	tags        app.TagList
	folder      string
	filed       bool // --folder was given
	into        app.Destination
	duplicate   bool
	update      bool
}

func newAdd(a *app.App) *cobra.Command {
	o := &addOptions{app: a, view: newView(a)}
	cmd := &cobra.Command{
		Use:   "add [URL…]",
		Short: "Keep bookmarks",
		Long: `Keep bookmarks. Needs no network, no server and no account.

Without arguments URLs are read from the standard input, one a line. A URL that
is kept already is shown and not kept twice (exit code 5). With --update it gets
the tags that are given beside its own, and a title or a description that is
given in the place of its own; it stays in its folder.`,
		Example: `  bm add https://go.dev
  bm add https://go.dev --title "Go" --tag go,lang --folder Dev/Go
  pbpaste | bm add --tag later
  bm add https://go.dev --update --tag docs     # unite the tags with what is there`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.urls, o.filed = args, cmd.Flags().Changed("folder")
			return runAdd(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.title, "title", "", "the `title`; the URL stands in for one")
	flags.StringVarP(&o.description, "description", "d", "", "a `description`")
	flags.VarP(&o.tags, "tag", "t", "`tags`"+app.TagsUsage)
	flags.StringVarP(&o.folder, "folder", "f", "", "the `folder`, as in Dev/Go; made where there is none")
	flags.BoolVar(&o.duplicate, "duplicate", false, "keep a URL that is kept already once more")
	flags.BoolVar(&o.update, "update", false, "give a URL that is kept already these tags beside its own, and this title and description")
	cmd.MarkFlagsMutuallyExclusive("duplicate", "update")
	_ = cmd.RegisterFlagCompletionFunc("tag", a.CompleteTagList)
	_ = cmd.RegisterFlagCompletionFunc("folder", a.CompleteFolders)
	o.view.format.Bind(cmd)
	return cmd
}

// maxURLs bounds what one command keeps: more is an import.
const maxURLs = 10_000

// readURLs reads them from the input, one a line.
func (o *addOptions) readURLs() error {
	s := o.app.IO
	if s.InTTY {
		return app.Fail(app.Usage, "There is no URL to keep.").Try("bm add https://…, or URLs on the standard input")
	}
	for n := 1; ; n++ {
		line, err := s.ReadLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the URLs: %w", err)
		}
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // some editors mark a file's encoding so
		}
		if line = strings.TrimSpace(line); line != "" {
			o.urls, o.lines = append(o.urls, line), append(o.lines, n)
		}
		if len(o.urls) > maxURLs {
			return app.Fail(app.Usage, "There are more than %d URLs on the standard input. Nothing was kept.", maxURLs).
				Try("split -l %d FILE, and bm add < each part; or bm import FILE, if it is an export", maxURLs)
		}
	}
	if len(o.urls) == 0 {
		return app.Fail(app.Usage, "There was no URL on the standard input.").Try("bm add https://…, or URLs there, one a line")
	}
	return nil
}

// checkURLs completes what was typed, and refuses all where one is no URL.
func (o *addOptions) checkURLs() error {
	for i, text := range o.urls {
		where := ""
		if o.lines != nil {
			where = fmt.Sprintf(" (line %d)", o.lines[i])
		}
		o.urls[i] = app.CompleteURL(strings.Trim(text, " "))
		if fault := app.URLFault(o.urls[i], where); fault != "" {
			return app.Fail(app.Usage, "%s Nothing was kept.", fault).Try("bm add https://…")
		}
	}
	return nil
}

// outcome is what became of the URLs of one command.
type outcome struct {
	shown      []localstore.Bookmark
	added      int
	folder     string // of those
	updated    int
	stayed     int // of those, in another folder than the one that was named
	duplicates int
}

func runAdd(ctx context.Context, o *addOptions) error {
	if _, err := o.view.format.Wanted(); err != nil {
		return err
	}
	if len(o.urls) == 0 {
		if err := o.readURLs(); err != nil {
			return err
		}
	}
	if err := o.checkURLs(); err != nil {
		return err
	}
	if len(o.urls) > 1 && o.title != "" {
		return app.Fail(app.Usage, "One --title can't be the title of %d bookmarks.", len(o.urls))
	}
	store, replica, err := o.app.Replica(ctx)
	if err != nil {
		return err
	}
	if o.filed {
		if o.into, err = app.FindDestination(ctx, store, replica.N, o.folder); err != nil {
			return err
		}
	}
	var done outcome
	work := app.Work{Doing: "Adding", Noun: "bookmarks", Total: len(o.urls)}
	err = o.app.Edit(ctx, store, replica, words("add", o.urls...), work, func(ed *localstore.Editor) error {
		done = outcome{} // the transaction may run again
		// Nothing is left empty where all that was named is kept elsewhere.
		folder := sync.OnceValues(func() (string, error) { return o.into.Make(ed) })
		for _, url := range o.urls {
			if err := o.add(ed, url, folder, &done); err != nil {
				return err
			}
		}
		if done.added+done.updated == 0 {
			return errNothingAdded
		}
		return nil
	})
	if err != nil && !errors.Is(err, errNothingAdded) {
		return err
	}
	return o.report(o.view.on(ctx, store), done)
}

// errNothingAdded rolls a command back that would leave nothing but an entry in the
// log.
var errNothingAdded = errors.New("every URL is kept already")

func (o *addOptions) add(ed *localstore.Editor, url string, folder func() (string, error), done *outcome) error {
	if !o.duplicate {
		same, err := ed.SameURL(url)
		if err != nil {
			return err
		}
		if len(same) > 0 {
			return o.meet(ed, same[0], done)
		}
	}
	folderID, err := folder()
	if err != nil {
		return err
	}
	in := api.BookmarkInput{URL: api.Some(url), Tags: api.Some([]string(o.tags))}
	if o.title != "" {
		in.Title = api.Some(o.title)
	}
	if o.description != "" {
		in.Description = api.Some(o.description)
	}
	if folderID != "" {
		in.FolderID = api.Some(folderID)
	}
	b, err := ed.AddBookmark(in)
	if err != nil {
		return err
	}
	done.added++
	done.folder = folderID
	done.shown = append(done.shown, b)
	return nil
}

// meet deals with a URL that is kept already.
func (o *addOptions) meet(ed *localstore.Editor, there localstore.Bookmark, done *outcome) error {
	if !o.update {
		done.duplicates++
		done.shown = append(done.shown, there)
		return nil
	}
	in := api.BookmarkInput{Tags: api.Some(rules.UniteTags(there.Tags, o.tags))}
	if o.title != "" {
		in.Title = api.Some(o.title)
	}
	if o.description != "" {
		in.Description = api.Some(o.description)
	}
	b, err := ed.UpdateBookmark(there.ID, in)
	if err != nil {
		return err
	}
	done.updated++
	folderID, made := o.into.Folder.ID, len(o.into.Missing) == 0
	if done.added > 0 {
		folderID, made = done.folder, true
	}
	if o.filed && (!made || b.FolderID != folderID) {
		done.stayed++
	}
	done.shown = append(done.shown, b)
	return nil
}

func (o *addOptions) report(v *view, done outcome) error {
	var err error
	if len(o.urls) == 1 {
		err = v.one(done.shown[0])
	} else {
		err = v.list(of(done.shown))
	}
	if err != nil {
		return err
	}
	switch {
	case done.stayed == 0:
	case len(o.urls) == 1:
		fmt.Fprintf(o.app.IO.Err, "It stays in its folder: bm mv %s %s moves it.\n", done.shown[0].ID, app.Typed(o.folder))
	default:
		fmt.Fprintf(o.app.IO.Err, "%s kept already, and not moved: bm mv does that.\n", output.Plural(done.stayed, "bookmark"))
	}
	switch {
	case done.duplicates == 0:
		return nil
	case done.added+done.updated > 0:
		were := "were"
		if done.duplicates == 1 {
			were = "was"
		}
		return app.Fail(app.Partly, "%s kept; %d %s there already.", output.Plural(done.added+done.updated, "bookmark"), done.duplicates, were)
	case len(o.urls) == 1:
		return app.Fail(app.Conflict, "%s is kept already.", output.Clean(done.shown[0].URL)).
			Try("--update unites tags, --duplicate keeps it once more")
	}
	return app.Fail(app.Conflict, "All %d are kept already.", done.duplicates)
}
