package output

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
)

// Progress shows how far a long work is: a bar with count, rate and time left
// on a terminal, a line every few seconds elsewhere. It may be told of steps
// from several goroutines.
type Progress struct {
	streams *Streams
	what    string
	noun    string

	mu      sync.Mutex
	total   int
	share   func() float64
	done    int
	started time.Time
	shown   time.Time
	drawn   bool
}

const (
	redraw  = 100 * time.Millisecond
	newLine = 5 * time.Second
)

// Begin starts to show the progress of a work, such as "Importing" of
// "bookmarks". A total of 0 is not known.
func (s *Streams) Begin(what, noun string, total int) *Progress {
	now := s.Now()
	return &Progress{streams: s, what: what, noun: noun, total: total, started: now, shown: now}
}

// Total says how much there is, once it is known.
func (p *Progress) Total(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = n
}

// Share is asked what part of the whole is done, from 0 to 1, where the total
// is not known: such as how much of a file is read.
func (p *Progress) Share(share func() float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share = share
}

// Set says how much is done.
func (p *Progress) Set(done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = done
	now := p.streams.Now()
	every := newLine
	if p.streams.redraws() {
		every = redraw
	}
	if now.Sub(p.shown) < every {
		return
	}
	p.shown = now
	if p.streams.redraws() {
		fmt.Fprint(p.streams.Err, "\r\x1b[K"+p.bar(now))
		p.drawn = true
		return
	}
	fmt.Fprintln(p.streams.Err, p.line(now))
}

// redraws reports whether a line that was shown can be written over.
func (s *Streams) redraws() bool {
	return s.ErrTTY && (s.getenv == nil || s.getenv("TERM") != "dumb")
}

// End removes the bar.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.streams.Err, "\r\x1b[K")
		p.drawn = false
	}
}

// Waiting is what is shown while nothing can be counted, so that nobody takes what
// takes long for what hangs: a line on a terminal, and nothing elsewhere.
type Waiting struct {
	streams      *Streams
	drawn, noted bool
}

// Await begins to wait. Nothing is shown yet.
func (s *Streams) Await() *Waiting { return &Waiting{streams: s} }

// Show says what is waited for, in place of what it said before; once where a line
// can't be written over.
func (w *Waiting) Show(text string) {
	switch {
	case w.streams.redraws():
		fmt.Fprint(w.streams.Err, "\r\x1b[K"+runewidth.Truncate(Clean(text), w.streams.Width-1, "…"))
		w.drawn = true
	case w.streams.ErrTTY && !w.noted:
		fmt.Fprintln(w.streams.Err, Clean(text))
		w.noted = true
	}
}

// End removes the line.
func (w *Waiting) End() {
	if w.drawn {
		fmt.Fprint(w.streams.Err, "\r\x1b[K")
		w.drawn = false
	}
}

func (p *Progress) rate(now time.Time) float64 {
	if elapsed := now.Sub(p.started).Seconds(); elapsed > 0 {
		return float64(p.done) / elapsed
	}
	return 0
}

func (p *Progress) line(now time.Time) string {
	text := fmt.Sprintf("%s: %d", p.what, p.done)
	if p.total > 0 {
		text += fmt.Sprintf(" of %d", p.total)
	}
	text += fmt.Sprintf(" %s, %.0f/s", p.noun, p.rate(now))
	if left := p.left(now); left != "" {
		text += ", " + left + " left"
	}
	return text
}

// part is how much of the whole is done, from 0 to 1; 0 where nothing is known
// of it.
func (p *Progress) part() float64 {
	switch {
	case p.total > 0:
		return min(float64(p.done)/float64(p.total), 1)
	case p.share != nil:
		return max(0, min(p.share(), 1))
	}
	return 0
}

func (p *Progress) left(now time.Time) string {
	part := p.part()
	if part <= 0 || part >= 1 {
		return ""
	}
	left := now.Sub(p.started).Seconds() * (1 - part) / part
	return (time.Duration(left) * time.Second).String()
}

// brief is the line without what there is least need of.
func (p *Progress) brief(now time.Time) string {
	text := fmt.Sprintf("%s: %d", p.what, p.done)
	if p.total > 0 {
		text += fmt.Sprintf(" of %d", p.total)
	}
	if left := p.left(now); left != "" {
		text += ", " + left + " left"
	}
	return text
}

func (p *Progress) bar(now time.Time) string {
	text := p.line(now)
	if runewidth.StringWidth(text) >= p.streams.Width {
		text = p.brief(now)
	}
	// What goes on in the next line can't be drawn over.
	text = runewidth.Truncate(text, p.streams.Width-1, "…")
	if p.total <= 0 && p.share == nil {
		return text
	}
	width := min(30, p.streams.Width-len(text)-4)
	if width < 8 {
		return text
	}
	full := int(float64(width) * p.part())
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] " + text
}
