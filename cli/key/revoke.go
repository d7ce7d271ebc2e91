package key

import (
	"fmt"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server/api"
)

func newRevoke(a *app.App) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:     "revoke KEY",
		Short:   "End a key for good",
		Long:    "End a key for good. It is named by its id, the beginning of its id, or its label\nwhere only one key has that.",
		Example: "  bm key revoke backup\n  bm key revoke 01999f2e-5a3c-7d10-8e4b-2f6a7c9d1e35",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			caller, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			id, err := find(cmd.Context(), caller, args[0])
			if err != nil {
				return err
			}
			c, err := a.Config()
			if err != nil {
				return err
			}
			own := c.Account().KeyID == id
			question := "End the key " + args[0] + " for good?"
			if own {
				question = "End this machine's own key for good? It signs this machine out."
			}
			if err := a.Confirm(yes, question); err != nil {
				return err
			}
			err = caller.RevokeAPIKey(cmd.Context(), id)
			if api.CodeOf(err) == api.CodeNotFound {
				return unknown(id).Because(err)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(a.IO.Err, "The key %s has ended.\n", output.Clean(args[0]))
			if own {
				fmt.Fprintln(a.IO.Err, "It was this machine's own: what calls the server needs bm auth login first.")
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}
