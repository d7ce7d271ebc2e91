package output

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Cell is one value of a table, as a program gets it and as a person does.
type Cell struct {
	// Value goes into a pipe, whole.
	Value string
	// Shown goes to a terminal; "" shows Value.
	Shown string
	// Alone goes to a terminal in place of an empty value, where the column to
	// the right, which says the same, is left out.
	Alone string
	// Short goes to a terminal where the column has no room for all that is
	// shown; "" cuts that.
	Short string
	Style Style
	// Marks finds what is marked in whatever of these is shown; nil marks nothing.
	Marks Marks
}

// Heading is a column of a table.
type Heading struct {
	Name string
	// Flexible columns share what the terminal's width leaves.
	Flexible bool
	// Least is how narrow a flexible column may get; 0 is leastWidth.
	Least int
	// Spare says in which order columns are left out where the terminal is too
	// narrow for all: the greatest first; those with 0 last, from the right.
	Spare int
	// Right aligns numbers.
	Right bool
}

// maxAligned is how many rows are looked at to find the columns' widths: a
// list of a hundred thousand must begin to appear before it was read.
const maxAligned = 200

// Table writes rows as they come: aligned and cut to the width on a terminal,
// tab-separated elsewhere.
type Table struct {
	streams  *Streams
	out      *bufio.Writer
	headings []Heading
	held     []row
	widths   []int // of a column that is left out: 0
}

// row is a row that is held back, and what is written below it.
type row struct {
	cells []Cell
	below Cell
}

// NewTable begins a table on w.
func (s *Streams) NewTable(w io.Writer, headings ...Heading) *Table {
	return &Table{streams: s, out: bufio.NewWriterSize(w, 32<<10), headings: headings}
}

// Row adds a row.
func (t *Table) Row(cells ...Cell) error {
	if !t.streams.OutTTY {
		for i := range cells {
			if i > 0 {
				if err := t.out.WriteByte('\t'); err != nil {
					return err
				}
			}
			value := cells[i].Value
			if _, err := t.out.WriteString(t.streams.marked(cells[i].Style, cells[i].Marks, value, oneLine(value), oneLine)); err != nil {
				return err
			}
		}
		return t.out.WriteByte('\n')
	}
	if t.widths == nil && len(t.held) == maxAligned {
		if err := t.align(false); err != nil {
			return err
		}
	}
	if t.widths != nil {
		return t.line(cells)
	}
	t.held = append(t.held, row{cells: cells})
	return nil
}

// Below writes one more line for the row that was added last, below its first
// flexible column. A pipe, where a line is a row, has no such line.
func (t *Table) Below(cell Cell) error {
	switch {
	case !t.streams.OutTTY || cell.shown() == "":
		return nil
	case t.widths == nil && len(t.held) > 0:
		t.held[len(t.held)-1].below = cell
		return nil
	}
	return t.lineBelow(cell)
}

// End writes what is held back.
func (t *Table) End() error {
	if t.widths == nil && len(t.held) > 0 {
		if err := t.align(true); err != nil {
			return err
		}
	}
	return t.out.Flush()
}

// oneLine keeps a value within its field of a tab-separated line, and is all
// that is changed in it: what reads a pipe is no terminal.
func oneLine(value string) string {
	if !strings.ContainsAny(value, "\t\n\r") {
		return value
	}
	return strings.NewReplacer("\t", " ", "\r\n", " ", "\n", " ", "\r", " ").Replace(value)
}

// align finds the widths and writes the heading and what was held back, which
// may be all that there is.
func (t *Table) align(all bool) error {
	t.widths = make([]int, len(t.headings))
	for i, h := range t.headings {
		t.widths[i] = runewidth.StringWidth(h.Name)
	}
	for _, row := range t.held {
		for i, cell := range row.cells {
			t.widths[i] = max(t.widths[i], runewidth.StringWidth(cell.shown()))
		}
	}
	if all && t.total(func(i int) int { return t.widths[i] }) > t.streams.Width {
		t.leaveOutEmpty()
	}
	t.leaveOut()
	t.squeeze()
	var names []Cell
	for _, h := range t.headings {
		names = append(names, Cell{Value: strings.ToUpper(h.Name), Style: Faint})
	}
	if err := t.line(names); err != nil {
		return err
	}
	for _, row := range t.held {
		if err := t.line(row.cells); err != nil {
			return err
		}
		if row.below.shown() == "" {
			continue
		}
		if err := t.lineBelow(row.below); err != nil {
			return err
		}
	}
	t.held = nil
	return nil
}

const gap = "  "

// leastWidth is how narrow a flexible column may get unless it says otherwise.
const leastWidth = 8

// least is the width below which a column says nothing any more.
func (t *Table) least(i int) int {
	h := &t.headings[i]
	switch {
	case !h.Flexible:
		return t.widths[i]
	case h.Least > 0:
		return min(h.Least, t.widths[i])
	}
	return min(leastWidth, t.widths[i])
}

// total is how wide a line is whose columns have such widths.
func (t *Table) total(width func(i int) int) int {
	total := 0
	for i := range t.widths {
		if t.widths[i] > 0 {
			total += width(i) + len(gap)
		}
	}
	return max(total-len(gap), 0)
}

