package manual

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
)

// Commands are the commands that need the whole tree below root.
func Commands(a *app.App, root *cobra.Command) []*cobra.Command {
	return []*cobra.Command{newCompletion(a, root), newMan(a, root)}
}

// NewHelp is the command that shows the help of another.
func NewHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND…]",
		Short:   "Show the help of a command",
		Example: "  bm help\n  bm help folder add",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			target, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, cmd := range target.Commands() {
				if cmd.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(cmd.Name(), cmd.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			target, rest, err := root.Find(args)
			if err == nil && len(rest) == 0 {
				return target.Help()
			}
			return noCommand(root, target, args, rest, "help")
		},
	}
}

// noCommand says that there is no command of a name, and which was meant:
// target is how far the name leads, and rest what is none of its commands.
func noCommand(root, target *cobra.Command, args, rest []string, asker string) error {
	e := app.Fail(app.Usage, "There is no command %q.", output.Clean(root.Name()+" "+strings.Join(args, " ")))
	if len(rest) > 0 {
		if near := app.NearestCommand(target, rest[0]); near != "" {
			return e.Try("%s %s%s %s", root.Name(), asker, strings.TrimPrefix(target.CommandPath(), root.Name()), near)
		}
	}
	return e.Try("%s --help   lists them", target.CommandPath())
}

type build struct{ version, system, goVersion string }

func thisBuild(a *app.App) build {
	return build{a.Version, runtime.GOOS + "/" + runtime.GOARCH, runtime.Version()}
}

// Version is the line that says which build this is.
func Version(a *app.App) string {
	b := thisBuild(a)
	return fmt.Sprintf("bm %s %s %s", b.version, b.system, b.goVersion)
}

// NewVersion is the command that prints the version.
func NewVersion(a *app.App) *cobra.Command {
	type field = output.Field[build]
	format := &output.Format[build]{Fields: []field{
		{Name: "version", Get: func(b build) any { return b.version }},
		{Name: "system", Get: func(b build) any { return b.system }},
		{Name: "go", Get: func(b build) any { return b.goVersion }},
	}}
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  bm version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild(a)
			wanted, err := format.Wanted()
			if err != nil {
				return err
			}
			if wanted {
				return format.One(a.IO.Out, a.IO, b)
			}
			_, err = fmt.Fprintln(a.IO.Out, Version(a))
			return err
		},
	}
	format.Bind(cmd)
	return cmd
}
