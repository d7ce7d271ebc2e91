package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/localstore"
)

// replica opens the local copy and counts what is in it. Where there is none yet,
// it makes none.
func replica(ctx context.Context, a *app.App, c *config.Config) []finding {
	path := c.Folders.Replica(c.ProfileName())
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return []finding{{"local copy", ok, path + ", which is made when it is needed", ""}}
	}
	store, err := a.Store(ctx)
	if err != nil {
		next := remedy(err)
		if next == "" {
			next = "make it yours: ls -l " + app.Typed(existing(path))
		}
		return []finding{{"local copy", trouble, said(err), next}}
	}
	found := finding{"local copy", ok, fmt.Sprintf("%s, schema %d", store.Path(), store.SchemaVersion()), ""}
	if err := store.Check(ctx); err != nil {
		return []finding{{"local copy", trouble, said(err), remedy(err)}}
	}
	if reason := store.ReadOnlyReason(); reason != "" {
		found.State, found.Detail, found.Next = note, "it can only be read: "+reason, store.ReadOnlyRemedy()
	}
	findings := []finding{found}
	all, err := store.Replicas(ctx)
	if err != nil {
		return append(findings, finding{"workspaces", trouble, said(err), ""})
	}
	for i := range all {
		findings = append(findings, workspace(ctx, store, &all[i]))
	}
	return findings
}

// remedy is what helps against what is wrong with the local copy. A repair
// builds it anew, which is for a damaged one alone.
func remedy(err error) string {
	var denied *fs.PathError
	switch {
	case errors.Is(err, localstore.ErrDamaged):
		return "bm doctor --repair"
	case app.DiskFull(err):
		return "df -h, and free some space"
	case errors.As(err, &denied):
		return "ls -ld " + app.Typed(existing(denied.Path))
	}
	if barred, ok := errors.AsType[*localstore.ReadOnlyError](err); ok {
		return barred.Remedy
	}
	return next(err)
}

func workspace(ctx context.Context, store *localstore.Store, r *localstore.Replica) finding {
	f := finding{Check: "workspace", State: ok}
	counts, err := store.Counts(ctx, r.N)
	if err != nil {
		f.State, f.Detail = trouble, err.Error()
		return f
	}
	f.Detail = fmt.Sprintf("%s: %s, %s, %s not sent", r.Name, r.State, output.Plural(counts.Bookmarks, "bookmark"), output.Plural(counts.Unsent, "edit"))
	switch {
	case r.State == localstore.StateLocal:
		f.Detail = fmt.Sprintf("%s: %s, on this machine alone", r.Name, output.Plural(counts.Bookmarks, "bookmark"))
	case r.State == localstore.StateAuthRequired:
		f.State, f.Next = trouble, "bm auth login"
	case r.State == localstore.StateFrozen:
		f.State, f.Detail = note, f.Detail+": "+r.Reason
		f.Next = fmt.Sprintf("bm export --workspace %[1]s FILE   keeps what is in it; bm workspace rm %[1]s   removes the copy", r.Slug)
	case r.Reason != "": // offline, failing
		f.State, f.Next = note, "bm sync   tries it now"
		f.Detail += ": " + r.Reason
	case counts.Parked > 0:
		f.State, f.Next = note, "bm sync parked"
		f.Detail += fmt.Sprintf(", %d refused by the server", counts.Parked)
	case counts.Conflicts > 0:
		f.State, f.Next = note, "bm sync conflicts"
		f.Detail += ", " + output.Plural(counts.Conflicts, "conflict")
	}
	return f
}
