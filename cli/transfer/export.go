package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
)

type exportOptions struct {
	app    *app.App
	format string
	file   string
	force  bool

	written int // bookmarks
}

func newExport(a *app.App) *cobra.Command {
	o := &exportOptions{app: a}
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all bookmarks into a file",
		Long: `Write all bookmarks of the workspace, with their folders, into a file or to the
standard output: as HTML, which every browser and service reads, or as JSON.
Needs no network. What is exported is read back unchanged by bm import.`,
		Example: `  bm export bookmarks.html
  bm export bookmarks.json
  bm export --format json | gzip > bookmarks.json.gz`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = strings.Join(args, "")
			return o.interrupted(runExport(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.format, "format", "", "the `format`, html or json (default by the file's name, else html)")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace a file that exists")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"html", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runExport(ctx context.Context, o *exportOptions) error {
	if o.format == "" {
		o.format = "html"
		if strings.EqualFold(filepath.Ext(o.file), ".json") {
			o.format = "json"
		}
	}
	if o.format != "html" && o.format != "json" {
		return app.Fail(app.Usage, "--format %q: html or json is wanted.", output.Clean(o.format))
	}
	store, replica, err := o.app.Replica(ctx)
	if err != nil {
		return err
	}
	if o.file == "" || o.file == "-" {
		return o.write(ctx, o.app.IO.Whole(), store, replica)
	}
	if err := o.writeTo(ctx, store, replica); err != nil {
		return err
	}
	fmt.Fprintf(o.app.IO.Err, "Exported %s to %s, as %s.\n", output.Plural(o.written, "bookmark"), output.Clean(o.file), map[string]string{"html": "HTML", "json": "JSON"}[o.format])
	return nil
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
func (o *exportOptions) writeTo(ctx context.Context, store *localstore.Store, replica *localstore.Replica) error {
	info, err := os.Stat(o.file)
	switch {
	case err != nil:
		return o.writeFile(ctx, store, replica)
	case info.IsDir():
		return app.Fail(app.Usage, "%s is a folder.", output.Clean(o.file)).Try("bm export %s", app.Typed(filepath.Join(o.file, "bookmarks."+o.format)))
	case !info.Mode().IsRegular():
		file, err := os.OpenFile(o.file, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("write %s: %w", o.file, err)
		}
		return errors.Join(o.write(ctx, file, store, replica), file.Close())
	case !o.force:
		return app.Fail(app.Conflict, "There is a file %s already.", output.Clean(o.file)).Try("--force replaces it")
	}
	return o.writeFile(ctx, store, replica)
}

// writeFile writes beside the file first: what was there stays until the new
// one is complete.
func (o *exportOptions) writeFile(ctx context.Context, store *localstore.Store, replica *localstore.Replica) (err error) {
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
	err = o.write(ctx, file, store, replica)
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

// write writes what there is at this moment: what is moved meanwhile would be
// missed, or written twice.
func (o *exportOptions) write(ctx context.Context, w io.Writer, store *localstore.Store, replica *localstore.Replica) error {
	return store.Moment(ctx, func(store *localstore.Store) error { return o.writeAll(ctx, w, store, replica) })
}

func (o *exportOptions) writeAll(ctx context.Context, w io.Writer, store *localstore.Store, replica *localstore.Replica) error {
	tree, err := store.Tree(ctx, replica.N)
	if err != nil {
		return err
	}
	folders := make([]api.Folder, len(tree))
	for i := range tree {
		folders[i] = tree[i].Folder.Folder
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if o.format == "html" {
		err = exchange.WriteHTML(out, exchange.Source{Folders: folders, Bookmarks: func(folderID string) iter.Seq2[*api.Bookmark, error] {
			q := localstore.List{Replica: replica.N, SortBy: "sortOrder"}
			if q.FolderID = folderID; folderID == "" {
				q.FolderID = api.RootFolder
			}
			return o.counted(bookmarks(ctx, store, q))
		}})
	} else {
		created, since := o.createdAt(ctx, store, replica, folders)
		if since != nil {
			return since
		}
		workspace := api.Workspace{CreatedAt: created, ID: replica.RemoteID, TenantID: replica.TenantID, Name: replica.Name, Slug: replica.Slug, IsDefault: replica.IsDefault, HubLinkCheckSchedule: api.CheckOnDemand}
		err = exchange.WriteJSON(out, api.At(o.app.Now()), workspace, folders, o.counted(wired(store.All(ctx, localstore.List{Replica: replica.N, SortBy: "createdAt"}))))
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return out.Flush()
}

// createdAt is when the workspace was made. Its id says so; one that no server
// knows has none, and is at least as old as what is in it.
func (o *exportOptions) createdAt(ctx context.Context, store *localstore.Store, replica *localstore.Replica, folders []api.Folder) (api.Time, error) {
	if id := replica.RemoteID; api.ValidNewID(id) {
		milliseconds, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
		return api.At(time.UnixMilli(milliseconds)), err
	}
	oldest := api.At(o.app.Now())
	for i := range folders {
		if folders[i].CreatedAt.Before(oldest.Time) {
			oldest = folders[i].CreatedAt
		}
	}
	page, err := store.Bookmarks(ctx, localstore.List{Replica: replica.N, SortBy: "createdAt", Limit: 1})
	if err != nil {
		return oldest, err
	}
	for i := range page.Bookmarks {
		if page.Bookmarks[i].CreatedAt.Before(oldest.Time) {
			oldest = page.Bookmarks[i].CreatedAt
		}
	}
	return oldest, nil
}

// counted counts what is written.
func (o *exportOptions) counted(rows iter.Seq2[*api.Bookmark, error]) iter.Seq2[*api.Bookmark, error] {
	return func(yield func(*api.Bookmark, error) bool) {
		for b, err := range rows {
			if err == nil {
				o.written++
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// exportPage is how many bookmarks are in memory for each level of the tree.
const exportPage = 500

// bookmarks streams a list as the wire has them. It reads page by page: while
// one folder is written those above it are half read.
func bookmarks(ctx context.Context, store *localstore.Store, q localstore.List) iter.Seq2[*api.Bookmark, error] {
	q.Limit = exportPage
	return func(yield func(*api.Bookmark, error) bool) {
		for {
			page, err := store.Bookmarks(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Bookmarks {
				if !yield(&page.Bookmarks[i].Bookmark, nil) {
					return
				}
			}
			if q.Cursor = page.Next; page.Next == "" {
				return
			}
		}
	}
}

// wired is a list as the wire has it.
func wired(all iter.Seq2[localstore.Bookmark, error]) iter.Seq2[*api.Bookmark, error] {
	return func(yield func(*api.Bookmark, error) bool) {
		for b, err := range all {
			if !yield(&b.Bookmark, err) {
				return
			}
		}
	}
}
