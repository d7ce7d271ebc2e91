package output_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"bm/cli/output"
)

func clock() func() time.Time {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time { return at }
}

func streams(input string) (*output.Streams, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return output.Fixed(strings.NewReader(input), &out, &errs, clock()), &out, &errs
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                        "plain",
		"Ünïcode 漢字 🙂":                 "Ünïcode 漢字 🙂",
		"\x1b]0;owned\a":               "␛]0;owned␇",
		"\x1b[2J":                      "␛[2J",
		"a\u009b31mb":                  "a\ufffd31mb",
		"a\u202egnp.exe":               "a\ufffdgnp.exe",
		"one\ntwo\tthree":              "one two three",
		"bad \xff byte":                "bad \ufffd byte",
		"del\x7f":                      "del␡",
		"line\u2028separator":          "line separator",
		"a real replacement \ufffd ok": "a real replacement \ufffd ok",
	} {
		if got := output.Clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := output.CleanText("one\r\n\ttwo\x1b"); got != "one\n\ttwo␛" {
		t.Errorf("text: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := output.Clean(text)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%q lets %U through as %q", text, r, got)
			}
		}
		if output.Clean(got) != got {
			t.Fatalf("%q changes again", got)
		}
	})
}

// However it comes in pieces, a terminal is shown all of it and nothing raw.
func TestWholeInPieces(t *testing.T) {
	const text = "Ünï\x1b[2Jcode\u009b2J \U0001F600\u202e\nnext\r\n\xff."
	for size := 1; size <= 5; size++ {
		for _, terminal := range []bool{true, false} {
			var out bytes.Buffer
			s := output.Fixed(strings.NewReader(""), &out, io.Discard, time.Now)
			want := text
			if terminal {
				s.Terminal(80)
				want = output.CleanText(text)
			}
			w := s.Whole()
			for piece := range slices.Chunk([]byte(text), size) {
				if n, err := w.Write(piece); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if out.String() != want {
				t.Errorf("in pieces of %d, on a terminal %t: %q, want %q", size, terminal, out.String(), want)
			}
		}
	}
}

func TestTableInAPipeIsWhole(t *testing.T) {
	s, out, _ := streams("")
	table := s.NewTable(s.Out, output.Heading{Name: "title", Flexible: true}, output.Heading{Name: "url"})
	long := strings.Repeat("long ", 100)
	if err := table.Row(output.Cell{Value: long, Shown: "x"}, output.Text("https://a.example/\tb")); err != nil {
		t.Fatal(err)
	}
	if err := table.End(); err != nil {
		t.Fatal(err)
	}
	if want := long + "\thttps://a.example/ b\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

func TestTableOnATerminalFits(t *testing.T) {
	for _, width := range []int{20, 40, 80, 200} {
		s, out, _ := streams("")
		s.Terminal(width)
		table := s.NewTable(s.Out, output.Heading{Name: "title", Flexible: true}, output.Heading{Name: "url", Flexible: true}, output.Heading{Name: "n", Right: true})
		for i := range 450 { // more than are looked at to find the widths
			if err := table.Row(output.Text(strings.Repeat("漢字", i)), output.Text("https://example.com/\x1b[2J"), output.Number(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.End(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(stripStyles(out.String()), "\n"), "\n")
		if len(lines) != 451 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, line := range lines {
			if w := runewidth.StringWidth(line); w > width {
				t.Fatalf("width %d: a line has %d columns: %q", width, w, line)
			}
			if strings.Contains(line, "\x1b[2J") {
				t.Fatalf("an escape sequence got through: %q", line)
			}
		}
	}
}

// What has no room is shown in its short form where it has one.
func TestTableShortens(t *testing.T) {
	s, out, _ := streams("")
	s.Terminal(12)
	table := s.NewTable(s.Out, output.Heading{Name: "url", Flexible: true})
	for _, cell := range []output.Cell{
		{Value: "a://b.example", Short: "b.ex\x1bmple"}, {Value: "a://fits", Short: "fits"}, {Value: "a://b.example/c", Short: "b.example/more"},
	} {
		if err := table.Row(cell); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.End(); err != nil {
		t.Fatal(err)
	}
	if got := stripStyles(out.String()); got != "URL\nb.ex␛mple\na://fits\nb.example/m…\n" {
		t.Errorf("%q", got)
	}
}

// A terminal that is too narrow shows fewer columns, never a second line.
func TestTableOnANarrowTerminal(t *testing.T) {
	for width, want := range map[int]string{
		10: "TITLE\nA title t…\n",
		24: "TITLE         URL\nA title tha…  https://a…\n",
		44: "ID                  TITLE         URL\n019a2b3c-4d5e-7f60  A title tha…  https://a…\n",
		60: "ID                  TITLE              URL                 N\n019a2b3c-4d5e-7f60  A title that is …  https://a.example…  7\n",
	} {
		s, out, _ := streams("")
		s.Terminal(width)
		table := s.NewTable(s.Out, output.Heading{Name: "id", Spare: 2}, output.Heading{Name: "title", Flexible: true, Least: 12},
			output.Heading{Name: "url", Flexible: true, Least: 9, Spare: 1}, output.Heading{Name: "n", Right: true, Spare: 3})
		err := table.Row(output.Text("019a2b3c-4d5e-7f60"), output.Text("A title that is longer"), output.Text("https://a.example/and/a/path"), output.Number(7))
		if err == nil {
			err = table.End()
		}
		if got := stripStyles(out.String()); err != nil || got != want {
			t.Errorf("width %d: %v, got\n%swant\n%s", width, err, got, want)
		}
	}
	// What may not be left out goes all the same, from the right, rather than
	// that every column says nothing; the last one is cut.
	s, out, _ := streams("")
	s.Terminal(12)
	table := s.NewTable(s.Out, output.Heading{Name: "when"}, output.Heading{Name: "what", Flexible: true}, output.Heading{Name: "state"})
	err := table.Row(output.Text("2026-01-01, 12:00"), output.Text("something"), output.Text("undone"))
	if err == nil {
		err = table.End()
	}
	if got := stripStyles(out.String()); !strings.HasPrefix(got, "WHEN") || !strings.HasSuffix(got, "\n2026-01-01,…\n") {
		t.Errorf("got\n%s", got)
	}
	for line := range strings.Lines(stripStyles(out.String())) {
		if w := runewidth.StringWidth(strings.TrimSuffix(line, "\n")); err != nil || w > 12 {
			t.Errorf("%v: a line of %d columns: %q", err, w, line)
		}
	}
}

// Where room is scarce, columns in which nothing stands take none.
func TestTableWithoutEmptyColumns(t *testing.T) {
	for width, want := range map[int]string{
		60: "TITLE                   TAGS  N\nA title that is longer        7\n",
		30: "TITLE                   N\nA title that is longer  7\n",
	} {
		s, out, _ := streams("")
		s.Terminal(width)
		table := s.NewTable(s.Out, output.Heading{Name: "title", Flexible: true}, output.Heading{Name: "tags", Flexible: true, Spare: 1}, output.Heading{Name: "n", Spare: 2})
		err := table.Row(output.Text("A title that is longer"), output.Text(""), output.Number(7))
		if err == nil {
			err = table.End()
		}
		if got := stripStyles(out.String()); err != nil || got != want {
			t.Errorf("width %d: %v, got\n%swant\n%s", width, err, got, want)
		}
	}
}

// What a cell says in the place of its neighbour is said where that is gone.
func TestTableWithoutANeighbour(t *testing.T) {
	for width, want := range map[int]string{
		40: "TITLE  URL\n       https://a.example/\nA      https://b.example/\n",
		12: "TITLE\nhttps://a.e…\nA\n",
	} {
		s, out, _ := streams("")
		s.Terminal(width)
		table := s.NewTable(s.Out, output.Heading{Name: "title", Flexible: true}, output.Heading{Name: "url", Flexible: true, Spare: 1})
		err := table.Row(output.Cell{Alone: "https://a.example/"}, output.Text("https://a.example/"))
		if err == nil {
			err = table.Row(output.Cell{Value: "A", Alone: "https://b.example/"}, output.Text("https://b.example/"))
		}
		if err == nil {
			err = table.End()
		}
		var got strings.Builder
		for line := range strings.Lines(stripStyles(out.String())) {
			got.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		if err != nil || got.String() != want {
			t.Errorf("width %d: %v, got\n%swant\n%s", width, err, got.String(), want)
		}
	}
}

// stripStyles takes away the styles that we write ourselves.
func stripStyles(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
		if end >= 0 && rest[end] == 'm' {
			text = rest[end+1:]
		} else {
			b.WriteString("\x1b[")
			text = rest
		}
	}
}

type thing struct {
	Name string
	N    int
	Tags []string
}

// run runs a command that lists things, with the flags given.
func run(t *testing.T, s *output.Streams, args ...string) error {
	t.Helper()
	things := []thing{{"a&b", 1, []string{"x", "y"}}, {"c", 2, nil}}
	format := &output.Format[thing]{Fields: []output.Field[thing]{
		{Name: "name", Get: func(v thing) any { return v.Name }},
		{Name: "n", Get: func(v thing) any { return v.N }},
		{Name: "tags", Get: func(v thing) any { return v.Tags }},
	}}
	cmd := &cobra.Command{Use: "things", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		wanted, err := format.Wanted()
		if err != nil {
			return err
		}
		if !wanted {
			return errors.New("no format was wanted")
		}
		return format.List(s.Out, s, things)
	}}
	format.Bind(cmd)
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	return cmd.Execute()
}

// words splits at spaces; a no-break space stands for one within a word.
func words(args string) []string {
	list := strings.Split(args, " ")
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "\u00a0", " ")
	}
	return list
}

// What never was has no date.
func TestNoDate(t *testing.T) {
	s, out, _ := streams("")
	format := &output.Format[time.Time]{Fields: []output.Field[time.Time]{{Name: "at", Get: func(at time.Time) any { return at }}}}
	if err := format.One(out, s, time.Time{}); err != nil || out.String() != `{"at":null}`+"\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestFormats(t *testing.T) {
	for args, want := range map[string]string{
		"--json n,name":               "[{\"n\":1,\"name\":\"a&b\"},\n{\"n\":2,\"name\":\"c\"}]\n",
		"--json name --jq .[].name":   "a&b\nc\n",
		"--jq map(.n)|add":            "3\n",
		"--template {{.name}}={{.n}}": "a&b=1\nc=2\n",
		"--jq .[0]":                   "{\"n\":1,\"name\":\"a&b\",\"tags\":[\"x\",\"y\"]}\n",
		"--template {{range\u00a0.tags}}[{{.}}]{{end}}": "[x][y]\n\n",
	} {
		s, out, _ := streams("")
		if err := run(t, s, words(args)...); err != nil {
			t.Errorf("%s: %v", args, err)
		} else if out.String() != want {
			t.Errorf("%s: got %q, want %q", args, out.String(), want)
		}
	}
}

func TestFormatsRefuseBeforeReading(t *testing.T) {
	for args, want := range map[string]string{
		"--json nope":                   "there is no field \"nope\"",
		"--json name --jq .[":           "does not parse",
		"--template {{.a":               "the template does not parse: line 1: unclosed action",
		"--jq . --template x":           "exclude each other",
		"--json name --jq error(\"x\")": "failed",
	} {
		s, _, _ := streams("")
		var bad *output.BadFormat
		if err := run(t, s, strings.Split(args, " ")...); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	s, _, _ := streams("")
	var none *output.NoFields
	if err := run(t, s, "--json"); !errors.As(err, &none) || strings.Join(none.Fields, " ") != "name n tags" {
		t.Errorf("--json alone: %v", err)
	}
}

func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "yess\n": false} {
		s, _, errs := streams(answer)
		got, err := s.Terminal(80).Confirm("Delete \x1b[2J it?")
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", answer, got, err)
		}
		if strings.Contains(errs.String(), "\x1b[2J") {
			t.Errorf("the question holds an escape sequence: %q", errs.String())
		}
	}
	s, _, _ := streams("y\n")
	if _, err := s.Confirm("Delete it?"); !errors.Is(err, output.ErrNoTerminal) {
		t.Errorf("without a terminal: %v", err)
	}
}

func TestReadLine(t *testing.T) {
	s, _, _ := streams("one\r\n\nlast")
	for _, want := range []string{"one", "", "last"} {
		if got, err := s.ReadLine(); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := s.ReadLine(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	s, _, _ = streams(strings.Repeat("x", 1<<20))
	if _, err := s.ReadLine(); err == nil {
		t.Error("a line of a megabyte was read")
	}
}

func TestProgress(t *testing.T) {
	var errs bytes.Buffer
	at := time.Unix(1000, 0)
	s := output.Fixed(strings.NewReader(""), io.Discard, &errs, func() time.Time { return at })
	p := s.Begin("Importing", "bookmarks", 1000)
	for i := 1; i <= 20; i++ {
		at = at.Add(time.Second)
		p.Set(i * 10)
	}
	p.End()
	want := "Importing: 50 of 1000 bookmarks, 10/s, 1m35s left\n" +
		"Importing: 100 of 1000 bookmarks, 10/s, 1m30s left\n" +
		"Importing: 150 of 1000 bookmarks, 10/s, 1m25s left\n" +
		"Importing: 200 of 1000 bookmarks, 10/s, 1m20s left\n"
	if errs.String() != want {
		t.Errorf("got %q", errs.String())
	}
}

// A bar that is longer than the terminal is wide could not be drawn over.
func TestProgressOnANarrowTerminal(t *testing.T) {
	for _, width := range []int{10, 40, 60, 80} {
		var errs bytes.Buffer
		at := clock()()
		s := output.Fixed(strings.NewReader(""), io.Discard, &errs, func() time.Time { return at }).Terminal(width)
		p := s.Begin("Importing", "bookmarks", 150_000)
		at = at.Add(time.Second)
		p.Set(20_000)
		bar := strings.TrimPrefix(errs.String(), "\r\x1b[K")
		if w := runewidth.StringWidth(bar); w >= width || !strings.Contains(bar, "Impo") {
			t.Errorf("%d columns: %d wide: %q", width, w, bar)
		}
	}
}

// Where there is not room for all of it, the time that is left goes before what is
// counted.
func TestProgressInBrief(t *testing.T) {
	var errs bytes.Buffer
	at := time.Unix(1000, 0)
	s := output.Fixed(strings.NewReader(""), io.Discard, &errs, func() time.Time { return at }).Terminal(40)
	p := s.Begin("Deleting", "folders and bookmarks", 90_000)
	at = at.Add(time.Second)
	p.Set(9_000)
	if want := "\r\x1b[KDeleting: 9000 of 90000, 9s left"; errs.String() != want {
		t.Errorf("got %q, want %q", errs.String(), want)
	}
}

// Of a file whose length is known the bar tells how much of it is read.
func TestProgressOfAFile(t *testing.T) {
	var errs bytes.Buffer
	at := time.Unix(1000, 0)
	s := output.Fixed(strings.NewReader(""), io.Discard, &errs, func() time.Time { return at })
	s.Terminal(80)
	read := 0.0
	p := s.Begin("Importing", "bookmarks", 0)
	p.Share(func() float64 { return read })
	for i := 1; i <= 2; i++ {
		at = at.Add(10 * time.Second)
		read = 0.25 * float64(i)
		p.Set(i * 100)
	}
	p.End()
	want := "\r\x1b[K[#######.......................] Importing: 100 bookmarks, 10/s, 30s left" +
		"\r\x1b[K[###############...............] Importing: 200 bookmarks, 10/s, 20s left" +
		"\r\x1b[K"
	if errs.String() != want {
		t.Errorf("got %q", errs.String())
	}
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	for ago, want := range map[time.Duration]string{
		10 * time.Second:      "just now",
		90 * time.Second:      "2 min ago",
		5 * time.Hour:         "5 h ago",
		24 * time.Hour:        "1 day ago",
		50 * time.Hour:        "2 days ago",
		400 * 24 * time.Hour:  "2025-01-25",
		-400 * 24 * time.Hour: "2027-04-05",
		-10 * time.Second:     "just now",
	} {
		if got := output.Ago(now, now.Add(-ago)); got != want {
			t.Errorf("%s: got %q, want %q", ago, got, want)
		}
	}
	if got := output.Ago(now, time.Time{}); got != "" {
		t.Errorf("no time: %q", got)
	}
}
