package output

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"
	"github.com/mattn/go-isatty"
	"github.com/muesli/termenv"
	"golang.org/x/term"

	_ "bm/cli/output/background" // before anything asks the terminal
)

// Streams are the three streams of a command and what is known of them.
// Results go to Out; everything else, questions and progress too, to Err.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	// InTTY, OutTTY and ErrTTY say which of them is a terminal.
	InTTY, OutTTY, ErrTTY bool
	// Width is the terminal's, in columns.
	Width int
	// Height is the terminal's, in rows.
	Height int
	// Now is the clock that relative times are told by.
	Now func() time.Time

	styles  *lipgloss.Renderer
	color   bool
	getenv  func(string) string
	passwd  func() ([]byte, error)
	mode    func() (*term.State, error)
	fetched *lineReader
}

// System is the process's own streams.
func System(getenv func(string) string) *Streams {
	s := &Streams{
		In: os.Stdin, Out: &results{os.Stdout}, Err: os.Stderr,
		InTTY:  isTerminal(os.Stdin),
		OutTTY: isTerminal(os.Stdout),
		ErrTTY: isTerminal(os.Stderr),
		Now:    time.Now,
		getenv: getenv,
		passwd: func() ([]byte, error) { return term.ReadPassword(int(os.Stdin.Fd())) },
		mode:   func() (*term.State, error) { return term.GetState(int(os.Stdin.Fd())) },
	}
	if s.OutTTY {
		s.Width, s.Height, _ = term.GetSize(int(os.Stdout.Fd()))
	} else if s.ErrTTY {
		s.Width, s.Height, _ = term.GetSize(int(os.Stderr.Fd()))
	}
	s.settle()
	return s
}

// Fixed are streams that are no terminal, for tests and for programs that run
// a command inside themselves.
func Fixed(in io.Reader, out, errs io.Writer, now func() time.Time) *Streams {
	s := &Streams{In: in, Out: &results{out}, Err: errs, Now: now, getenv: func(string) string { return "" }}
	s.settle()
	return s
}

// Terminal makes the streams behave as a terminal of the given width would.
func (s *Streams) Terminal(width int) *Streams {
	s.InTTY, s.OutTTY, s.ErrTTY, s.Width = true, true, true, width
	s.settle()
	return s
}

// keepMode remembers how the terminal is set, and puts it back.
func (s *Streams) keepMode() (restore func()) {
	if s.mode == nil {
		return func() {}
	}
	state, err := s.mode()
	if err != nil {
		return func() {}
	}
	return func() { _ = term.Restore(int(os.Stdin.Fd()), state) } // there is nobody to tell
}

func isTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

// settle decides on width and colour.
func (s *Streams) settle() {
	if columns, err := strconv.Atoi(s.getenv("COLUMNS")); err == nil && columns > 0 && s.Width <= 0 {
		s.Width = columns
	}
	if s.Width <= 0 {
		s.Width = 80
	}
	if s.Height <= 0 {
		s.Height = 24
	}
	s.color = s.wantsColor()
	s.styles = lipgloss.NewRenderer(io.Discard)
	s.styles.SetHasDarkBackground(true)
	s.styles.SetColorProfile(termenv.Ascii)
	if s.color {
		s.styles.SetColorProfile(s.profile())
	}
}

// wantsColor follows https://no-color.org and CLICOLOR_FORCE.
func (s *Streams) wantsColor() bool {
	switch {
	case s.getenv("NO_COLOR") != "":
		return false
	case s.getenv("CLICOLOR_FORCE") != "" && s.getenv("CLICOLOR_FORCE") != "0":
		return true
	case s.getenv("CLICOLOR") == "0" || s.getenv("TERM") == "dumb":
		return false
	}
	return s.OutTTY
}

// profile keeps to the sixteen colours that every terminal's owner has chosen
// to be able to read, on whatever background.
func (s *Streams) profile() termenv.Profile { return termenv.ANSI }

// Line prints one value: a pipe gets it as it is, a terminal what is safe to show.
func (s *Streams) Line(value string) error {
	if s.OutTTY {
		value = Clean(value)
	}
	_, err := io.WriteString(s.Out, value+"\n")
	return err
}

// Whole is the standard output of what is written as it is, such as an export:
// a terminal is shown it made safe, everything else gets it to the byte.
func (s *Streams) Whole() io.Writer {
	if !s.OutTTY {
		return s.Out
	}
	return &shown{to: s.Out}
}

// shown makes what goes to a terminal safe to show. A letter may come in two
// pieces.
type shown struct {
	to   io.Writer
	half []byte
}

func (s *shown) Write(p []byte) (int, error) {
	text := append(s.half, p...)
	end := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				end = len(text) - n
			}
			break
		}
	}
	s.half = slices.Clone(text[end:])
	if _, err := io.WriteString(s.to, CleanText(string(text[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Style is a way to set text apart.
type Style int

// The styles.
const (
	Plain  Style = iota
	Strong       // what is looked for: titles, names
	Faint        // what is only there to be complete: ids, times
	Link         // URLs
	Label        // tags
	Good
	Warning
	Bad
)

var styleColors = map[Style]lipgloss.Color{Link: "6", Label: "5", Good: "2", Warning: "3", Bad: "1"}

// Styled sets text apart, on a terminal that shows colour.
func (s *Streams) Styled(style Style, text string) string {
	if !s.color || style == Plain || text == "" {
		return text
	}
	st := s.styles.NewStyle().Inline(true)
	switch style {
	case Strong:
		st = st.Bold(true)
	case Faint:
		st = st.Faint(true)
	default:
		st = st.Foreground(styleColors[style])
	}
	// Inline styles keep the text's own spaces; tabs are already gone.
	return st.Render(text)
}

// Color reports whether colour is shown.
func (s *Streams) Color() bool { return s.color }

// Pager is the program that long lists are shown with, "" for none.
func (s *Streams) pager() string {
	for _, name := range []string{"BM_PAGER", "PAGER"} {
		if program := strings.TrimSpace(s.getenv(name)); program != "" {
			if program == "cat" {
				return ""
			}
			return program
		}
	}
	return ""
}
