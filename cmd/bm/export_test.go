package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// An export holds what there was when it began: a reader that takes its time,
// and an edit meanwhile, make it miss nothing.
func TestExportIsOfOneMoment(t *testing.T) {
	dir := t.TempDir()
	w := &world{t: t, dir: dir, program: buildBM(t, dir)}
	m := w.machine("a")
	var file strings.Builder
	file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
	for folder := range 20 {
		fmt.Fprintf(&file, "<DT><H3>F%02d</H3><DL><p>\n", folder)
		for n := range 150 {
			fmt.Fprintf(&file, "<DT><A HREF=\"https://a.example/%d/%d\">%s</A>\n", folder, n, strings.Repeat("long ", 20))
		}
		file.WriteString("</DL><p>\n")
	}
	file.WriteString("</DL><p>\n")
	if _, err := m.try(file.String(), "import", "-"); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"html", "json"} {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		export := exec.Command(w.program, "export", "--format", format)
		export.Env, export.Stdout = m.env, in
		if err := export.Start(); err != nil {
			t.Fatal(err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 1000) // it is under way, and stands still once the pipe is full
		if _, err := io.ReadFull(out, first); err != nil {
			t.Fatal(err)
		}
		m.run("mv", "https://a.example/19/149", "F00")
		rest, err := io.ReadAll(out)
		if err != nil || export.Wait() != nil {
			t.Fatal(err)
		}
		for _, url := range []string{"https://a.example/19/149", "https://a.example/0/0"} {
			if n := strings.Count(string(first)+string(rest), url+`"`); n != 1 {
				t.Errorf("%s: %s is there %d times", format, url, n)
			}
		}
		m.run("undo")
	}
}
