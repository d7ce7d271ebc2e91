package manual

import (
	"io"

	"github.com/spf13/cobra"

	"bm/cli/app"
)

// withoutPackage replaces the part of the script for bash that needs the package
// bash-completion, which macOS and many a container lack: each press of Tab
// would end in an error there.
const withoutPackage = `
# Without the package bash-completion, the words are as bash splits them, but for
# a flag and its value on both sides of a =.
__bm_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    words=()
    cword=0
    local i word last="" rest=$COMP_LINE
    for i in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $rest != [[:space:]]* && ($word == = || $last == =) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        rest=${rest#*"$word"}
        last=$word
        if ((i == COMP_CWORD)); then
            cword=$((${#words[@]} - 1))
        fi
    done
    cur=${words[cword]}
    prev=""
    if ((cword > 0)); then
        prev=${words[cword-1]}
    fi
}
`

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
			switch args[0] {
			case "bash":
				err := root.GenBashCompletionV2(a.IO.Out, true)
				if err == nil {
					_, err = io.WriteString(a.IO.Out, withoutPackage)
				}
				return err
			case "zsh":
				return root.GenZshCompletion(a.IO.Out)
			case "fish":
				return root.GenFishCompletion(a.IO.Out, true)
			}
			return root.GenPowerShellCompletionWithDesc(a.IO.Out)
		},
	}
}
