package auth

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
)

// account is a profile, and who is signed in to its server.
type account struct {
	profile, server, email string
	signedIn, inUse        bool
}

func newSwitch(a *app.App) *cobra.Command {
	type field = output.Field[account]
	format := &output.Format[account]{Fields: []field{
		{Name: "profile", Get: func(a account) any { return a.profile }},
		{Name: "server", Get: func(a account) any { return a.server }},
		{Name: "email", Get: func(a account) any { return a.email }},
		{Name: "signedIn", Get: func(a account) any { return a.signedIn }},
		{Name: "inUse", Get: func(a account) any { return a.inUse }},
	}}
	cmd := &cobra.Command{
		Use:   "switch [PROFILE]",
		Short: "List the profiles, or choose one",
		Long: `List the profiles, or choose the one that is meant where none is named. A profile
has a server, an account and a copy of its own: bm auth login --profile NAME, or
bm add --profile NAME without a server, makes one.`,
		Example: `  bm auth switch
  bm auth switch work
  bm auth switch --json profile,server`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			c, err := a.Config()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names, err := c.Profiles()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return runSwitch(a, args, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runSwitch(a *app.App, args []string, format *output.Format[account]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	names, err := c.Profiles()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if !slices.Contains(names, args[0]) {
			e := app.Fail(app.NotFound, "There is no profile %q on this machine.", output.Clean(args[0]))
			if near := config.Nearest(args[0], names); near != "" {
				return e.Try("bm auth switch %s   if that was meant", near)
			}
			return e.Try("bm auth login --profile %s --server https://…", app.Typed(args[0]))
		}
		if err := c.Choose(args[0]); err != nil {
			return err
		}
		fmt.Fprintf(a.IO.Err, "Commands are about the profile %s now.\n", args[0])
		return nil
	}
	list := make([]account, len(names))
	for i, name := range names {
		of, err := c.ForProfile(name)
		if err != nil {
			return err
		}
		own := of.Account()
		list[i] = account{profile: name, server: own.Server, email: own.Email, signedIn: own.SignedIn(), inUse: name == c.ProfileName()}
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, list)
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: ""}, output.Heading{Name: "profile"}, output.Heading{Name: "server", Flexible: true}, output.Heading{Name: "account", Flexible: true})
	for _, one := range list {
		mark := ""
		if one.inUse {
			mark = "*"
		}
		if err := table.Row(output.Text(mark), output.Styled(output.Strong, one.profile), output.Styled(output.Link, one.server), output.Text(one.email)); err != nil {
			return err
		}
	}
	return table.End()
}
