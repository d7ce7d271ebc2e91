package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bm/daemon/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// launch runs a daemon over the mirror, and answers a client of it and what
// Run ends with.
func launch(t *testing.T, socket, version string, m *fakeMirror) (*control.Client, <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Deps{
			Version: version, Socket: socket, Log: quietLog(),
			Profiles: func() ([]string, error) { return []string{"p"}, nil },
			Open:     func(context.Context, string) (Mirror, error) { return m, nil },
		})
	}()
	t.Cleanup(cancel)
	c := &control.Client{Socket: socket, Version: version}
	for {
		if reply, err := c.Ask(context.Background(), control.Request{Command: control.Status}); err == nil && reply.Version == version {
			return c, ended
		}
		select {
		case err := <-ended:
			t.Fatalf("the daemon ended: %v", err)
		default:
			time.Sleep(time.Millisecond) // there is nothing to wait on before it listens
		}
	}
}

func say(t *testing.T, c *control.Client, request control.Request) control.Reply {
	t.Helper()
	reply, err := c.Ask(context.Background(), request)
	if err != nil {
		t.Fatalf("%s: %v", request.Command, err)
	}
	return reply
}

func TestConversation(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "run", "d.sock")
	m := &fakeMirror{workspaces: []string{"a", "b"}}
	c, ended := launch(t, socket, "1.0.0", m)
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	say(t, c, control.Request{Command: control.Sync, Profile: "p"})
	reply := say(t, c, control.Request{Command: control.Status})
	if reply.Protocol != control.Protocol || reply.Version != "1.0.0" || reply.PID != os.Getpid() {
		t.Errorf("reply %+v", reply)
	}
	if s := reply.Status; len(s.Profiles) != 1 || s.Profiles[0].Name != "p" || s.Profiles[0].Server != "https://a.example" || len(s.Profiles[0].Workspaces) != 2 {
		t.Errorf("status %+v", reply.Status)
	}
	if _, err := c.Ask(context.Background(), control.Request{Command: "dance"}); err == nil || !strings.Contains(err.Error(), `"dance"`) {
		t.Errorf("an unknown command: %v", err)
	}
	say(t, c, control.Request{Command: control.Stop})
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := c.Ask(context.Background(), control.Request{Command: control.Status}); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("after it left: %v", err)
	}
	if m.released() != 1 {
		t.Errorf("the profile was closed %d times", m.released())
	}
}

func TestEventsAreTold(t *testing.T) {
	m := &fakeMirror{workspaces: []string{"a"}, round: func(id string) (Result, error) { return Result{Pulled: 7}, nil }}
	c, _ := launch(t, filepath.Join(t.TempDir(), "d.sock"), "1.0.0", m)
	conn, err := c.Open(context.Background(), control.Request{Command: control.Events})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Next(); err != nil { // from here on nothing is missed
		t.Fatal(err)
	}
	say(t, c, control.Request{Command: control.Sync, Profile: "p"})
	reply, err := conn.Next()
	if err != nil || reply.Event == nil || reply.Event.Pulled != 7 || reply.Event.Workspace != "a" || reply.Event.Kind != control.RoundDone {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestQuiesceLetsGoAndTakesBack(t *testing.T) {
	m := &fakeMirror{workspaces: []string{"a"}}
	c, _ := launch(t, filepath.Join(t.TempDir(), "d.sock"), "1.0.0", m)
	say(t, c, control.Request{Command: control.Sync, Profile: "p"})
	conn, err := c.Open(context.Background(), control.Request{Command: control.Quiesce})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Next(); err != nil {
		t.Fatal(err)
	}
	if m.released() != 1 {
		t.Errorf("closed %d times while quiet", m.released())
	}
	for _, profile := range []string{"p", ""} {
		// Neither done nor paused: nobody but that command can let it go on.
		_, err := c.Ask(context.Background(), control.Request{Command: control.Sync, Profile: profile})
		if err == nil || !strings.Contains(err.Error(), "keep still") {
			t.Errorf("a round of %q while it is quiet: %v", profile, err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for { // it notices that the caller left
		if _, err := c.Ask(context.Background(), control.Request{Command: control.Sync, Profile: "p"}); err == nil {
			break
		}
	}
}

func TestPauseAndResume(t *testing.T) {
	m := &fakeMirror{workspaces: []string{"a"}}
	c, _ := launch(t, filepath.Join(t.TempDir(), "d.sock"), "1.0.0", m)
	say(t, c, control.Request{Command: control.Pause})
	if !say(t, c, control.Request{Command: control.Status}).Status.Paused {
		t.Error("it does not say that it is paused")
	}
	if _, err := c.Ask(context.Background(), control.Request{Command: control.Sync}); err == nil {
		t.Error("a round was run while paused")
	}
	say(t, c, control.Request{Command: control.Resume})
	say(t, c, control.Request{Command: control.Sync, Profile: "p"})
}

// watching is a daemon of one profile, without its socket.
func watching(ctx context.Context, m Mirror) *Daemon {
	d := &Daemon{
		deps: Deps{
			Log: quietLog(), Profiles: func() ([]string, error) { return []string{"p"}, nil },
			Open: func(context.Context, string) (Mirror, error) { return m, nil },
		}.withDefaults(),
		ctx: ctx, workers: map[string]*running{}, leaving: map[*running]bool{}, hub: hub{listeners: map[chan control.Event]bool{}},
	}
	go d.watch(ctx)
	return d
}

// Quiet stays quiet until somebody ends it, and what has stopped starts nothing.
func TestQuietLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}}
		ctx, cancel := context.WithCancel(t.Context())
		d := watching(ctx, m)
		expect(t, m, "at start", "a")
		for what, change := range map[string]func(quiet bool){
			"paused": func(quiet bool) { d.paused = quiet },
			"held": func(quiet bool) {
				if d.holds = 0; quiet {
					d.holds = 1
				}
			},
		} {
			d.quiet(func() { change(true) })
			time.Sleep(10 * time.Minute)
			expect(t, m, what)
			if err := d.nudge(control.Request{Profile: "p"}); err == nil {
				t.Errorf("%s: it was nudged", what)
			}
			expect(t, m, what+" and nudged")
			d.wake(func() { change(false) })
			expect(t, m, "no longer "+what, "a")
		}
		cancel()
		d.finished.Wait()
		if w := d.worker("p"); w != nil {
			t.Error("it was started after the end")
		}
		if w := d.worker("other"); w != nil {
			t.Error("another was started after the end")
		}
		synctest.Wait()
	})
}

