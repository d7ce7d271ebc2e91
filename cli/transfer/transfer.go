package transfer

import (
	"github.com/spf13/cobra"

	"bm/cli/app"
)

// Commands are the commands of this package.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newImport(a), newExport(a), newBrowsers(a)}
}
