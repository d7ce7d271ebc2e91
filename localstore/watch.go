package localstore

import "context"

// watch is what looks at a command of many rows while it works: whoever waits for
// it sees how far it is, and may have enough of it.
type watch struct {
	ctx      context.Context //nolint:containedctx // of the one command
	progress func(done, total int)
	done     int
	total    int
	told     bool // the total was told by the caller
}

// watched is how many rows are changed between two looks.
const watched = 100

// Watch has progress told, now and then, how many of how many rows the command is
// through with. A total of 0 is what the editor makes of it.
func (ed *Editor) Watch(total int, progress func(done, total int)) {
	w := &ed.watch
	w.progress, w.total, w.told = progress, total, total > 0
}

// expect adds rows that are to be done.
func (ed *Editor) expect(n int) {
	if w := &ed.watch; !w.told {
		w.total += n
	}
}

// step says that a row is done, be it that nothing had to be. It fails where nobody waits for the command any
// more: nothing of it stays then. Nobody looks where no rows are expected.
func (ed *Editor) step() error {
	w := &ed.watch
	if w.done++; w.total == 0 || w.done%watched > 0 {
		return nil
	}
	if w.progress != nil {
		w.progress(min(w.done, w.total), w.total) // what is done beside them was not counted
	}
	return w.ctx.Err()
}
