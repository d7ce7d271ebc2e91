package app

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
)

// openURL hands a URL to the system's opener, or the one that BROWSER names,
// as an argument: no shell ever reads it.
func openURL(ctx context.Context, browser, url string) error {
	program, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	if browser != "" {
		program, args = browser, []string{url}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return Fail(Failed, "There is no %s here to open a browser with.", program).
			Try("set BROWSER to the program that opens URLs").Because(err)
	}
	if err := exec.CommandContext(ctx, path, args...).Run(); err != nil {
		return fmt.Errorf("open it with %s: %w", program, err)
	}
	return nil
}
