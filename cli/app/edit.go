package app

import (
	"context"
	"errors"

	"bm/localstore"
)

// Work is what a command that may touch many rows does, in the words of its bar:
// "Deleting", say, of so many "bookmarks". A Total of 0 is left to the editor.
type Work struct {
	Doing, Noun string
	Total       int
}

// Edit runs fn as one command on a replica, shows how far it is where that takes
// long, and tells the daemon. Nobody who saw how far it was shall take that for
// what became of it: an edit that is interrupted changes nothing, and says so.
func (a *App) Edit(ctx context.Context, store *localstore.Store, replica *localstore.Replica, command string, work Work, fn func(*localstore.Editor) error) error {
	err := a.InTurn(ctx, func(begun func()) error {
		return store.Edit(ctx, replica.N, command, func(ed *localstore.Editor) error {
			begun()
			bar := a.IO.Begin(work.Doing, work.Noun, work.Total)
			defer bar.End()
			ed.Watch(work.Total, func(done, total int) {
				bar.Total(total)
				bar.Set(done)
			})
			return fn(ed)
		})
	})
	switch {
	case err == nil:
		a.Edited(ctx)
	case errors.Is(err, context.Canceled):
		return Unchanged(err)
	case DiskFull(err):
		return Fail(Failed, "The disk is full. Nothing was changed.").Try("df -h, and free some space").Because(err)
	}
	return err
}
