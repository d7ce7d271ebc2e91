package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bm/cli/config"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

// Replica is the workspace that the command is about, as it is mirrored here:
// the one that was named, else the default one, else what is only local.
func (a *App) Replica(ctx context.Context) (*localstore.Store, *localstore.Replica, error) {
	store, err := a.Store(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := a.meant(ctx, store)
	if err != nil {
		return store, r, err
	}
	a.workspace = r.RemoteID
	return store, r, nil
}

func (a *App) meant(ctx context.Context, store *localstore.Store) (*localstore.Replica, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	all, err := store.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	if ref := c.Get(config.Workspace); ref != "" {
		r, err := PickReplica(all, ref)
		if chosen := c.Chosen(); err != nil && ref == chosen.ID {
			err = lost(chosen)
		}
		return r, err
	}
	for i := range all {
		if all[i].Kind == localstore.KindWorkspace && all[i].IsDefault {
			return &all[i], nil
		}
	}
	for i := range all {
		if all[i].Kind == localstore.KindWorkspace && all[i].State != localstore.StateLocal {
			return &all[i], nil
		}
	}
	return store.Local(ctx)
}

// lost says that the workspace which was chosen is not here any more.
func lost(chosen config.Chosen) *Error {
	what := "The workspace that was chosen"
	if chosen.Name != "" {
		what = fmt.Sprintf("The workspace %q, which was chosen,", output.Clean(chosen.Name))
	}
	return Fail(NotFound, "%s is not on this machine any more.", what).
		Try("bm workspace use NAME chooses another; bm workspace ls lists them")
}

// PickReplica finds a workspace by id, slug or name.
func PickReplica(all []localstore.Replica, ref string) (*localstore.Replica, error) {
	matches := []func(*localstore.Replica) bool{
		func(r *localstore.Replica) bool { return r.RemoteID == ref },
		func(r *localstore.Replica) bool { return r.Slug == ref },
		func(r *localstore.Replica) bool { return strings.EqualFold(r.Name, ref) },
		func(r *localstore.Replica) bool { return len(ref) >= 4 && strings.HasPrefix(r.RemoteID, ref) },
	}
	for _, match := range matches {
		var found []*localstore.Replica
		for i := range all {
			if match(&all[i]) {
				found = append(found, &all[i])
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		e := Fail(Usage, "%q means several workspaces:", output.Clean(ref))
		for _, r := range found {
			e.Message += "\n  " + output.Clean(r.Slug) + "  " + output.Clean(r.Name) + "  " + r.RemoteID
		}
		return nil, e.Try("the same command with one of their slugs or ids")
	}
	e := Fail(NotFound, "There is no workspace %q on this machine.", output.Clean(ref))
	var names []string
	for i := range all {
		names = append(names, all[i].Slug, all[i].Name)
	}
	if near := config.Nearest(ref, names); near != "" {
		return nil, e.Try("%s   if that was meant; bm workspace ls lists them all", Typed(near))
	}
	return nil, e.Try("bm workspace ls   lists them")
}

// Mirror makes replicas of the workspaces that the account reaches. What was
// made here without a server goes to the default one, or to the first where a
// key reaches no default one. It makes none where the machine holds a copy of
// another organization's.
func Mirror(ctx context.Context, store *localstore.Store, profile string, workspaces []api.Workspace) error {
	for _, w := range workspaces {
		if err := Holds(ctx, store, profile, w.TenantID); err != nil {
			return err
		}
	}
	home := max(0, slices.IndexFunc(workspaces, func(w api.Workspace) bool { return w.IsDefault }))
	for i, w := range workspaces {
		var err error
		if i == home {
			_, err = store.Attach(ctx, w)
		}
		if err == nil {
			_, err = store.Mirror(ctx, w, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// AsItStands is how a replica stands: the state that is kept is that of the last
// round, and says nothing of that somebody has signed out since.
func (a *App) AsItStands(r localstore.Replica) localstore.Replica {
	if r.RemoteID == "" || r.State == localstore.StateFrozen {
		return r
	}
	if _, err := a.SignedIn(); errors.Is(err, ErrNotSignedIn) {
		r.State, r.Reason = localstore.StateAuthRequired, ""
	}
	return r
}
