package server_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
	"bm/server/servertest"
)

// BenchmarkLarge is what takes long in a workspace of 100,000, a folder's
// subtree of some 15,000 among them: what is read or written is all of it, and
// the time should be that of its rows, never of their square.
func BenchmarkLarge(b *testing.B) {
	rows := 100_000
	if testing.Short() {
		rows = 2_000
	}
	s := servertest.Start(b, server.Config{Dir: b.TempDir()})
	ada := servertest.Join(b, s, "ada")
	id, at := ada.Workspace.ID, client.InWorkspace(ada.Workspace.ID)
	var file bytes.Buffer
	if err := exchange.WriteHTML(&file, exchangetest.Make(1, rows).Source()); err != nil {
		b.Fatal(err)
	}
	if _, err := ada.Key.Import(b.Context(), at, "x.html", &file, ""); err != nil {
		b.Fatal(err)
	}
	folders, err := ada.Key.ListFolders(b.Context(), id, false)
	if err != nil {
		b.Fatal(err)
	}
	largest, most := "", 0
	for _, f := range folders {
		if f.ParentID != "" {
			continue
		}
		n, err := ada.Key.CountBookmarks(b.Context(), id, api.BookmarkFilter{FolderID: f.ID, Recursive: true})
		if err != nil {
			b.Fatal(err)
		}
		if n > most {
			largest, most = f.ID, n
		}
	}
	took := func(work func() error) float64 {
		began := time.Now()
		if err := work(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began).Seconds()
	}
	for b.Loop() {
		b.ReportMetric(took(func() error {
			body, err := ada.Key.ExportJSON(b.Context(), id, api.BookmarkFilter{})
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, body)
			return errors.Join(err, body.Close())
		}), "export-s")
		b.ReportMetric(float64(most), "in-folder")
		b.ReportMetric(took(func() error { return ada.Key.DeleteFolder(b.Context(), id, largest) }), "delete-s")
		b.ReportMetric(took(func() error {
			_, err := ada.Key.RestoreFolder(b.Context(), id, largest)
			return err
		}), "restore-s")
	}
}
