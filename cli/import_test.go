package cli

import (
	"bytes"
	"context"
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
