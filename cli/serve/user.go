package serve

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server"
	"bm/server/api"
)

// newUser is the commands about accounts.
func newUser(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use: "user", Short: "Look after the accounts of a server",
		Example: "  bm serve admin user ls\n  bm serve admin user add ada@example.com\n  bm serve admin user password ada@example.com",
	}
	cmd.AddCommand(
		newUserList(s), newUserAdd(s),
		userVerb(s, "verify", "Take an account's address for proven", "is verified", (*server.Admin).Verify),
		newUserPassword(s),
		userVerb(s, "lock", "Keep an account out: its sessions end, its keys are refused", "is locked out",
			func(a *server.Admin, ctx context.Context, email string) error { return a.SetLocked(ctx, email, true) }),
		userVerb(s, "unlock", "Let a locked account in again", "may sign in again",
			func(a *server.Admin, ctx context.Context, email string) error { return a.SetLocked(ctx, email, false) }),
	)
	return cmd
}

// userVerb is a command that does one thing to one account.
func userVerb(s *settings, verb, short, done string, do func(a *server.Admin, ctx context.Context, email string) error) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " EMAIL",
		Short:   short,
		Example: "  bm serve admin user " + verb + " ada@example.com",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd, func(ctx context.Context, a *server.Admin) error {
				if err := do(a, ctx, args[0]); err != nil {
					return aboutUser(cmd, args[0], err)
				}
				fmt.Fprintf(s.app.IO.Err, "%s %s.\n", output.Clean(args[0]), done)
				return nil
			})
		},
	}
}

// whose are the flags by which the next command is about the same server. The address
// of a database, which may hold a password, is not repeated.
func whose(cmd *cobra.Command) string {
	flags := ""
	for _, name := range []string{"config", "data-dir"} {
		if f := cmd.Flag(name); f != nil && f.Changed {
			flags += " --" + name + " " + app.Typed(f.Value.String())
		}
	}
	return flags
}

// aboutUser puts what went wrong with an account into a person's terms.
func aboutUser(cmd *cobra.Command, email string, err error) error {
	switch api.CodeOf(err) {
	case api.CodeNotFound:
		return app.Fail(app.NotFound, "There is no account %s.", output.Clean(email)).Try("bm serve admin user ls%s", whose(cmd)).Because(err)
	case api.CodeConflict:
		return app.Fail(app.Conflict, "There is an account %s already.", output.Clean(email)).Try("bm serve admin user password %s%s", app.Typed(email), whose(cmd)).Because(err)
	case api.CodeValidation:
		return app.Named(err, map[string]string{"password": "The password", "email": strconv.Quote(output.Clean(email)), "displayName": "--name"})
	}
	return err
}

func newUserList(s *settings) *cobra.Command {
	format := &output.Format[server.AccountSummary]{Fields: []output.Field[server.AccountSummary]{
		{Name: "id", Get: func(a server.AccountSummary) any { return a.ID }},
		{Name: "email", Get: func(a server.AccountSummary) any { return a.Email }},
		{Name: "displayName", Get: func(a server.AccountSummary) any { return a.DisplayName }},
		{Name: "verified", Get: func(a server.AccountSummary) any { return a.Verified }},
		{Name: "locked", Get: func(a server.AccountSummary) any { return a.Locked }},
		{Name: "createdAt", Get: func(a server.AccountSummary) any { return a.CreatedAt }},
	}}
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the accounts",
		Example: "  bm serve admin user ls",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := format.Wanted()
			if err != nil {
				return err
			}
			return s.with(cmd, func(ctx context.Context, a *server.Admin) error {
				accounts, err := a.Accounts(ctx)
				if err != nil {
					return err
				}
				if wanted {
					return format.List(s.app.IO.Out, s.app.IO, accounts)
				}
				return showAccounts(s.app, accounts)
			})
		},
	}
	format.Bind(cmd)
	return cmd
}

func showAccounts(a *app.App, accounts []server.AccountSummary) error {
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "email"}, output.Heading{Name: "name", Flexible: true}, output.Heading{Name: "state"}, output.Heading{Name: "made"})
	for _, account := range accounts {
		state, style := "unverified", output.Faint
		switch {
		case account.Locked:
			state = "locked"
		case account.Verified:
			state, style = "verified", output.Good
		}
		err := table.Row(output.Styled(output.Strong, account.Email), output.Text(account.DisplayName), output.Styled(style, state),
			output.Cell{Value: account.CreatedAt.String(), Shown: output.Ago(a.Now(), account.CreatedAt.Time)})
		if err != nil {
			return err
		}
	}
	return table.End()
}

func newUserAdd(s *settings) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "add EMAIL",
		Short: "Make an account, whatever the server says of registrations",
		Long: `Make an account with an organization and a workspace of its own, whatever the server
says of registrations. The password is asked for, or read from the standard input.`,
		Example: `  bm serve admin user add ada@example.com
  pass bm/ada | bm serve admin user add ada@example.com --name Ada`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.MustBeEmail(args[0], cmd.CommandPath()+" me@example.com"+whose(cmd)); err != nil {
				return err
			}
			return s.with(cmd, func(ctx context.Context, a *server.Admin) error {
				password, err := s.app.NewPassword("Password of "+args[0], cmd.CommandPath()+" "+app.Typed(args[0])+whose(cmd))
				if err != nil {
					return err
				}
				in := api.Register{Email: args[0], Password: password, NoticeVersion: api.NoticeVersion}
				if name != "" {
					in.DisplayName = api.Some(name)
				}
				if err := a.AddAccount(ctx, in); err != nil {
					return aboutUser(cmd, args[0], err)
				}
				fmt.Fprintf(s.app.IO.Err, "Made the account %s.\n", output.Clean(args[0]))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "what the account is called")
	return cmd
}

func newUserPassword(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "password EMAIL",
		Short: "Give an account another password, and end its sessions",
		Long: `Give an account another password, and end its sessions. It is asked for, or read
from the standard input.`,
		Example: "  bm serve admin user password ada@example.com",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd, func(ctx context.Context, a *server.Admin) error {
				password, err := s.app.NewPassword("New password of "+args[0], cmd.CommandPath()+" "+app.Typed(args[0])+whose(cmd))
				if err != nil {
					return err
				}
				if err := a.SetPassword(ctx, args[0], password); err != nil {
					return aboutUser(cmd, args[0], err)
				}
				fmt.Fprintf(s.app.IO.Err, "%s has another password.\n", output.Clean(args[0]))
				return nil
			})
		},
	}
}