// Who asks second has no file taken from under it either: what the first one has end
// may be at it still.
func TestTheSecondThatAsksForQuietWaitsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := &fakeMirror{workspaces: []string{"a"}, round: func(string) (Result, error) {
			<-release
			return Result{}, nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		d := watching(ctx, m)
		synctest.Wait()
		quiet := make(chan int, 2)
		for range cap(quiet) {
			go func() {
				d.quiet(func() { d.holds++ })
				quiet <- m.released()
			}()
			synctest.Wait()
		}
		if n := len(quiet); n > 0 {
			t.Errorf("quiet for %d while a round runs", n)
		}
		close(release)
		for range cap(quiet) {
			if closed := <-quiet; closed != 1 {
				t.Errorf("quiet, and closed %d times", closed)
			}
		}
		cancel()
		synctest.Wait()
	})
}

func TestOneDaemonPerSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "d.sock")
	_, ended := launch(t, socket, "1.0.0", &fakeMirror{})
	deps := Deps{Version: "1.0.0", Socket: socket, Log: quietLog()}
	if err := Run(context.Background(), deps); !errors.Is(err, ErrRunning) {
		t.Errorf("a second one: %v", err)
	}
	deps.Version = "0.9.0"
	if err := Run(context.Background(), deps); !errors.Is(err, ErrRunning) {
		t.Errorf("an older one: %v", err)
	}
	// A newer one asks the older one to leave.
	newer, newerEnded := launch(t, socket, "1.1.0", &fakeMirror{})
	if err := <-ended; err != nil {
		t.Errorf("the older one ended with %v", err)
	}
	say(t, newer, control.Request{Command: control.Stop})
	if err := <-newerEnded; err != nil {
		t.Errorf("the newer one ended with %v", err)
	}
}

func TestAStaleSocketIsRemoved(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "d.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // as after kill -9
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	c, _ := launch(t, socket, "1.0.0", &fakeMirror{})
	say(t, c, control.Request{Command: control.Status})
}

func TestNonsenseIsAnswered(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "d.sock")
	c, _ := launch(t, socket, "1.0.0", &fakeMirror{})
	for _, text := range []string{"not json\n", "{}\n", strings.Repeat("x", 1<<20) + "\n", "\n", ""} {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, text)
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	say(t, c, control.Request{Command: control.Status})
}

func TestLogRotates(t *testing.T) {
	dir := t.TempDir()
	log, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	log.max = 100
	for i := range 100 {
		if _, err := fmt.Fprintf(log, "line %03d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 4 {
		t.Errorf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || len(text) > 100 {
			t.Errorf("%s has %d bytes, %v", file, len(text), err)
		}
	}
	last, err := os.ReadFile(log.Path())
	if err != nil || !strings.HasSuffix(string(last), "line 099\n") {
		t.Errorf("the newest file ends %q, %v", last, err)
	}
}
