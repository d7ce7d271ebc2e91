package bookmark

import (
	"context"

	"github.com/spf13/cobra"

	"bm/cli/app"
)

func newGet(a *app.App) *cobra.Command {
	v := newView(a)
	cmd := &cobra.Command{
		Use:   "get BOOKMARK",
		Short: "Show a bookmark",
		Long:  "Show a bookmark, named by its id, the beginning of its id, or its URL.",
		Example: `  bm get https://go.dev
  bm get 019a2b3c --json title,tags`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runGet(cmd.Context(), v, args[0]) },
	}
	v.format.Bind(cmd)
	return cmd
}

func runGet(ctx context.Context, v *view, ref string) error {
	if _, err := v.format.Wanted(); err != nil {
		return err
	}
	store, replica, err := v.app.Replica(ctx)
	if err != nil {
		return err
	}
	b, err := app.PickBookmark(ctx, store, replica.N, ref)
	if err != nil {
		return err
	}
	return v.on(ctx, store).one(b)
}
