package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Twenty programs that edit the same local copy at once: each edit is there
// afterwards, once.
func TestTwentyAtOnce(t *testing.T) {
	dir := t.TempDir()
	program := buildBM(t, dir)
	env := append(os.Environ(), "BM_CONFIG_DIR="+filepath.Join(dir, "config"), "BM_DATA_DIR="+filepath.Join(dir, "data"), "BM_DAEMON_AUTOSTART=false")
	run := func(args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Env = env
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	const programs, each = 20, 5
	var all sync.WaitGroup
	for p := range programs {
		all.Go(func() {
			for i := range each {
				// The first of them race to make the file and its schema, too.
				if output, err := run("add", fmt.Sprintf("https://p%d.example/%d", p, i), "--folder", "Shared/Folder"); err != nil {
					t.Errorf("program %d: %v\n%s", p, err, output)
				}
			}
		})
	}
	all.Wait()
	for args, want := range map[string]string{
		"ls --count":                             fmt.Sprint(programs * each),
		"folder ls --json total --jq .[0].total": fmt.Sprint(programs * each),
		"folder ls --json path --jq length":      "2", // nobody made the folder twice
		"dupes --json id --jq length":            "0",
		"log -n 1000 --json n --jq length":       fmt.Sprint(programs * each),
	} {
		if output, err := run(strings.Fields(args)...); err != nil || strings.TrimSpace(output) != want {
			t.Errorf("bm %s: %q, %v, want %s", args, output, err, want)
		}
	}
}

// Of several that bring the same machine up at once one does, and the others say
// so: there is one account, and one key.
func TestUpAtOnce(t *testing.T) {
	dir := t.TempDir()
	program := buildBM(t, dir)
	env := append(os.Environ(), "BM_CONFIG_DIR="+filepath.Join(dir, "config"), "BM_DATA_DIR="+filepath.Join(dir, "data"),
		"DBUS_SESSION_BUS_ADDRESS=unix:path="+filepath.Join(dir, "no-bus"))
	const programs = 4
	outputs := make([]string, programs) // files
	said := func(n int) string {
		text, err := os.ReadFile(outputs[n])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	endings := make(chan int, programs)
	running := map[int]*exec.Cmd{}
	failures := make([]error, programs)
	for n := range programs {
		outputs[n] = filepath.Join(dir, fmt.Sprint("output", n))
		output, err := os.Create(outputs[n])
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "up", "--addr", "127.0.0.1:0")
		cmd.Env, cmd.Stdout, cmd.Stderr = env, output, output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, or this failed
		running[n] = cmd
		go func() {
			failures[n] = errors.Join(cmd.Wait(), output.Close())
			endings <- n
		}()
	}
	for range programs - 1 {
		n := <-endings
		delete(running, n)
		if failures[n] != nil || !strings.Contains(said(n), "It is up already, at http://127.0.0.1:") {
			t.Errorf("%v\n%s", failures[n], said(n))
		}
	}
	for n, cmd := range running {
		until(t, "the one that serves", func() bool { return strings.Contains(said(n), "bm is up") })
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-endings
	}
}

// A program that is killed at any moment leaves a local copy that the next one
// opens, with everything in it that was said to be done.
func TestKilledInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	program := buildBM(t, dir)
	env := append(os.Environ(), "BM_CONFIG_DIR="+filepath.Join(dir, "config"), "BM_DATA_DIR="+filepath.Join(dir, "data"), "BM_DAEMON_AUTOSTART=false")
	var input strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&input, "https://a.example/%d\n", i)
	}
	done := 0
	for round := range 12 {
		cmd := exec.Command(program, "add", "--tag", fmt.Sprintf("round%d", round), "--duplicate")
		cmd.Env, cmd.Stdin = env, strings.NewReader(input.String())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		killer := time.AfterFunc(time.Duration(round*30)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err == nil {
			done++
		}
		killer.Stop()
		count := exec.Command(program, "tag", "ls", "--json", "name,count", "--jq", fmt.Sprintf(".[] | select(.name == \"round%d\") | .count", round))
		count.Env = env
		output, err := count.CombinedOutput()
		if err != nil {
			t.Fatalf("after the kill: %v\n%s", err, output)
		}
		// One command is one transaction: all of it, or nothing.
		if text := strings.TrimSpace(string(output)); text != "" && text != "2000" {
			t.Errorf("round %d left %s of 2000", round, text)
		}
	}
	t.Logf("%d of 12 ended before they were killed", done)
}

// An import that is killed at any moment goes on with the next one, and keeps
// nothing twice.
func TestKilledInAnImport(t *testing.T) {
	if testing.Short() {
		t.Skip("it moves thousands of rows")
	}
	const rows = 10_000
	dir := t.TempDir()
	w := &world{t: t, dir: dir, program: buildBM(t, dir)}
	a, file := w.machine("a"), w.generated(rows)
	killed := 0
	for round := range 4 {
		importing := w.start(a.env, "import", file)
		kept := a.count
		if round > 0 {
			before := a.count()
			kept = func() int { return a.count() - before }
		}
		until(t, "some of it", func() bool { return kept() > 0 || len(importing.done) > 0 })
		importing.kill()
		if a.count() < rows {
			killed++
		}
	}
	if killed == 0 {
		t.Error("no import was killed in its middle")
	}
	a.run("import", file)
	if out := a.run("import", file, "--json", "imported,duplicatesSkipped,skipped"); out != `{"imported":0,"duplicatesSkipped":10000,"skipped":0}` {
		t.Errorf("once more: %s", out)
	}
	if n := a.count(); n != rows {
		t.Errorf("%d bookmarks of %d", n, rows)
	}
	for range killed + 1 { // what each of them kept is taken back
		a.run("undo")
	}
	if n := a.count(); n != 0 {
		t.Errorf("%d are left of what was taken back", n)
	}
}
