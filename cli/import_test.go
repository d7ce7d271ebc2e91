package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server/api"
)

// endless is a file of bookmarks that interrupts its reader after so many.
type endless struct {
	rest   bytes.Buffer
	n      int
	after  int
	cancel context.CancelFunc
}

func (e *endless) Read(p []byte) (int, error) {
	for e.rest.Len() < len(p) {
		if e.n++; e.n == e.after {
			e.cancel()
		}
		fmt.Fprintf(&e.rest, "<DT><A HREF=\"https://a.example/%d\">A title of number %d</A>\n", e.n, e.n)
	}
	return e.rest.Read(p)
}

// An import that was cut off says how much it kept, which is what is there, and
// doesn't speak as if it were done.
func TestInterruptedImport(t *testing.T) {
	home := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	file := &endless{after: 3000, cancel: cancel}
	file.rest.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
	var stderr bytes.Buffer
	env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "HOME": home}
	a := app.New("test", output.Fixed(file, io.Discard, &stderr, time.Now), func(key string) string { return env[key] })
	if code := Run(ctx, a, []string{"import", "-"}); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	told := regexp.MustCompile(`^bm: Interrupted: (\d+) bookmarks kept so far\.\n  try: the same command`).FindStringSubmatch(stderr.String())
	if told == nil {
		t.Fatalf("it says %q", stderr.String())
	}
	if _, out, _ := bm(t, home, "", "ls", "--count"); strings.TrimSpace(out) != told[1] {
		t.Errorf("it says that %s are kept, and %s are", told[1], out)
	}
}

// Several imports of one file at the same moment keep it once.
func TestImportsAtOnce(t *testing.T) {
	home := t.TempDir()
	var text strings.Builder
	text.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><H3>Folder</H3>\n<DL><p>\n")
	const many = 3000
	for i := range many {
		fmt.Fprintf(&text, "<DT><A HREF=\"https://a.example/%d\">%d</A>\n", i, i)
	}
	file := filepath.Join(home, "file.html")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	bm(t, home, "", "ls")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if code, _, errs := bm(t, home, "", "import", file); code != exitDone {
				t.Errorf("exit %d, %s", code, errs)
			}
		})
	}
	all.Wait()
	if _, out, _ := bm(t, home, "", "ls", "--count"); out != fmt.Sprintln(many) {
		t.Errorf("of %d bookmarks there are %s", many, out)
	}
}

// What can't be kept may go to the standard output, where nothing else does.
func TestRejectsOnTheStandardOutput(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := filepath.Join(dir, "export.json")
	text := fmt.Sprintf(`[{"href":"https://long.example/%s","description":"Long"},{"href":"half/a/url","description":"Half"}]`, strings.Repeat("x", api.MaxURL))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	code, out, errs := bm(t, home, "", "import", file, "--rejects", "-")
	var rejected []map[string]string
	if err := json.Unmarshal([]byte(out), &rejected); err != nil || code != exitPartly || len(rejected) != 1 || rejected[0]["description"] != "Long" {
		t.Errorf("exit %d: %.200q (%v)", code, out, err)
	}
	if !strings.Contains(errs, "  line 1, note: the URL is not absolute and was kept as it is (Half)\n") {
		t.Errorf("it says %q", errs)
	}
	if strings.Contains(errs, "--rejects") {
		t.Errorf("it names what was given: %q", errs)
	}
	for _, other := range []string{"--dry-run", "--json=imported"} {
		if code, out, errs := bm(t, home, "", "import", file, "--rejects", "-", other); code != exitUsage || out != "" || !strings.Contains(errs, "--rejects FILE") {
			t.Errorf("%s: exit %d: %.200q, %q", other, code, out, errs)
		}
	}
	if _, err := os.Stat("-"); err == nil {
		t.Error("there is a file called -")
	}
	// They may not all get there.
	var said bytes.Buffer
	env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data"}
	a := app.New("test", output.Fixed(strings.NewReader(""), full{}, &said, time.Now), func(key string) string { return env[key] })
	if code := Run(t.Context(), a, []string{"import", file, "--rejects", "-"}); code != exitFailed || !strings.Contains(said.String(), "The rejects could not all be printed: the disk is full. What was imported stays.") {
		t.Errorf("exit %d, %q", code, said.String())
	}
}