// leaveOutEmpty gives the room of columns in which nothing stands to the others.
func (t *Table) leaveOutEmpty() {
	for i, h := range t.headings {
		if h.Spare > 0 && !slices.ContainsFunc(t.held, func(r row) bool { return r.cells[i].shown() != "" }) {
			t.widths[i] = 0
		}
	}
}

// leaveOut gives up columns, the most dispensable first, until the others have
// room to say something.
func (t *Table) leaveOut() {
	for t.total(t.least) > t.streams.Width {
		most, last, left := -1, -1, 0
		for i, h := range t.headings {
			if t.widths[i] == 0 {
				continue
			}
			last = i
			left++
			if h.Spare > 0 && (most < 0 || h.Spare > t.headings[most].Spare) {
				most = i
			}
		}
		if most < 0 {
			most = last
		}
		if left < 2 {
			return
		}
		t.widths[most] = 0
		if most > 0 && t.widths[most-1] > 0 {
			for _, row := range t.held {
				t.widths[most-1] = max(t.widths[most-1], runewidth.StringWidth(Clean(t.text(row.cells, most-1))))
			}
		}
	}
}

// squeeze shortens the widest of the flexible columns until the line fits:
// first down to what they need, then, where nothing else helps, further.
func (t *Table) squeeze() {
	total := t.total(func(i int) int { return t.widths[i] })
	for _, floor := range []func(i int) int{t.least, func(int) int { return 1 }} {
		least := make([]int, len(t.widths)) // of the widths as they are now
		for i := range least {
			least[i] = floor(i)
		}
		for total > t.streams.Width {
			widest := -1
			for i, h := range t.headings {
				if h.Flexible && t.widths[i] > least[i] && (widest < 0 || t.widths[i] > t.widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			t.widths[widest]--
			total--
		}
	}
}

func (t *Table) line(cells []Cell) error {
	left := t.streams.Width
	between := ""
	for i := range cells {
		width := min(t.widths[i], left-len(between))
		if t.widths[i] == 0 || width <= 0 {
			continue
		}
		text := t.text(cells, i)
		shown := Clean(text)
		if cells[i].Short != "" && runewidth.StringWidth(shown) > width {
			text = cells[i].Short
			shown = Clean(text)
		}
		shown = runewidth.Truncate(shown, width, ellipsis)
		pad := strings.Repeat(" ", max(width-runewidth.StringWidth(shown), 0))
		styled := t.streams.marked(cells[i].Style, cells[i].Marks, text, shown, Clean)
		left -= len(between) + width
		if t.headings[i].Right {
			styled = pad + styled
			pad = ""
		}
		if _, err := t.out.WriteString(between + styled); err != nil {
			return err
		}
		between = pad + gap
		left += len(pad)
	}
	return t.out.WriteByte('\n')
}

// lineBelow writes a line below a row.
func (t *Table) lineBelow(cell Cell) error {
	indent := 0
	for i, h := range t.headings {
		if h.Flexible {
			break
		}
		if t.widths[i] > 0 {
			indent += t.widths[i] + len(gap)
		}
	}
	if indent > t.streams.Width/2 {
		indent = 0
	}
	text := cell.text()
	shown := runewidth.Truncate(Clean(text), t.streams.Width-indent, ellipsis)
	_, err := t.out.WriteString(strings.Repeat(" ", indent) + t.streams.marked(cell.Style, cell.Marks, text, shown, Clean) + "\n")
	return err
}

// text is what a row shows in a column, before it is made safe.
func (t *Table) text(row []Cell, i int) string {
	if row[i].Alone != "" && row[i].Value == "" && i+1 < len(t.widths) && t.widths[i+1] == 0 {
		return row[i].Alone
	}
	return row[i].text()
}

func (c Cell) text() string {
	if c.Shown != "" {
		return c.Shown
	}
	return c.Value
}

func (c Cell) shown() string { return Clean(c.text()) }

// Text is a cell that shows what it holds.
func Text(value string) Cell { return Cell{Value: value} }

// Styled is a cell that shows what it holds, set apart.
func Styled(style Style, value string) Cell { return Cell{Value: value, Style: style} }

// Number is a cell that holds a number.
func Number[T ~int | ~int64](n T) Cell { return Cell{Value: fmt.Sprint(n)} }

// Details writes the fields of one thing: a line each, aligned, on a terminal;
// name and value with a tab between them elsewhere.
func (s *Streams) Details(w io.Writer, fields ...Detail) error {
	width := 0
	for _, f := range fields {
		width = max(width, runewidth.StringWidth(f.Name))
	}
	var b strings.Builder
	for _, f := range fields {
		switch {
		case f.Value == "" && s.OutTTY:
		case !s.OutTTY:
			fmt.Fprintf(&b, "%s\t%s\n", f.Name, oneLine(f.Value))
		default:
			shown := f.Shown
			if shown == "" {
				shown = f.Value
			}
			lines := strings.Split(CleanText(shown), "\n")
			indent := strings.Repeat(" ", width+len(gap))
			for i, line := range lines {
				if i > 0 {
					b.WriteString(indent)
				} else {
					b.WriteString(s.Styled(Faint, f.Name) + strings.Repeat(" ", width-runewidth.StringWidth(f.Name)) + gap)
				}
				b.WriteString(s.Styled(f.Style, line) + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Detail is one field of one thing.
type Detail struct {
	Name, Value string
	// Shown goes to a terminal; "" shows Value.
	Shown string
	Style Style
}
