package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"bm/daemon/control"
)

// ErrRunning says that another daemon serves this user already.
var ErrRunning = errors.New("the daemon is running already")

// place is the socket with the lock that makes it this process's own.
type place struct {
	listener net.Listener
	lock     *flock.Flock
	once     sync.Once
}

// Lock is the file whose lock says that a daemon runs. It is given back last,
// when every profile was let go of.
func Lock(socket string) string { return socket + ".lock" }

// occupy takes the socket: probe, lock, remove a stale socket, listen. The
// lock dies with its process, so that whoever holds it may remove a socket
// that nobody answers on.
func occupy(ctx context.Context, deps Deps) (*place, error) {
	dir := filepath.Dir(deps.Socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the socket: %w", err)
	}
	if err := ownedAlone(dir); err != nil {
		return nil, err
	}
	probe := &control.Client{Socket: deps.Socket, Version: deps.Version}
	reply, err := probe.Ask(ctx, control.Request{Command: control.Status})
	if err == nil {
		if !control.Newer(deps.Version, reply.Version) {
			return nil, ErrRunning
		}
		if _, err := probe.Ask(ctx, control.Request{Command: control.Stop}); err != nil {
			return nil, fmt.Errorf("ask the older daemon to leave: %w", err)
		}
	}
	lock := flock.New(Lock(deps.Socket))
	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err != nil {
		cancel() // nobody was asked to leave: there is nothing to wait for
	}
	taken, err := lock.TryLock()
	if !taken && err == nil && wait.Err() == nil {
		taken, err = lock.TryLockContext(wait, 50*time.Millisecond)
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("take the daemon's lock: %w", err)
	}
	if !taken {
		return nil, ErrRunning
	}
	if err := os.Remove(deps.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove a stale socket: %w", errors.Join(err, lock.Unlock()))
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", deps.Socket)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", deps.Socket, errors.Join(err, lock.Unlock()))
	}
	if err := os.Chmod(deps.Socket, 0o600); err != nil {
		return nil, fmt.Errorf("close the socket to others: %w", errors.Join(err, listener.Close(), lock.Unlock()))
	}
	return &place{listener: listener, lock: lock}, nil
}

// close stops listening, which removes the socket.
func (p *place) close() { p.once.Do(func() { _ = p.listener.Close() }) }

func (p *place) leave() error {
	p.close()
	return p.lock.Unlock()
}

// ownedAlone refuses a folder that others can enter: whoever can reach the
// socket can have the daemon stopped.
func ownedAlone(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("check the folder of the socket: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("others can reach the socket's folder %s: %w", dir, err)
		}
	}
	return nil
}

// serve answers callers until the listener is closed.
func (d *Daemon) serve(ctx context.Context, listener net.Listener) {
	var callers sync.WaitGroup
	defer callers.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				d.deps.Log.Error("listen", "error", err)
				d.stop()
			}
			return
		}
		callers.Go(func() {
			defer func() { _ = conn.Close() }() // all was said
			d.answer(ctx, conn)
		})
	}
}

// requestLimit bounds how long a caller may take to say what it wants.
const requestLimit = 10 * time.Second

const maxRequest = 64 << 10

// answer reads one request and answers it. ctx ends when the caller leaves.
func (d *Daemon) answer(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	if err := conn.SetReadDeadline(time.Now().Add(requestLimit)); err != nil {
		return
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 1024), maxRequest)
	if !lines.Scan() {
		return
	}
	var request control.Request
	if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
		_ = d.reply(conn, control.Reply{Error: "the request is not JSON"})
		return
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil || ctx.Err() != nil {
		return
	}
	go func() {
		lines.Scan() // nothing more is expected: this is the caller leaving
		cancel()
	}()
	d.dispatch(ctx, conn, request)
}

func (d *Daemon) dispatch(ctx context.Context, conn net.Conn, request control.Request) {
	var reply control.Reply
	fail := func(err error) {
		if err != nil {
			reply.Error = err.Error()
		}
	}
	switch request.Command {
	case control.Status:
		reply.Status = d.status()
	case control.Nudge:
		fail(d.nudge(request))
	case control.Sync:
		fail(d.sync(ctx, request))
	case control.Events:
		d.stream(ctx, conn)
		return
	case control.Pause:
		d.quiet(func() { d.paused = true })
	case control.Resume:
		d.wake(func() { d.paused = false })
	case control.Quiesce:
		d.quiet(func() { d.holds++ })
		if err := d.reply(conn, reply); err == nil {
			<-ctx.Done()
		}
		d.wake(func() { d.holds-- })
		return
	case control.Stop:
		// The answer first: the caller waits for the lock, not for us.
		_ = d.reply(conn, reply)
		d.stop()
		return
	default:
		reply.Error = fmt.Sprintf("this daemon (%s) does not know %q", d.deps.Version, request.Command)
	}
	_ = d.reply(conn, reply) // a caller that left needs no answer
}

func (d *Daemon) stream(ctx context.Context, conn net.Conn) {
	events := d.hub.join()
	defer d.hub.leave(events)
	// An empty reply says that from here on nothing is missed.
	if d.reply(conn, control.Reply{}) != nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if d.reply(conn, control.Reply{Event: &e}) != nil {
				return
			}
		}
	}
}

func (d *Daemon) reply(conn net.Conn, reply control.Reply) error {
	reply.Protocol, reply.Version, reply.PID = control.Protocol, d.deps.Version, os.Getpid()
	text, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	if err := conn.SetWriteDeadline(time.Now().Add(requestLimit)); err != nil {
		return err
	}
	_, err = conn.Write(append(text, '\n'))
	return err
}
