package workspace

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

func newRemove(a *app.App) *cobra.Command {
	var yes, force bool
	cmd := &cobra.Command{
		Use:     "rm WORKSPACE",
		Aliases: []string{"delete"},
		Short:   "Delete a workspace with everything in it",
		Long: fmt.Sprintf(`Delete a workspace with everything in it, for everybody. It can be restored for
%d days. Of one that is gone from the server already the copy is removed.`, api.TrashDays),
		Example:           "  bm workspace rm old\n  bm workspace rm old --yes",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteWorkspaces,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRemove(cmd.Context(), a, args[0], yes, force) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	cmd.Flags().BoolVar(&force, "force", false, "also with edits that the server never got")
	return cmd
}

func runRemove(ctx context.Context, a *app.App, ref string, yes, force bool) error {
	r, err := pick(ctx, a, ref)
	if err != nil {
		return err
	}
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	counts, err := losesNothing(ctx, store, r, force)
	if err != nil {
		return err
	}
	gone := r.State == localstore.StateFrozen
	before, err := current(ctx, a)
	if err != nil {
		return err
	}
	name, bookmarks := output.Clean(r.Name), output.Plural(counts.Bookmarks, "bookmark")
	said := fmt.Sprintf("Deleted the workspace %s; bm workspace restore %s brings it back.", name, app.Typed(cmp.Or(r.Slug, r.Name)))
	if gone {
		said = fmt.Sprintf("Removed the copy of %s from this machine.", name)
		err = a.Confirm(yes, fmt.Sprintf("Remove the copy of %s with %s from this machine?", name, bookmarks))
	} else {
		err = deleteRemote(ctx, a, ref, yes, force, fmt.Sprintf("Delete the workspace %s with %s, for everybody?", name, bookmarks))
	}
	if err != nil {
		return err
	}
	ctx, cancel := app.Outlasting(ctx)
	defer cancel()
	if err := store.Forget(ctx, r.N, force); err != nil {
		if gone {
			return err
		}
		return app.Half(fmt.Sprintf("Deleted the workspace %s, whose copy is still on this machine", name), err).
			Try("bm sync, and the same command again   once that is mended")
	}
	fmt.Fprintln(a.IO.Err, said)
	if err := unchoose(a, r.RemoteID); err != nil || before != r.N {
		return err
	}
	_, now, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "Commands are about %s now.\n", output.Clean(now.Name))
	return nil
}

// losesNothing refuses to lose edits that stand nowhere else, and answers what there is.
func losesNothing(ctx context.Context, store *localstore.Store, r *localstore.Replica, force bool) (localstore.Counts, error) {
	counts, err := store.Counts(ctx, r.N)
	switch {
	case err != nil || force:
		return counts, err
	case counts.Unsent > 0 && r.RemoteID != "":
		next := "bm sync; or --force loses them"
		if r.State == localstore.StateFrozen {
			next = "bm export --workspace " + output.Clean(r.Slug) + " FILE   keeps them; or --force loses them"
		}
		return counts, app.Fail(app.Brake, "The server lacks %s of %q.", output.Plural(counts.Unsent, "edit"), output.Clean(r.Name)).Try("%s", next)
	case counts.Conflicts > 0:
		return counts, app.Fail(app.Brake, "%q holds %s, with values of yours that stand nowhere else.", output.Clean(r.Name), output.Plural(counts.Conflicts, "undecided conflict")).
			Try("bm sync conflicts --workspace %s; or --force loses them", output.Clean(r.Slug))
	}
	return counts, nil
}

// deleteRemote deletes a workspace on the server, once that was confirmed, and unless
// it was edited here meanwhile.
func deleteRemote(ctx context.Context, a *app.App, ref string, yes, force bool, question string) error {
	caller, r, err := remote(ctx, a, ref)
	if err == nil {
		err = mayFollow(ctx, a)
	}
	if err != nil {
		return err
	}
	if err := a.Confirm(yes, question); err != nil {
		return err
	}
	store, err := a.Store(ctx)
	if err == nil {
		_, err = losesNothing(ctx, store, r, force)
	}
	if err != nil {
		return err
	}
	return caller.DeleteWorkspace(ctx, r.RemoteID)
}

// unchoose lets the default workspace be in use again where the one that is
// gone was chosen.
func unchoose(a *app.App, id string) error {
	c, err := a.Config()
	if err != nil || c.Chosen().ID != id {
		return err
	}
	return c.Save(c.Account(), config.Chosen{})
}
