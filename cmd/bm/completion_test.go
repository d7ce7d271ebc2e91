//go:build unix

package main_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"bm/server/api/needtest"
)

// What Tab puts into the line is what it stands for, however a folder is called,
// and no shell runs any of it: others may have named the folder.
func TestTabInShells(t *testing.T) {
	dir := t.TempDir()
	program := buildBM(t, dir)
	for _, name := range []string{`$(touch EVIL)one`, `$(touch EVIL)two`, `(touch EVIL)`, "`touch EVIL`", `My "Dev"`, `My "Dev"/Go stuff`, `it's \/!`, `zwei Worte`} {
		onTerminal(t, program, dir, 80, "", "", "folder", "add", name)
	}
	onTerminal(t, program, dir, 80, "", "", "add", "https://a.example", "--tag", `with quo"te`)
	for _, profile := range []string{"Default", "$(touch EVIL) 1"} {
		folder := filepath.Join(dir, "chromium", profile)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "Bookmarks"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shells := []struct {
		name  string
		start []string
		setup string
	}{
		{"bash", []string{"--norc", "--noprofile", "-i"}, "source <(bm completion bash)"},
		{"zsh", []string{"-f", "-i"}, "autoload -Uz compinit; compinit -u -D; source <(bm completion zsh)"},
		{"fish", []string{"--no-config", "-i"}, "bm completion fish | source"},
	}
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			if _, err := exec.LookPath(shell.name); err != nil {
				needtest.Missing(t, shell.name, "its completion needs it: %v", err)
			}
			line := newShell(t, dir, program, shell.name, shell.start, shell.setup)
			for _, test := range []struct{ typed, want string }{
				{`bm ls zw`, `<zwei Worte>`},
				{`bm ls zwei\ `, `<zwei Worte>`},
				{`bm ls "zw`, `<zwei Worte>`},
				{`bm ls 'zw`, `<zwei Worte>`},
				{`bm ls My\ \"Dev\"/`, `<My "Dev"/Go stuff>`},
				{`bm ls i`, `<it's \/!>`},
				{`bm ls \(`, `<(touch EVIL)>`},
				{"bm ls \\`", "<`touch EVIL`>"},
				{`bm ls \$`, `<$(touch EVIL)`}, // what the two have in common, or one of them
				{`bm ls --tag=with\ q`, `<--tag=with quo"te>`},
				{`bm fol`, `<folder>`},
				{`bm ls --json ur`, `<url`}, // which may go on
				{`bm import --from chromium:D`, `<chromium:Default>`},
				{`bm import --from=chromium:D`, `<--from=chromium:Default>`},
				{`bm import --from 'chromium:$`, `<chromium:$(touch EVIL) 1>`},
			} {
				if got := line(test.typed); !strings.Contains(got, test.want) {
					t.Errorf("%q becomes %q, want %q", test.typed, got, test.want)
				}
				if found, err := filepath.Glob(filepath.Join(dir, "EVIL*")); err != nil || len(found) > 0 {
					t.Fatalf("%q runs what a folder is called: %v, %v", test.typed, found, err)
				}
			}
		})
	}
}

// newShell starts a shell and answers a function that types a line and Tab twice,
// and answers the words that it consists of then.
func newShell(t *testing.T, dir, program, shell string, start []string, setup string) func(typed string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	cmd := exec.CommandContext(ctx, shell, start...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm", "PS1=> ", "HOME="+dir, "LC_ALL=C.UTF-8", "HISTFILE=", "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir,
		"PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"BM_CONFIG_DIR="+filepath.Join(dir, "config"), "BM_DATA_DIR="+filepath.Join(dir, "data"))
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel() // it waits for what nobody types any more
		_ = cmd.Wait()
		_ = terminal.Close()
	})
	buffer := make([]byte, 4096)
	enter := func(text string) string {
		t.Helper()
		if _, err := io.WriteString(terminal, text+"; echo; echo en''ded\r"); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for !strings.Contains(out.String(), "\nended") {
			n, err := terminal.Read(buffer)
			if err != nil {
				t.Fatalf("%s ended: %v\n%s", shell, err, out.String())
			}
			out.Write(buffer[:n])
		}
		return out.String()
	}
	enter(setup)
	return func(typed string) string {
		t.Helper()
		return enter(typed + "\t\t\x01printf '<%s>' \x05")
	}
}

// What the script takes for a number is one: bash runs what stands in brackets
// within arithmetic.
func TestAnAnswerIsNotRunOnTab(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		needtest.Missing(t, "shell", "its completion needs bash: %v", err)
	}
	dir := t.TempDir()
	script, err := exec.Command(buildBM(t, dir), "completion", "bash").Output()
	if err != nil {
		t.Fatal(err)
	}
	fake := t.TempDir()
	program := "#!/bin/sh\nprintf 'one\\n:a[$(touch EVIL)]\\n'\n"
	for name, text := range map[string]string{"bm": program, "script": string(script)} {
		if err := os.WriteFile(filepath.Join(fake, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	line := exec.Command(bash, "--norc", "-c", `source ./script; COMP_LINE="bm ls o"; COMP_POINT=7; __start_bm bm o bm`)
	line.Dir, line.Env = fake, append(os.Environ(), "PATH="+fake+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := line.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(fake, "EVIL")); err == nil {
		t.Error("what the program answered was run")
	}
}
