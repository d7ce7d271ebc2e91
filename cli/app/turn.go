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
	patience = 2 * time.Minute
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

// errMyTurn takes an edit back that was only there to wait.
var errMyTurn = errors.New("it is this command's turn")

// AwaitTurn waits until it is this command's turn, for what can't be begun twice: the
// reader of a file is at its end when the write comes too late.
func (a *App) AwaitTurn(ctx context.Context, store *localstore.Store, replica *localstore.Replica) error {
	err := a.InTurn(ctx, func(begun func()) error {
		return store.Edit(ctx, replica.N, a.Command, func(*localstore.Editor) error {
			begun()
			return errMyTurn
		})
	})
	if errors.Is(err, errMyTurn) {
		return nil
	}
	return err
}
