package app

import (
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/config"
)

// NearestCommand is the command of a group that was most likely meant by a name
// that is none of them: one that begins with it, or is nearly it; "" where none is.
// Cobra's own search finds ls for rm.
func NearestCommand(group *cobra.Command, typed string) string {
	typed = strings.ToLower(typed)
	var names []string
	for _, cmd := range group.Commands() {
		if !cmd.IsAvailableCommand() {
			continue
		}
		if typed != "" && strings.HasPrefix(cmd.Name(), typed) {
			return cmd.Name()
		}
		names = append(names, cmd.Name())
	}
	return config.Nearest(typed, names)
}
