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
	"strings"

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
			return runExport(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.format, "format", "", "html or json (default by the file's name, else html)")
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
		return o.write(ctx, o.app.IO.Out, store, replica)
	}
	if _, err := os.Stat(o.file); err == nil && !o.force {
		return app.Fail(app.Conflict, "There is a file %s already.", output.Clean(o.file)).Try("--force replaces it")
	}
	if err := o.writeFile(ctx, store, replica); err != nil {
		return err
	}
	fmt.Fprintf(o.app.IO.Err, "Exported to %s.\n", output.Clean(o.file))
	return nil
}

// writeFile writes beside the file first: what was there stays until the new
// one is complete.
func (o *exportOptions) writeFile(ctx context.Context, store *localstore.Store, replica *localstore.Replica) (err error) {
	file, err := os.CreateTemp(filepath.Dir(o.file), ".bm-export-*")
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
	if err := os.Rename(file.Name(), o.file); err != nil {
		return fmt.Errorf("write %s: %w", o.file, err)
	}
	return nil
}

func (o *exportOptions) write(ctx context.Context, w io.Writer, store *localstore.Store, replica *localstore.Replica) error {
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
			return bookmarks(ctx, store, q)
		}})
	} else {
		workspace := api.Workspace{ID: replica.RemoteID, TenantID: replica.TenantID, Name: replica.Name, Slug: replica.Slug, IsDefault: replica.IsDefault, HubLinkCheckSchedule: api.CheckOnDemand}
		err = exchange.WriteJSON(out, api.At(o.app.Now()), workspace, folders, bookmarks(ctx, store, localstore.List{Replica: replica.N, SortBy: "createdAt"}))
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return out.Flush()
}

// exportPage is how many bookmarks are in memory for each level of the tree.
const exportPage = 500

// bookmarks streams a list as the wire has them. It reads page by page: while
// one folder is written those above it are half read, and a tree may be deeper
// than a store has readers.
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
