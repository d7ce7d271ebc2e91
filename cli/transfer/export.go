package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/query"
)

type exportOptions struct {
	app    *app.App
	format string
	file   string
	force  bool

	query  string
	folder string
	filed  bool // --folder was given
	tags   app.TagList
	status string

	written int // bookmarks
}

func newExport(a *app.App) *cobra.Command {
	o := &exportOptions{app: a}
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write bookmarks into a file",
		Long: `Write the bookmarks of the workspace, with their folders, into a file or to the
standard output. Needs no network.

  html      what every browser and service reads; bm import reads it back unchanged
  json      bm's own; read back unchanged
  csv       a table, for spreadsheets and scripts; read back unchanged
  xbel      XML, for KDE and small browsers; read back unchanged
  markdown  a list for people; nothing reads it back

Without --format the file's name says which, and it is html where that says
nothing. --query, --folder, --tag and --status narrow what is written; folders
are then those that lead to it.`,
		Example: `  bm export bookmarks.html
  bm export all.json
  bm export reading.md --folder Read --query 'is:untagged OR #later'
  bm export --format csv | cut -d, -f1,2
  bm export --format json | gzip > bookmarks.json.gz`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file, o.filed = strings.Join(args, ""), cmd.Flags().Changed("folder")
			if len(args) > 0 && o.file == "" {
				return app.Fail(app.Usage, "The name of the file is empty.").Try("bm export   writes to the standard output")
			}
			if len(o.tags) == 0 && cmd.Flags().Changed("tag") {
				return app.Fail(app.Usage, "--tag is empty: it names no tag.").Try("--status untagged   for those that have none")
			}
			if query.Parse(o.query).Cut {
				return app.Fail(app.Usage, "The query is longer than one can be: more would be exported than it asks for.").Try("fewer words and filters")
			}
			if cmd.Flags().Changed("query") && query.Parse(o.query).Empty() {
				return app.Fail(app.Usage, "There is nothing to search for in %q.", output.Clean(o.query)).Try("bm search --help   says what a query may hold")
			}
			return o.interrupted(runExport(cmd.Context(), o))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", "", "the `format`, one of "+strings.Join(formatNames(), ", ")+" (default by the file's name, else html)")
	flags.BoolVar(&o.force, "force", false, "replace a file that exists")
	flags.StringVar(&o.query, "query", "", "only what a `query` finds, see bm search")
	flags.StringVarP(&o.folder, "folder", "f", "", "only what is in the `folder` or below it")
	flags.VarP(&o.tags, "tag", "t", "only with all of these `tags`"+app.TagsUsage)
	flags.StringVar(&o.status, "status", "", "only `what` is one of: "+strings.Join(api.FilterStatuses, ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("folder", a.CompleteFolders)
	_ = cmd.RegisterFlagCompletionFunc("tag", a.CompleteTags)
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(api.FilterStatuses, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runExport(ctx context.Context, o *exportOptions) error {
	format, err := o.chosen()
	if err != nil {
		return err
	}
	if o.status != "" && !slices.Contains(api.FilterStatuses, o.status) {
		return app.Fail(app.Usage, "--status %q: one of %s is wanted.", output.Clean(o.status), strings.Join(api.FilterStatuses, ", "))
	}
	store, replica, err := o.app.Replica(ctx)
	if err != nil {
		return err
	}
	q := localstore.List{Replica: replica.N}
	q.Query, q.Tags, q.FilterStatus = o.query, o.tags, o.status
	if o.filed {
		folder, err := app.PickFolder(ctx, store, replica.N, o.folder)
		if err != nil {
			return err
		}
		q.FolderID, q.Recursive = folder.ID, true
	}
	write := func(w io.Writer) error {
		// What is moved meanwhile would be missed, or written twice.
		return store.Moment(ctx, func(store *localstore.Store) error {
			x, err := gather(ctx, store, q)
			if err != nil {
				return err
			}
			o.written = x.found.Count
			return format.write(ctx, o.app, w, replica, x)
		})
	}
	if o.file == "" || o.file == "-" {
		return write(o.app.IO.Whole())
	}
	if err := o.writeTo(write); err != nil {
		return err
	}
	fmt.Fprintf(o.app.IO.Err, "Exported %s to %s, as %s.\n", output.Plural(o.written, "bookmark"), output.Clean(o.file), format.title)
	return nil
}

// chosen is the format that was asked for, or that the file's name says.
func (o *exportOptions) chosen() (*exportFormat, error) {
	extension := strings.ToLower(strings.TrimPrefix(filepath.Ext(o.file), "."))
	for i := range exportFormats {
		f := &exportFormats[i]
		if o.format == f.name || o.format == "" && slices.Contains(f.extensions, extension) {
			return f, nil
		}
	}
	if o.format != "" {
		return nil, app.Fail(app.Usage, "--format %q: one of %s is wanted.", output.Clean(o.format), strings.Join(formatNames(), ", "))
	}
	return &exportFormats[0], nil
}

// interrupted says what there is of an export that was interrupted: half a file
// is no use.
func (o *exportOptions) interrupted(err error) error {
	switch {
	case !errors.Is(err, context.Canceled):
		return err
	case o.file == "" || o.file == "-":
		return app.Fail(app.Interrupted, "Interrupted: what was printed is not all that there is.").Because(err)
	}
	return app.Fail(app.Interrupted, "Interrupted. %s was not written.", output.Clean(o.file)).Because(err)
}

// writeTo writes where it was told to. What is no file, such as a pipe or
// /dev/null, is written to and never replaced.
func (o *exportOptions) writeTo(write func(io.Writer) error) error {
	info, err := os.Stat(o.file)
	switch {
	case err != nil:
		return o.writeFile(write)
	case info.IsDir():
		return app.Fail(app.Usage, "%s is a folder.", output.Clean(o.file)).Try("bm export %s", app.Typed(filepath.Join(o.file, "bookmarks.html")))
	case !info.Mode().IsRegular():
		file, err := os.OpenFile(o.file, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("write %s: %w", o.file, err)
		}
		return errors.Join(write(file), file.Close())
	case !o.force:
		return app.Fail(app.Conflict, "There is a file %s already.", output.Clean(o.file)).Try("--force replaces it")
	}
	return o.writeFile(write)
}

// writeFile writes beside the file first: what was there stays until the new
// one is complete.
func (o *exportOptions) writeFile(write func(io.Writer) error) (err error) {
	target := o.file
	if behind, err := filepath.EvalSymlinks(target); err == nil {
		target = behind // a link goes on to where it went
	}
	file, err := os.CreateTemp(filepath.Dir(target), ".bm-export-*")
	if missing := app.NoFolder(target); err != nil && missing != nil {
		return missing.Because(err)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", o.file, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // what is half written is no use
		}
	}()
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), target); err != nil {
		return fmt.Errorf("write %s: %w", o.file, err)
	}
	return nil
}
