package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// interrupts is a context that ends when the program is told to end. It takes
// signals from when somebody first looks at it: that starts a thread, a tenth
// of what a short command takes. Until then nothing runs that would have to be
// ended in order, and the signal ends the program by itself. A terminal that is
// closed tells it, too: what was copied for an import must not stay behind.
type interrupts struct {
	once sync.Once
	ctx  context.Context
	stop context.CancelFunc
}

// begin is the context that ends, from now on, by a signal.
func (i *interrupts) begin() context.Context {
	i.once.Do(func() {
		ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
		if !signal.Ignored(syscall.SIGHUP) { // as by nohup
			ends = append(ends, syscall.SIGHUP)
		}
		i.ctx, i.stop = signal.NotifyContext(context.Background(), ends...)
		// The next one ends the program by itself: what waits for a pipe that
		// nobody writes to does not look at any context.
		context.AfterFunc(i.ctx, i.stop)
	})
	return i.ctx
}

// end leaves signals to the system again, and ends the context.
func (i *interrupts) end() {
	i.once.Do(func() { i.ctx, i.stop = context.WithCancel(context.Background()) }) // it takes none any more
	i.stop()
}

func (i *interrupts) Deadline() (time.Time, bool) { return time.Time{}, false }
func (i *interrupts) Done() <-chan struct{}       { return i.begin().Done() }
func (i *interrupts) Err() error                  { return i.begin().Err() }
func (i *interrupts) Value(key any) any           { return i.begin().Value(key) }
