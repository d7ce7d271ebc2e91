package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bm/localstore"
)

const (
	// unheard is how long a command may wait for its turn without a word.
	unheard = time.Second
	// patience is how long it waits in all: longer than the largest edit of what
	// one machine holds, and less than anybody would wait for a program that hangs.
	patience = time.Minute
)

// InTurn runs what writes to the local copy, once that is its turn: a command that
// changes many rows has the copy to itself until it is done. Whoever waits for it is
// told so. The work calls begun as soon as it is at it; from then on it is not
// repeated.
func (a *App) InTurn(ctx context.Context, work func(begun func()) error) error {
	var mu sync.Mutex
	began := false
	begun := func() {
		mu.Lock()
		defer mu.Unlock()
		began = true
	}
	tell := time.AfterFunc(unheard, func() {
		mu.Lock()
		defer mu.Unlock()
		if !began {
			fmt.Fprintln(a.IO.Err, "Waiting for another bm command, which is changing many bookmarks. Ctrl-C gives up the wait.")
		}
	})
	defer func() {
		begun() // nothing is told after the end
		tell.Stop()
	}()
	for deadline := time.Now().Add(patience); ; {
		err := work(begun)
		if began || !errors.Is(err, localstore.ErrBusy) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
	}
}
