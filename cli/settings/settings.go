package settings

import (
	"slices"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
)

// New is the command.
func New(a *app.App) *cobra.Command {
	type field = output.Field[config.Value]
	format := &output.Format[config.Value]{Fields: []field{
		{Name: "key", Get: func(v config.Value) any { return v.Key }},
		{Name: "value", Get: func(v config.Value) any { return v.Value }},
		{Name: "origin", Get: func(v config.Value) any { return v.Origin }},
		{Name: "env", Get: func(v config.Value) any { return v.Env }},
		{Name: "default", Get: func(v config.Value) any { return v.Default }},
		{Name: "about", Get: func(v config.Value) any { return v.About }},
	}}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings, and where each came from",
		Long: `Show the settings, and where each came from: a flag goes before the environment,
that before config.toml (and in it [profiles.NAME] before the rest), that before
what bm wrote when it signed in, that before a default.

A setting is changed by a line of config.toml, which bm config path finds:

  offline = true
  daemon.autostart = false
  [profiles.work]
  server = "https://work.example.com"

or by its variable: BM_SERVER, BM_PROFILE, BM_WORKSPACE, BM_OFFLINE and so on, as
--json key,env,about lists them. BM_TOKEN, BM_CONFIG_DIR and BM_DATA_DIR are in
bm man.`,
		Example: `  bm config
  bm config path
  bm config --json key,value,origin`,
		Args: func(cmd *cobra.Command, args []string) error { return noMore(a, cmd, args) },
		RunE: func(*cobra.Command, []string) error { return run(a, format) },
	}
	format.Bind(cmd)
	cmd.AddCommand(newGet(a), newPath(a))
	return cmd
}

// noMore refuses what is none of the commands, such as "set": settings are
// changed in the file.
func noMore(a *app.App, cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := app.Fail(app.Usage, "There is no command %q in %q, which only shows settings.", output.Clean(args[0]), cmd.CommandPath())
	if near := app.NearestCommand(cmd, args[0]); near != "" && args[0] != "set" { // which is as near to get as can be
		return e.Try("%s %s", cmd.CommandPath(), near)
	}
	if c, err := a.Config(); err == nil {
		return e.Try("a line in %s; %s --help shows some", c.Folders.File(), cmd.CommandPath())
	}
	return e.Try("%s --help", cmd.CommandPath())
}

func run(a *app.App, format *output.Format[config.Value]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, c.Values())
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "setting"}, output.Heading{Name: "value", Flexible: true}, output.Heading{Name: "from", Flexible: true})
	for _, v := range c.Values() {
		if err := table.Row(output.Styled(output.Strong, v.Key), output.Text(v.Value), output.Styled(output.Faint, v.Origin)); err != nil {
			return err
		}
	}
	return table.End()
}

func newGet(a *app.App) *cobra.Command {
	var keys []string
	for _, s := range config.Settings {
		keys = append(keys, s.Key)
	}
	return &cobra.Command{
		Use:               "get SETTING",
		Short:             "Print the value of one setting",
		Example:           "  bm config get server",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(keys, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(keys, args[0]) {
				e := app.Fail(app.NotFound, "There is no setting %q.", output.Clean(args[0]))
				if near := config.Nearest(args[0], keys); near != "" {
					return e.Try("bm config get %s", near)
				}
				return e.Try("bm config   lists them")
			}
			c, err := a.Config()
			if err != nil {
				return err
			}
			return a.IO.Line(c.Get(args[0]))
		},
	}
}

// place is where bm keeps something.
type place struct{ what, path string }

func newPath(a *app.App) *cobra.Command {
	format := &output.Format[place]{Fields: []output.Field[place]{
		{Name: "what", Get: func(p place) any { return p.what }},
		{Name: "path", Get: func(p place) any { return p.path }},
	}}
	cmd := &cobra.Command{
		Use:   "path",
		Short: "Print where bm keeps its files",
		Example: `  $EDITOR "$(bm config path | head -1 | cut -f2)"
  bm config path --json what,path --jq '.[] | select(.what == "logs") | .path'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runPath(a, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runPath(a *app.App, format *output.Format[place]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	places := []place{
		{"settings", c.Folders.File()},
		{"profile", c.Folders.ProfileFile(c.ProfileName())},
		{"bookmarks", c.Folders.Replica(c.ProfileName())},
		{"logs", c.Folders.Logs()},
		{"socket", c.Folders.Socket()},
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, places)
	}
	details := make([]output.Detail, len(places))
	for i, p := range places {
		details[i] = output.Detail{Name: p.what, Value: p.path}
	}
	return a.IO.Details(a.IO.Out, details...)
}
