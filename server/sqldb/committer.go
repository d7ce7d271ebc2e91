package sqldb

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// A batch takes at most so many transactions and so much time, so that the
// first of it does not wait long for the commit that it shares.
const (
	maxBatch     = 64
	maxBatchTime = 20 * time.Millisecond
)

// committer runs SQLite's writing transactions one after the other on its one
// connection, and lets those that wait together share a commit: the sync to
// disk is most of a small write's price. Each is a savepoint within the
// batch, so that one that fails takes nothing of the others with it.
type committer struct {
	db *DB

	mu      sync.Mutex
	queue   []*write
	leading bool

	// These are the leader's alone.
	session *session
	members int // of the batch that runs
}

// write is one transaction that waits its turn, or what wants the connection to
// itself.
type write struct {
	ctx   context.Context
	fn    func(*Tx) error
	alone func() error // in place of fn
	tx    *Tx
	err   error
	done  chan struct{}
}

func newCommitter(db *DB) *committer { return &committer{db: db} }

// run has the leader run fn, and returns when the shared commit is on disk.
func (c *committer) run(ctx context.Context, fn func(*Tx) error) error {
	w := &write{ctx: ctx, fn: fn, done: make(chan struct{})}
	err := c.wait(w)
	if err == nil {
		w.tx.committed()
	}
	return err
}

// exclusive runs fn between two batches, when its turn comes: it must not wait
// for a moment in which nobody wants to write.
func (c *committer) exclusive(ctx context.Context, fn func() error) error {
	return c.wait(&write{ctx: ctx, alone: fn, done: make(chan struct{})})
}

// wait puts w into the queue, and returns its outcome.
func (c *committer) wait(w *write) error {
	c.mu.Lock()
	c.queue = append(c.queue, w)
	lead := !c.leading
	c.leading = true
	c.mu.Unlock()
	if lead {
		go c.lead()
	}
	select {
	case <-w.done:
	case <-w.ctx.Done():
		if c.withdraw(w) {
			return w.ctx.Err()
		}
		<-w.done // it runs already: its outcome is the truth
	}
	return w.err
}

// withdraw takes a transaction that has not begun out of the queue.
func (c *committer) withdraw(w *write) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, queued := range c.queue {
		if queued == w {
			c.queue = append(c.queue[:i], c.queue[i+1:]...)
			return true
		}
	}
	return false
}

// next takes the first of the queue; within a batch, not what wants to be alone.
func (c *committer) next(batched bool) *write {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 || batched && c.queue[0].alone != nil {
		return nil
	}
	w := c.queue[0]
	c.queue = c.queue[1:]
	return w
}

// wanted reports whether anybody waits for the end of the batch: in the queue,
// or in the batch itself for the commit. It is asked by a member that runs.
func (c *committer) wanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members > 1 || len(c.queue) > 0
}

// lead runs batches until nothing waits.
func (c *committer) lead() {
	for {
		c.batch()
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.leading = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// batch runs what waits in one transaction and tells each its outcome.
func (c *committer) batch() {
	first := c.next(false)
	if first == nil {
		return
	}
	if first.alone != nil {
		if first.err = first.ctx.Err(); first.err == nil {
			first.err = first.alone()
		}
		close(first.done)
		return
	}
	members := []*write{first}
	err := c.begin()
	if err == nil {
		err = c.fill(&members)
	}
	if err == nil {
		err = c.exec("COMMIT")
		if err != nil {
			err = fmt.Errorf("commit: %w", err)
		}
	}
	if err != nil {
		c.abort()
	}
	for _, w := range members {
		if w.err == nil {
			w.err = err
		}
		close(w.done)
	}
}

// fill runs members until the batch is full or nothing waits. An error means
// that the whole transaction is lost.
func (c *committer) fill(members *[]*write) error {
	started := time.Now()
	for i := 0; ; i++ {
		w := (*members)[i]
		c.members = i + 1
		// What comes first needs no savepoint: if it fails, the transaction
		// that is rolled back holds nothing else.
		if err := c.member(w, i > 0); err != nil {
			return err
		}
		if i == 0 && w.err != nil {
			return w.err
		}
		if i+1 == maxBatch || time.Since(started) > maxBatchTime {
			return nil
		}
		next := c.next(true)
		if next == nil {
			return nil
		}
		*members = append(*members, next)
	}
}

// member runs one transaction; its own failure is w.err, the batch's the result.
func (c *committer) member(w *write, savepoint bool) error {
	if w.err = w.ctx.Err(); w.err != nil {
		return nil
	}
	if savepoint {
		if err := c.exec("SAVEPOINT member"); err != nil {
			return err
		}
	}
	w.tx = &Tx{db: c.db, runner: c.session.conn, session: c.session, detached: true}
	w.err = guard(w.fn, w.tx)
	if !savepoint {
		return nil
	}
	if w.err != nil {
		// Fails where SQLite gave the whole transaction up (disk full).
		if err := c.exec("ROLLBACK TO member"); err != nil {
			return err
		}
	}
	return c.exec("RELEASE member")
}

// guard turns a panic into an error, so that it cannot take the leader, and
// with it every later write, along.
func guard(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(tx)
}

func (c *committer) begin() error {
	if c.session == nil {
		s, err := openSession(context.Background(), c.db.writer)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		c.session = s
	}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return nil
}

// abort rolls back. A connection that cannot even do that is given up: most
// often SQLite has rolled back by itself, and a fresh one is right in any case.
func (c *committer) abort() {
	if c.session == nil || c.exec("ROLLBACK") == nil {
		return
	}
	_ = c.session.end() // it is broken: that it cannot be closed well is no news
	c.session = nil
}

func (c *committer) exec(text string) error { return c.session.exec(text) }

// close gives the connection back; no transaction may be running.
func (c *committer) close() error {
	if c.session == nil {
		return nil
	}
	err := c.session.close()
	c.session = nil
	return err
}

// release gives the connection's memory back; no transaction may be running.
func (c *committer) release() error {
	if c.session == nil {
		return nil
	}
	err := c.session.end()
	c.session = nil
	return err
}
