package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bm/server/api/needtest"
)

// What the README has a newcomer type works, in its order, on an empty home.
func TestReadmeCommands(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		needtest.Missing(t, "shell", "the README's commands are for one: %v", err)
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	buildBM(t, dir)
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	// What a laptop has and this machine may lack.
	for name, script := range map[string]string{"pbpaste": "echo https://pasted.example", "fzf": "head -n1"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "home")
	env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="+dir,
		"PATH="+strings.Join([]string{dir, bin, os.Getenv("PATH")}, string(os.PathListSeparator)))
	ran := 0
	for _, section := range []string{"## Start", "## Your bookmarks"} {
		_, rest, _ := strings.Cut(string(text), section+"\n")
		rest, _, _ = strings.Cut(rest, "\n## ")
		for line := range strings.Lines(rest) {
			command, isCommand := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
			if !isCommand || strings.HasPrefix(command, "go run") || strings.HasPrefix(command, "bm sync") {
				continue
			}
			if strings.HasPrefix(command, "bm rm ") {
				command += " --yes" // nobody is here to be asked
			}
			ran++
			run := exec.CommandContext(t.Context(), "sh", "-c", command)
			run.Env = env
			output, err := run.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", command, err, output)
			}
			if strings.HasPrefix(command, "bm search") && len(output) == 0 {
				t.Errorf("%s: finds nothing", command)
			}
		}
	}
	if ran < 12 {
		t.Errorf("the README has %d commands?", ran)
	}
}
