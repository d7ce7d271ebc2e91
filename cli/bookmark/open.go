package bookmark

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api/rules"
)

// manyTabs is how many are opened without asking.
const manyTabs = 10

func newOpen(a *app.App) *cobra.Command {
	var yes, show bool
	cmd := &cobra.Command{
		Use:   "open BOOKMARK…",
		Short: "Open bookmarks in the browser",
		Long: `Open bookmarks in the browser, or in the program that BROWSER names.

Only http and https are opened without asking; any other scheme is shown and
asked for each time.`,
		Example: `  bm open https://go.dev
  bm search golang --json id --jq '.[].id' | head -3 | xargs bm open
  bm open 019a2b3c --print`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runOpen(cmd.Context(), a, args, yes, show) },
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the URLs instead")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, fmt.Sprintf("don't ask before opening more than %d", manyTabs))
	return cmd
}

func runOpen(ctx context.Context, a *app.App, refs []string, yes, show bool) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := app.PickBookmarks(ctx, store, replica.N, refs)
	if err != nil {
		return err
	}
	if len(list) > manyTabs && !show {
		if err := a.Confirm(yes, fmt.Sprintf("Open %d bookmarks?", len(list))); err != nil {
			return err
		}
	}
	for _, b := range list {
		if show {
			if err := a.IO.Line(b.URL); err != nil {
				return err
			}
			continue
		}
		if err := openOne(ctx, a, b); err != nil {
			return err
		}
	}
	return nil
}

func openOne(ctx context.Context, a *app.App, b localstore.Bookmark) error {
	if b.URL == "" {
		return app.Fail(app.Failed, "%q has no URL.", output.Clean(b.Title)).Try("bm edit %s --url https://…", b.ID)
	}
	if strings.HasPrefix(b.URL, "-") {
		return app.Fail(app.Brake, "%q is no URL, and the browser would take it for an option.", output.Clean(b.URL)).
			Try("bm edit %s --url https://…", b.ID)
	}
	if !rules.IsWebURL(b.URL) {
		// --yes does not reach here: such a URL can run a program.
		sure, err := a.IO.Confirm(fmt.Sprintf("This is no web page:\n  %s\nOpen it all the same?", output.Clean(b.URL)))
		if errors.Is(err, output.ErrNoTerminal) {
			return app.Fail(app.Brake, "%q is no web page, and there is no terminal to ask on: %s", output.Clean(app.TitleOf(&b)), output.Clean(b.URL)).
				Try("bm open %s --print", b.ID)
		}
		if err != nil {
			return err
		}
		if !sure {
			return app.Fail(app.Failed, "It was not opened.")
		}
	}
	return a.Open(ctx, b.URL)
}
