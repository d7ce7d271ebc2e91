//go:build unix

package main_test

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"
)

// onTerminal runs a command on a terminal of so many columns, types what is to
// be typed once it has asked, and answers what it showed.
func onTerminal(t *testing.T, program, dir string, columns uint16, asked, typed string, args ...string) (shown string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=1", "BM_PAGER=cat", "BM_DAEMON_AUTOSTART=false",
		"BM_CONFIG_DIR="+filepath.Join(dir, "config"), "BM_DATA_DIR="+filepath.Join(dir, "data"))
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := terminal.Read(buffer)
		out.Write(buffer[:n])
		if asked != "" && strings.Contains(out.String(), asked) {
			asked = ""
			if _, err := io.WriteString(terminal, typed); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break // the other end has gone
		}
	}
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), code
}

// A question can be left: at once, with nothing done.
func TestLeavingAQuestion(t *testing.T) {
	w := newWorld(t)
	dir, program := t.TempDir(), w.program
	run := func(asked, typed string, args ...string) (string, int) {
		t.Helper()
		return onTerminal(t, program, dir, 80, asked, typed, args...)
	}
	run("", "", "add", "https://a.example/", "--folder", "A")
	for _, args := range [][]string{{"rm", "https://a.example/"}, {"folder", "rm", "A"}} {
		for _, test := range []struct {
			typed, says string
			code        int
		}{
			// The terminal throws away what is on its way to it with a Ctrl-C,
			// the message too where the program is quick.
			{"\x03", "", 130},
			{"\x04", "\nbm: There was no answer to the question. Nothing was changed.", 2},
			{"n\r", "\nbm: Nothing was changed.", 1},
		} {
			shown, code := run("[y/N]", test.typed, args...)
			if code != test.code || !strings.Contains(shown, test.says) {
				t.Errorf("bm %s, %q: exit %d, %q", strings.Join(args, " "), test.typed, code, shown)
			}
		}
		if shown, _ := run("", "", "ls", "--count"); shown != "1\n" {
			t.Errorf("bm %s deleted it: %q", strings.Join(args, " "), shown)
		}
	}
	if shown, code := run("assword", "\x03", "auth", "login", "--server", "http://"+w.addr, "--email", "a@a.example", "--insecure-storage"); code != 130 {
		t.Errorf("at a password: exit %d, %q", code, shown)
	}
	if shown, code := run("[y/N]", "y\r", "rm", "https://a.example/"); code != 0 || !strings.Contains(shown, "Deleted 1 bookmark") {
		t.Errorf("exit %d, %q", code, shown)
	}
}

// A server that takes connections and answers none is given up after a minute: until
// then a terminal shows that something goes on.
func TestASyncThatWaitsShowsIt(t *testing.T) {
	dir := t.TempDir()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	t.Setenv("BM_TOKEN", "bmk_some")
	server := "http://" + listener.Addr().String()
	shown, code := onTerminal(t, buildBM(t, dir), dir, 80, "\x1b[KSyncing with "+server+", for ", "\x03", "sync", "--server", server)
	if code != 130 {
		t.Errorf("exit %d, %q", code, shown)
	}
}

// However narrow the terminal, a bookmark has one line of a list.
func TestListsOnANarrowTerminal(t *testing.T) {
	dir := t.TempDir()
	program := buildBM(t, dir)
	onTerminal(t, program, dir, 80, "", "", "add", "https://a.example/with/a/long/path/to/something", "--folder", "A folder with a long name",
		"--tag", "one,two,three,four,five", "--title", "A title that is longer than most titles are")
	for _, columns := range []uint16{20, 40, 60, 80} {
		for _, args := range [][]string{{"ls"}, {"folder", "ls"}, {"tag", "ls"}, {"log"}} {
			shown, _ := onTerminal(t, program, dir, columns, "", "", args...)
			rows := 2
			if args[0] == "tag" {
				rows = 6
			}
			lines := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
			if len(lines) != rows {
				t.Errorf("%d columns, bm %s: %d lines:\n%s", columns, strings.Join(args, " "), len(lines), shown)
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > int(columns) {
					t.Errorf("%d columns, bm %s: a line has %d: %s", columns, strings.Join(args, " "), n, line)
				}
			}
		}
	}
}

// What a bookmark was found by in its description alone stands below its row, as
// much of it as there is room for, and safe to show.
func TestASearchShowsWhatMatchedInADescription(t *testing.T) {
	dir := t.TempDir()
	program := buildBM(t, dir)
	long := strings.Repeat("before ", 20)
	export := filepath.Join(dir, "a.html")
	file := "<DT><A HREF=\"https://a.example/\">A title</A>\n<DD>" + long + "the \x1b[31m quokka\u202e and what lies behind it in a long sentence\n" +
		"<DT><A HREF=\"https://b.example/quokka\">Another</A>\n<DD>of a quokka too\n"
	if err := os.WriteFile(export, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	onTerminal(t, program, dir, 80, "", "", "import", export)
	for columns, want := range map[uint16]string{
		60:  "…before before the ␛[31m quokka\ufffd and what lies beh…",
		120: "…before before the ␛[31m quokka\ufffd and what lies behind it in a long sentence",
	} {
		shown, code := onTerminal(t, program, dir, columns, "", "", "search", "quokka")
		lines := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
		if code != 0 || len(lines) != 4 {
			t.Fatalf("%d columns: exit %d:\n%s", columns, code, shown)
		}
		if below := strings.TrimLeft(lines[3], " "); !strings.Contains(lines[2], "A title") || !strings.HasPrefix(want, strings.TrimSuffix(below, "…")) || len(below) < 40 {
			t.Errorf("%d columns:\n%s\nwant below the last row\n%s", columns, shown, want)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > int(columns) {
				t.Errorf("%d columns: a line has %d: %s", columns, n, line)
			}
		}
	}
}
