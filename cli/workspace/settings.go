package workspace

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server/api"
)

func newSettings(a *app.App) *cobra.Command {
	type field = output.Field[api.Workspace]
	format := &output.Format[api.Workspace]{Fields: []field{
		{Name: "id", Get: func(w api.Workspace) any { return w.ID }},
		{Name: "name", Get: func(w api.Workspace) any { return w.Name }},
		{Name: "slug", Get: func(w api.Workspace) any { return w.Slug }},
		{Name: "checkLinks", Get: func(w api.Workspace) any { return w.HubLinkCheckSchedule }},
	}}
	check := ""
	cmd := &cobra.Command{
		Use:               "settings WORKSPACE",
		Short:             "Show or change how often a workspace's links are checked",
		Example:           "  bm workspace settings work\n  bm workspace settings work --check-links weekly\n  bm workspace settings work --json checkLinks",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteWorkspaces,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSettings(cmd.Context(), a, args[0], check, format)
		},
	}
	cmd.Flags().StringVar(&check, "check-links", "", "how `often`: daily, weekly or on_demand")
	_ = cmd.RegisterFlagCompletionFunc("check-links", cobra.FixedCompletions(schedules, cobra.ShellCompDirectiveNoFileComp))
	format.Bind(cmd)
	return cmd
}

// schedules are how often links may be checked.
var schedules = []string{"daily", "weekly", "on_demand"}

func runSettings(ctx context.Context, a *app.App, ref, check string, format *output.Format[api.Workspace]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	if check != "" && !slices.Contains(schedules, check) {
		return app.Fail(app.Usage, "--check-links %q: one of %s is wanted.", output.Clean(check), strings.Join(schedules, ", "))
	}
	caller, r, err := remote(ctx, a, ref)
	if err != nil {
		return err
	}
	var w api.Workspace
	if check == "" {
		w, err = caller.GetWorkspace(ctx, r.RemoteID)
	} else {
		w, err = caller.SetHubSettings(ctx, r.RemoteID, api.HubSettings{HubLinkCheckSchedule: api.Some(api.LinkCheckSchedule(check))})
	}
	if err != nil {
		return err
	}
	if wanted {
		return format.One(a.IO.Out, a.IO, w)
	}
	return a.IO.Details(a.IO.Out,
		output.Detail{Name: "workspace", Value: w.Name, Style: output.Strong}, output.Detail{Name: "slug", Value: w.Slug},
		output.Detail{Name: "check links", Value: string(w.HubLinkCheckSchedule)}, output.Detail{Name: "id", Value: w.ID, Style: output.Faint})
}
