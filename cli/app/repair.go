package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofrs/flock"

	"bm/localstore"
)

// Repair mends a damaged local copy: a copy of it is kept aside, what only this
// machine knows is saved from it as far as it can be read, and what the server
// has comes back with the next round. The daemon lets go of its files meanwhile.
func (a *App) Repair(ctx context.Context) (did localstore.Recovery, err error) {
	c, err := a.Config()
	if err != nil {
		return did, err
	}
	if err := a.Close(); err != nil && !errors.Is(err, localstore.ErrDamaged) {
		return did, err
	}
	awake, err := a.Quiet(ctx)
	if err != nil {
		return did, err
	}
	defer func() { err = errors.Join(err, awake()) }()
	lock := flock.New(SyncLock(c))
	taken, err := lock.TryLock()
	if err != nil {
		return did, fmt.Errorf("take the profile's lock: %w", err)
	}
	if !taken {
		return did, Fail(Conflict, "Another bm syncs this profile right now.").Try("bm doctor --repair   once it is done")
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	a.store, did, err = localstore.Recover(ctx, localstore.Options{
		Path: c.Folders.Replica(c.ProfileName()), Now: a.Now, IDs: a.IDs, LowMemory: a.LowMemory,
	})
	return did, err
}
