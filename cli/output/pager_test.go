package output

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// A terminal that can't go back in a line gets lines.
func TestProgressOnADumbTerminal(t *testing.T) {
	var errs bytes.Buffer
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := Fixed(strings.NewReader(""), io.Discard, &errs, func() time.Time { return at }).Terminal(80)
	s.getenv = func(name string) string { return map[string]string{"TERM": "dumb"}[name] }
	p := s.Begin("Importing", "bookmarks", 10)
	for i := range 3 {
		at = at.Add(3 * time.Second)
		p.Set(i)
	}
	p.End()
	if got := errs.String(); got != "Importing: 1 of 10 bookmarks, 0/s, 54s left\n" {
		t.Errorf("%q", got)
	}
}

// A list is shown, though the pager that the environment names is not there.
func TestAPagerThatIsNotThere(t *testing.T) {
	for program, missing := range map[string]bool{
		"no-such-pager": true, "no-such-pager -R": true,
		"LESS=R no-such-pager": false, "$NO_SUCH_PAGER/less": false, "cat": false, // a shell has to tell
	} {
		var out, errs bytes.Buffer
		s := Fixed(strings.NewReader(""), &out, &errs, time.Now).Terminal(80)
		s.getenv = func(name string) string {
			if name == "PAGER" {
				return program
			}
			return ""
		}
		if err := s.Page(t.Context(), func(w io.Writer) error { _, err := fmt.Fprintln(w, "row"); return err }); err != nil {
			t.Errorf("%s: %v", program, err)
		}
		if said := strings.Contains(errs.String(), "There is no pager no-such-pager here."); said != missing {
			t.Errorf("%s: says %q", program, errs.String())
		}
		if out.String() != "row\n" {
			t.Errorf("%s: shows %q", program, out.String())
		}
	}
}
