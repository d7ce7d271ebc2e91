package workspace

import (
	"context"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/server/api"
	"bm/server/api/client"
)

func newDeleted(a *app.App) *cobra.Command {
	type field = output.Field[api.DeletedWorkspaceSummary]
	format := &output.Format[api.DeletedWorkspaceSummary]{Fields: []field{
		{Name: "id", Get: func(w api.DeletedWorkspaceSummary) any { return w.ID }},
		{Name: "name", Get: func(w api.DeletedWorkspaceSummary) any { return w.Name }},
		{Name: "slug", Get: func(w api.DeletedWorkspaceSummary) any { return w.Slug }},
		{Name: "deletedAt", Get: func(w api.DeletedWorkspaceSummary) any { return w.DeletedAt }},
		{Name: "daysLeft", Get: func(w api.DeletedWorkspaceSummary) any { return w.DaysUntilPermanentDeletion }},
	}}
	cmd := &cobra.Command{
		Use:     "deleted",
		Short:   "List the workspaces that can be restored",
		Example: "  bm workspace deleted",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDeleted(cmd.Context(), a, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runDeleted(ctx context.Context, a *app.App, format *output.Format[api.DeletedWorkspaceSummary]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	caller, err := a.Client(ctx)
	if err != nil {
		return err
	}
	list, err := caller.ListDeletedWorkspaces(ctx)
	if err != nil {
		return err
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, list)
	}
	if len(list) == 0 {
		a.SayNone(nil, "No workspace was deleted that can be restored.")
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "id"}, output.Heading{Name: "workspace", Flexible: true}, output.Heading{Name: "slug"},
		output.Heading{Name: "deleted"}, output.Heading{Name: "days left", Right: true})
	for _, w := range list {
		err := table.Row(output.Styled(output.Faint, w.ID), output.Styled(output.Strong, w.Name), output.Text(w.Slug),
			output.Cell{Value: w.DeletedAt.String(), Shown: output.Ago(a.Now(), w.DeletedAt.Time)}, output.Number(w.DaysUntilPermanentDeletion))
		if err != nil {
			return err
		}
	}
	return table.End()
}

func newRestore(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "restore WORKSPACE",
		Short:   "Bring a deleted workspace back",
		Example: "  bm workspace deleted\n  bm workspace restore old",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			caller, err := ownServer(ctx, a)
			if err == nil {
				err = mayFollow(ctx, a)
			}
			if err != nil {
				return err
			}
			id, err := findDeleted(ctx, caller, args[0])
			if err != nil {
				return err
			}
			w, err := caller.RestoreWorkspace(ctx, id)
			return mirrored(ctx, a, w, err, "Restored")
		},
	}
}

// findDeleted finds a deleted workspace by id, slug or name. Who may not list
// them may still name one by its id.
func findDeleted(ctx context.Context, caller *client.Client, ref string) (string, error) {
	if api.ValidID(ref) {
		return ref, nil
	}
	list, err := caller.ListDeletedWorkspaces(ctx)
	if err != nil {
		return "", err
	}
	var found, names []string
	for _, w := range list {
		names = append(names, w.Slug, w.Name)
		if w.Slug == ref || w.Name == ref {
			found = append(found, w.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		e := app.Fail(app.NotFound, "No deleted workspace is called %q.", output.Clean(ref))
		if near := config.Nearest(ref, names); near != "" {
			return "", e.Try("%s   if that was meant; bm workspace deleted lists them all", app.Typed(near))
		}
		return "", e.Try("bm workspace deleted   lists them")
	}
	return "", app.Fail(app.Usage, "%d deleted workspaces are called %q.", len(found), output.Clean(ref)).Try("bm workspace restore with an id of bm workspace deleted")
}
