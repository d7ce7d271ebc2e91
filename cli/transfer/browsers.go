package transfer

import (
	"fmt"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/cli/transfer/browser"
	"bm/server/api"
)

func newBrowsers(a *app.App) *cobra.Command {
	type field = output.Field[browser.Profile]
	format := &output.Format[browser.Profile]{Fields: []field{
		{Name: "from", Get: func(p browser.Profile) any { return p.From }},
		{Name: "browser", Get: func(p browser.Profile) any { return p.Browser }},
		{Name: "title", Get: func(p browser.Profile) any { return p.Title }},
		{Name: "installed", Get: func(p browser.Profile) any { return p.Kind }},
		{Name: "profile", Get: func(p browser.Profile) any { return p.Name }},
		{Name: "default", Get: func(p browser.Profile) any { return p.Default }},
		{Name: "path", Get: func(p browser.Profile) any { return p.Folder }},
		{Name: "changedAt", Get: func(p browser.Profile) any { return api.Time{Time: p.Changed} }},
	}}
	cmd := &cobra.Command{
		Use:   "browsers",
		Short: "List the browsers whose bookmarks can be imported from here",
		Long: `List the browsers on this machine, and their profiles, whose bookmarks can be
imported from where they are: bm import --from with the first column reads one.
Firefox, LibreWolf, Waterfox, Zen, Floorp, Chrome, Chromium, Edge, Brave,
Vivaldi, Opera and Safari are looked for, where the system, snap and flatpak put
them. A profile that lies elsewhere is read with --from BROWSER:FOLDER.`,
		Example: "  bm browsers\n  bm import --from firefox\n  bm browsers --json from,changedAt --jq '.[].from'",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runBrowsers(a, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runBrowsers(a *app.App, format *output.Format[browser.Profile]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	found := browser.Find(browser.This(a.Getenv))
	for i := range found.Troubles {
		trouble := barred(&found.Troubles[i])
		a.Warn(fmt.Errorf("%s (%s)", trouble.Message[:len(trouble.Message)-1], trouble.Next))
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, found.Profiles)
	}
	if len(found.Profiles) == 0 {
		fmt.Fprintln(a.IO.Err, "No browser with bookmarks was found where they usually lie. Export them there, and: bm import FILE")
		return nil
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "from", Flexible: true, Least: 16}, output.Heading{Name: "browser", Spare: 2},
		output.Heading{Name: "profile", Flexible: true, Spare: 3}, output.Heading{Name: "changed", Spare: 1}, output.Heading{Name: "where", Flexible: true, Spare: 4})
	for _, p := range found.Profiles {
		changed := api.Time{Time: p.Changed}
		err := table.Row(output.Styled(output.Strong, p.From), output.Text(p.Title), output.Text(p.Name),
			output.Cell{Value: changed.String(), Shown: output.Ago(a.Now(), p.Changed)}, output.Cell{Value: p.Folder, Style: output.Faint})
		if err != nil {
			return err
		}
	}
	if err := table.End(); err != nil || !a.IO.OutTTY {
		return err
	}
	fmt.Fprintf(a.IO.Err, "bm import --from %s   reads one of them\n", app.Typed(found.Profiles[0].From))
	return nil
}
