package manual

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"

	"bm/cli/app"
)

// The scripts are ours: cobra's for bash and fish let the shell evaluate what a
// folder or a tag is called, and other people may have named it.
var (
	//go:embed completion.bash
	bash string
	//go:embed completion.zsh
	zsh string
	//go:embed completion.fish
	fish string
)

func newCompletion(a *app.App, root *cobra.Command) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the completion script of a shell",
		Long:  "Print the completion script of a shell. It completes folders, tags and workspaces too.",
		Example: `  source <(bm completion bash)
  bm completion zsh > "${fpath[1]}/_bm"
  bm completion fish > ~/.config/fish/completions/bm.fish
  bm completion powershell | Out-String | Invoke-Expression`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: shells,
		RunE: func(_ *cobra.Command, args []string) error {
			script, ours := map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[args[0]]
			if !ours {
				return root.GenPowerShellCompletionWithDesc(a.IO.Out)
			}
			_, err := io.WriteString(a.IO.Out, script)
			return err
		},
	}
}
