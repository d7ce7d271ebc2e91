package transfer

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"bm/cli/app"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
)

// exportFormat is a format that bm writes.
type exportFormat struct {
	name, title string
	extensions  []string
	write       func(ctx context.Context, a *app.App, w io.Writer, replica *localstore.Replica, x *exported) error
}

// exportFormats are all of them, the one that is meant where nothing is said
// first.
var exportFormats = []exportFormat{
	{"html", "HTML", []string{"html", "htm"}, tree(exchange.WriteHTML)},
	{"json", "JSON", []string{"json"}, writeJSON},
	{"csv", "CSV", []string{"csv"}, tree(exchange.WriteCSV)},
	{"xbel", "XBEL", []string{"xbel"}, tree(exchange.WriteXBEL)},
	{"markdown", "Markdown", []string{"md", "markdown"}, tree(exchange.WriteMarkdown)},
}

func formatNames() []string {
	names := make([]string, len(exportFormats))
	for i := range exportFormats {
		names[i] = exportFormats[i].name
	}
	return names
}

// tree is for a format that is written folder by folder.
func tree(write func(io.Writer, exchange.Source) error) func(context.Context, *app.App, io.Writer, *localstore.Replica, *exported) error {
	return func(ctx context.Context, _ *app.App, w io.Writer, _ *localstore.Replica, x *exported) error {
		if err := write(w, x.source(ctx)); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		return nil
	}
}

func writeJSON(ctx context.Context, a *app.App, w io.Writer, r *localstore.Replica, x *exported) error {
	now := api.At(a.Now())
	created, err := createdAt(ctx, r, x, now)
	if err != nil {
		return err
	}
	workspace := api.Workspace{
		CreatedAt: created, ID: r.RemoteID, TenantID: r.TenantID, Name: r.Name, Slug: r.Slug, IsDefault: r.IsDefault,
		HubLinkCheckSchedule: api.CheckOnDemand,
	}
	if err := exchange.WriteJSON(w, now, workspace, x.folders, x.all(ctx)); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// createdAt is when the workspace was made. Its id says so; one that no server
// knows has none, and is at least as old as what is in it.
func createdAt(ctx context.Context, r *localstore.Replica, x *exported, now api.Time) (api.Time, error) {
	if id := r.RemoteID; api.ValidNewID(id) {
		milliseconds, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
		return api.At(time.UnixMilli(milliseconds)), err
	}
	oldest := now
	for i := range x.folders {
		if x.folders[i].CreatedAt.Before(oldest.Time) {
			oldest = x.folders[i].CreatedAt
		}
	}
	page, err := x.store.Bookmarks(ctx, localstore.List{Replica: r.N, SortBy: "createdAt", Limit: 1})
	if err != nil {
		return oldest, fmt.Errorf("export: %w", err)
	}
	for i := range page.Bookmarks {
		if page.Bookmarks[i].CreatedAt.Before(oldest.Time) {
			oldest = page.Bookmarks[i].CreatedAt
		}
	}
	return oldest, nil
}
