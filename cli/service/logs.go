package service

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
)

func newLogs(a *app.App) *cobra.Command {
	lines := 50
	cmd := &cobra.Command{
		Use:     "logs",
		Short:   "Show the end of the daemon's log",
		Example: "  bm daemon logs\n  bm daemon logs -n 500",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if lines < 1 {
				return app.Fail(app.Usage, "--lines %d: a number from 1 is wanted.", lines)
			}
			c, err := a.Config()
			if err != nil {
				return err
			}
			path := filepath.Join(c.Folders.Logs(), "daemon.log")
			text, err := tail(path, lines)
			if errors.Is(err, os.ErrNotExist) {
				return app.Fail(app.NotFound, "The daemon has written no log yet: %s.", path).Try("bm daemon start").Because(err)
			}
			if err != nil {
				return err
			}
			if a.IO.OutTTY {
				text = output.CleanText(text)
			}
			_, err = io.WriteString(a.IO.Out, text)
			return err
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 50, "so `many`")
	return cmd
}

// maxTail is how much of the end of a log is looked at.
const maxTail = 1 << 20

// tail is the last lines of a file.
func tail(path string, lines int) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	text := make([]byte, min(info.Size(), maxTail))
	if _, err := file.ReadAt(text, info.Size()-int64(len(text))); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the log: %w", err)
	}
	from := len(text)
	for ; from > 0; from-- {
		if text[from-1] == '\n' && from < len(text) {
			if lines--; lines <= 0 {
				break
			}
		}
	}
	return string(text[from:]), nil
}
