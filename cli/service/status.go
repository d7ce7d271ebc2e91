package service

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/daemon/control"
)

// row is a workspace as the daemon sees it.
type row struct {
	profile control.ProfileInfo
	control.WorkspaceInfo
}

func newStatus(a *app.App) *cobra.Command {
	type field = output.Field[row]
	format := &output.Format[row]{Fields: []field{
		{Name: "profile", Get: func(r row) any { return r.profile.Name }},
		{Name: "server", Get: func(r row) any { return r.profile.Server }},
		{Name: "trouble", Get: func(r row) any { return r.profile.Trouble }},
		{Name: "live", Get: func(r row) any { return r.profile.Live }},
		{Name: "workspace", Get: func(r row) any { return r.Name }},
		{Name: "workspaceId", Get: func(r row) any { return r.ID }},
		{Name: "state", Get: func(r row) any { return r.State }},
		{Name: "reason", Get: func(r row) any { return r.Reason }},
		{Name: "syncedAt", Get: func(r row) any { return r.SyncedAt }},
		{Name: "nextTry", Get: func(r row) any { return r.NextTry }},
	}}
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show what the daemon does",
		Example: "  bm daemon status\n  bm daemon status --json workspace,state",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), a, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runStatus(ctx context.Context, a *app.App, format *output.Format[row]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	d, err := a.Daemon()
	if err != nil {
		return err
	}
	reply, err := d.Ask(ctx, control.Request{Command: control.Status})
	if err != nil {
		return err
	}
	var rows []row
	for _, p := range reply.Status.Profiles {
		if len(p.Workspaces) == 0 {
			rows = append(rows, row{profile: p})
		}
		for _, w := range p.Workspaces {
			rows = append(rows, row{p, w})
		}
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, rows)
	}
	state := "running"
	if reply.Status.Paused {
		state = "paused"
	}
	fmt.Fprintf(a.IO.Err, "The daemon is %s: version %s, process %d, started %s.\n", state, output.Clean(reply.Version), reply.PID, output.Ago(a.Now(), reply.Status.Started))
	if len(rows) == 0 {
		why := "No profile is signed in: there is nothing to keep in step."
		if signed, err := anySignedIn(a); err != nil {
			return err
		} else if signed && reply.Status.Paused {
			why = "Nothing is kept in step until bm daemon resume."
		}
		fmt.Fprintln(a.IO.Err, why)
		return nil
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "profile"}, output.Heading{Name: "workspace", Flexible: true}, output.Heading{Name: "state", Flexible: true}, output.Heading{Name: "synced"})
	for _, r := range rows {
		text := r.State
		switch {
		case r.profile.Trouble != "":
			text = r.profile.Trouble
		case r.Reason != "":
			text += ": " + r.Reason
		}
		synced := output.Text("")
		if !r.SyncedAt.IsZero() {
			synced = output.Cell{Value: r.SyncedAt.Format(time.RFC3339), Shown: output.Ago(a.Now(), r.SyncedAt), Style: output.Faint}
		}
		err := table.Row(output.Styled(output.Strong, r.profile.Name), output.Text(r.Name), output.Text(text), synced)
		if err != nil {
			return err
		}
	}
	return table.End()
}

// anySignedIn reports whether a profile of this machine has a server to be in
// step with. A daemon that is paused looks at none.
func anySignedIn(a *app.App) (bool, error) {
	c, err := a.Config()
	if err != nil {
		return false, err
	}
	names, err := c.Profiles()
	if err != nil {
		return false, err
	}
	for _, name := range names {
		of, err := c.ForProfile(name)
		if err != nil {
			return false, err
		}
		if of.Account().SignedIn() {
			return true, nil
		}
	}
	return false, nil
}
