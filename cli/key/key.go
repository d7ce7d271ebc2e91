package key

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/server/api"
	"bm/server/api/client"
)

// New is the command group.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "key", Aliases: []string{"keys"}, Short: "List, make, rotate and revoke API keys",
		Example: "  bm key ls\n  bm key create --label backup --permission bookmarks.read\n  bm key rotate",
	}
	cmd.AddCommand(newList(a), newCreate(a), newRotate(a), newRevoke(a))
	return cmd
}

func newList(a *app.App) *cobra.Command {
	type field = output.Field[api.APIKeyMetadata]
	format := &output.Format[api.APIKeyMetadata]{Fields: []field{
		{Name: "id", Get: func(k api.APIKeyMetadata) any { return k.ID }},
		{Name: "label", Get: func(k api.APIKeyMetadata) any { return k.Label }},
		{Name: "status", Get: func(k api.APIKeyMetadata) any { return k.Status }},
		{Name: "workspaceId", Get: func(k api.APIKeyMetadata) any { return k.WorkspaceID }},
		{Name: "accountId", Get: func(k api.APIKeyMetadata) any { return k.AccountID }},
		{Name: "permissions", Get: func(k api.APIKeyMetadata) any { return k.Permissions }},
		{Name: "createdAt", Get: func(k api.APIKeyMetadata) any { return when(k.CreatedAt) }},
		{Name: "rotatedAt", Get: func(k api.APIKeyMetadata) any { return when(k.RotatedAt) }},
		{Name: "revokedAt", Get: func(k api.APIKeyMetadata) any { return when(k.RevokedAt) }},
		{Name: "expiresAt", Get: func(k api.APIKeyMetadata) any { return when(k.ExpiresAt) }},
		{Name: "lastUsedAt", Get: func(k api.APIKeyMetadata) any { return when(k.LastUsedAt) }},
	}}
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List API keys, without their secrets",
		Example: "  bm key ls\n  bm key ls --json id,label --jq '.[] | select(.label | test(\"laptop\")) | .id'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), a, format) },
	}
	format.Bind(cmd)
	return cmd
}

// when is an instant, or null for none.
func when(at api.Time) any {
	if at.IsZero() {
		return nil
	}
	return at
}

func runList(ctx context.Context, a *app.App, format *output.Format[api.APIKeyMetadata]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	caller, err := a.Client(ctx)
	if err != nil {
		return err
	}
	keys, err := caller.ListAPIKeys(ctx)
	if err != nil {
		return a.Refused(err)
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, keys)
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	own := c.Account().KeyID
	names, err := workspaceNames(ctx, a)
	if err != nil {
		return err
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "id", Spare: 1}, output.Heading{Name: "label", Flexible: true, Least: 16}, output.Heading{Name: "status"},
		output.Heading{Name: "reach", Flexible: true, Least: 12, Spare: 3}, output.Heading{Name: "made", Spare: 5}, output.Heading{Name: "used", Spare: 4},
		output.Heading{Name: "", Spare: 2})
	for _, k := range keys {
		reach, mark, style := output.Cell{Value: k.WorkspaceID, Shown: names[k.WorkspaceID]}, "", output.Good
		if k.WorkspaceID == "" {
			reach = output.Text("organization")
		}
		if k.ID == own {
			mark = "this machine"
		}
		if k.Status != api.KeyActive {
			style = output.Faint
		}
		err := table.Row(output.Cell{Value: k.ID, Shown: app.ShortID(k.ID), Style: output.Faint},
			output.Styled(output.Strong, k.Label), output.Styled(style, string(k.Status)), reach,
			output.Cell{Value: k.CreatedAt.String(), Shown: output.Ago(a.Now(), k.CreatedAt.Time)}, used(a, k), output.Text(mark))
		if err != nil {
			return err
		}
	}
	return table.End()
}

// workspaceNames are the workspaces that this machine mirrors, by their ids.
func workspaceNames(ctx context.Context, a *app.App) (map[string]string, error) {
	store, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	replicas, err := store.Replicas(ctx)
	names := map[string]string{}
	for _, r := range replicas {
		names[r.RemoteID] = r.Name
	}
	return names, err
}

func used(a *app.App, k api.APIKeyMetadata) output.Cell {
	if k.LastUsedAt.IsZero() {
		return output.Text("")
	}
	return output.Cell{Value: k.LastUsedAt.String(), Shown: output.Ago(a.Now(), k.LastUsedAt.Time)}
}

// find is the id of the key that ref means: an id, the beginning of one, or the
// label of a key that is in force.
func find(ctx context.Context, caller *client.Client, ref string) (string, error) {
	if api.ValidID(ref) {
		return ref, nil
	}
	keys, err := caller.ListAPIKeys(ctx)
	if err != nil {
		return "", err
	}
	var labelled, begun, labels []string
	for _, k := range keys {
		labels = append(labels, k.Label)
		if k.Label == ref && k.Status == api.KeyActive {
			labelled = append(labelled, k.ID)
		}
		if len(ref) >= minPrefix && strings.HasPrefix(k.ID, strings.ToLower(ref)) {
			begun = append(begun, k.ID)
		}
	}
	switch {
	case len(labelled) == 1:
		return labelled[0], nil
	case len(labelled) > 1:
		return "", app.Fail(app.Usage, "%d keys are labelled %q:\n  %s", len(labelled), output.Clean(ref), strings.Join(labelled, "\n  ")).
			Try("the same command with one of these ids")
	case len(begun) == 1:
		return begun[0], nil
	case len(begun) > 1:
		return "", app.Fail(app.Usage, "The ids of %d keys begin with %q:\n  %s", len(begun), output.Clean(ref), strings.Join(begun, "\n  ")).
			Try("the same command with one of these ids")
	}
	if near := config.Nearest(ref, labels); near != "" {
		return "", unknown(ref).Try("%s   if that was meant; bm key ls lists them all", app.Typed(near))
	}
	return "", unknown(ref)
}

// minPrefix is the length from which the beginning of an id is taken for one.
const minPrefix = 4

func unknown(ref string) *app.Error {
	return app.Fail(app.NotFound, "There is no API key %q.", output.Clean(ref)).Try("bm key ls   lists them")
}
