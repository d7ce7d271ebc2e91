package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bm/localstore/places/placestest"
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
	home, work := filepath.Join(dir, "home"), filepath.Join(dir, "work")
	makeReadmeFiles(t, home, work)
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
			run.Env, run.Dir = env, work
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

// makeReadmeFiles makes what the README speaks of: exports, and a browser.
func makeReadmeFiles(t *testing.T, home, work string) {
	t.Helper()
	profile := filepath.Join(home, ".mozilla", "firefox", "one.default")
	for _, folder := range []string{profile, work} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		filepath.Join(work, "bookmarks.html"):                "<DL><DT><A HREF=\"https://kept.example/\">Kept</A></DL>\n",
		filepath.Join(work, "old.csv"):                       "url,title\nhttps://old.example,Old\n",
		filepath.Join(filepath.Dir(profile), "profiles.ini"): "[Profile0]\nName=default\nIsRelative=1\nPath=one.default\nDefault=1\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bookmarks, err := placestest.Parse("menu | | Firefox | https://firefox.example/ |")
	if err == nil {
		err = placestest.Make(t.Context(), filepath.Join(profile, "places.sqlite"), bookmarks)
	}
	if err != nil {
		t.Fatal(err)
	}
}
