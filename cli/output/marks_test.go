package output_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"bm/cli/output"
)

// each marks every place of a word in a text.
func each(word string) output.Marks {
	return func(text string) (spans []output.Span) {
		for at := 0; word != ""; {
			n := strings.Index(text[at:], word)
			if n < 0 {
				break
			}
			spans = append(spans, output.Span{Start: at + n, End: at + n + len(word)})
			at += n + len(word)
		}
		return spans
	}
}

var (
	sequences = regexp.MustCompile("\x1b\\[[0-9;]*m")
	emphasis  = regexp.MustCompile("\x1b\\[[0-9;]*1;4[0-9;]*m(.*?)\x1b\\[0m")
)

// bracketed shows what of a line is marked; spaces at its end do not matter.
func bracketed(line string) string {
	return strings.TrimRight(sequences.ReplaceAllString(emphasis.ReplaceAllString(line, "[$1]"), ""), " \n")
}

// line is the last line of a table of one cell.
func line(t *testing.T, width int, cell output.Cell) string {
	t.Helper()
	s, out, _ := streams("")
	table := s.Terminal(width).NewTable(out, output.Heading{Name: "t", Flexible: true})
	if err := table.Row(cell); err != nil {
		t.Fatal(err)
	}
	if err := table.End(); err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(out.String(), "\n")
	return row
}

func TestMarks(t *testing.T) {
	for _, test := range []struct {
		text, word string
		width      int
		want       string
	}{
		{"Go by Go", "Go", 80, "[Go] by [Go]"},
		{"nothing", "Go", 80, "nothing"},
		{"Going far away", "far", 8, "Going [f]…"},
		{"Going far away", "away", 8, "Going f…"},
		{"東京都の観光", "京都", 80, "東[京都]の観光"},
		{"東京都の観光", "京都", 6, "東[京]…"},
		{"\x1b[31mred\x1b[0m go", "go", 80, "␛[31mred␛[0m [go]"},
		{"a\x1bgo\u202ego", "go", 80, "a␛[go]\ufffd[go]"},
		{"bad \xff go", "go", 80, "bad \ufffd [go]"},
		{"two\nlines", "lines", 80, "two [lines]"},
		{"👨\u200d👩\u200d👧 👩", "👩", 80, "[👨\u200d👩\u200d👧] [👩]"},
		{"👍🏽 up", "👍", 80, "[👍🏽] up"},
		{"🇩🇪🇫🇷", "🇫", 80, "🇩🇪[🇫🇷]"},
		{"❤\ufe0f", "❤", 80, "[❤\ufe0f]"},
		{"Cafe\u0301s", "Cafe", 80, "[Cafe\u0301]s"},
		{"\u1112\u1161\u11ab", "\u1112", 80, "[\u1112\u1161\u11ab]"},
		{"ﾌﾟﾛ", "ﾌ", 80, "[ﾌﾟ]ﾛ"},
	} {
		shown := line(t, test.width, output.Cell{Value: test.text, Style: output.Strong, Marks: each(test.word)})
		if got := bracketed(shown); got != test.want {
			t.Errorf("%q in %q: %q, want %q", test.word, test.text, got, test.want)
		}
	}
	shortened := line(t, 8, output.Cell{Value: "https://go.dev", Short: "go.dev", Style: output.Link, Marks: each("go")})
	if got := bracketed(shortened); got != "[go].dev" {
		t.Errorf("what is shown for it: %q", got)
	}
}

// Marks add to what is shown, and change nothing of it.
func FuzzMarks(f *testing.F) {
	f.Add("👨\u200d👩 go\x1b[31m", "👩", 12)
	f.Add("\xff\u0301🇩🇪🇫", "🇪", 3)
	f.Add("ก\u0e33\u1100\u1161", "\u1161", 40)
	f.Fuzz(func(t *testing.T, text, word string, width int) {
		if width < 1 || width > 200 || !utf8.ValidString(word) || strings.Contains(text, "\x1b") && strings.Contains(word, "m") {
			return
		}
		cell := output.Cell{Value: text, Style: output.Label}
		plain := line(t, width, cell)
		cell.Marks = each(word)
		marked := line(t, width, cell)
		if got, want := sequences.ReplaceAllString(marked, ""), sequences.ReplaceAllString(plain, ""); got != want {
			t.Fatalf("%q in %q: shows %q, without marks %q", word, text, got, want)
		}
		width = 0
		for _, part := range sequences.Split(marked, -1) {
			width += runewidth.StringWidth(strings.TrimSuffix(part, "\n"))
		}
		if want := runewidth.StringWidth(strings.TrimSuffix(sequences.ReplaceAllString(plain, ""), "\n")); width != want {
			t.Fatalf("%q in %q: %q takes a character apart", word, text, marked)
		}
	})
}

func TestMarksFollowTheColour(t *testing.T) {
	cell := output.Cell{Value: "go", Marks: each("go")}
	s, out, _ := streams("")
	piped := s.NewTable(out, output.Heading{Name: "t"})
	if err := piped.Row(cell); err != nil {
		t.Fatal(err)
	}
	if err := piped.Below(output.Text("not in a pipe")); err != nil {
		t.Fatal(err)
	}
	if err := piped.End(); err != nil {
		t.Fatal(err)
	}
	if out.String() != "go\n" {
		t.Errorf("a pipe gets %q", out)
	}
}

// What stands below a row stays with it, before and after the widths are known.
func TestBelow(t *testing.T) {
	s, out, _ := streams("")
	table := s.Terminal(30).NewTable(out, output.Heading{Name: "id"}, output.Heading{Name: "title", Flexible: true})
	for i := range 450 {
		if err := table.Row(output.Text("0123"), output.Text("row")); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			continue
		}
		if err := table.Below(output.Cell{Value: "a line that has no room for all of it", Style: output.Faint, Marks: each("line")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.End(); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(lines) != 1+450+225 {
		t.Fatalf("%d lines", len(lines))
	}
	for i := 1; i+2 < len(lines); i += 3 {
		if got := bracketed(string(lines[i+1])); got != "      a [line] that has no room…" {
			t.Fatalf("below row %d: %q", i/3, got)
		}
	}
}

func TestAround(t *testing.T) {
	long := strings.Repeat("word ", 20)
	for _, test := range []struct{ text, word, want string }{
		{"short go", "go", "short go"},
		{long + "go on", "go", "…word word word word go on"},
		{strings.Repeat("東京都", 20) + "寺", "寺", "…東京都東京都東京都東京都寺"},
		{strings.Repeat("a", 100) + "go", "go", "…" + strings.Repeat("a", 24) + "go"},
		{strings.Repeat("e\u0301", 60) + "go", "go", "…" + strings.Repeat("e\u0301", 24) + "go"},
		{strings.Repeat("x", 40) + strings.Repeat(" ", 30) + "go", "go", "…go"},
	} {
		if got := output.Around(test.text, strings.Index(test.text, test.word)); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

// A text may have been made so that it is found everywhere: what it costs to mark it
// grows as the text does.
func TestMarkingIsLinear(t *testing.T) {
	mark := func(words int) time.Duration {
		text := strings.Repeat("a ", words)
		least := time.Hour
		for range 5 {
			began := time.Now()
			line(t, 80, output.Cell{Value: text, Marks: each("a")})
			least = min(least, time.Since(began))
		}
		return least
	}
	few, many := mark(2_000), mark(32_000)
	t.Logf("2,000 words take %v, 32,000 take %v", few, many)
	if many > 100*few {
		t.Errorf("16 times the words take %d times as long", many/few)
	}
}
