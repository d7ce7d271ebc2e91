package background

import "github.com/charmbracelet/lipgloss"

// It has to run before another package's init; nothing but an init can.
func init() {
	lipgloss.SetHasDarkBackground(true)
}
