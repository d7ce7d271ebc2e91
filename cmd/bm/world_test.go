package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bm/server/api/exchange/exchangetest"
)

// patience is how long what must happen may take, on a machine that does ten
// things at once.
const patience = time.Minute

// until waits for what must happen.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// world is the real program as a server, and as many machines as are asked for.
type world struct {
	t       testing.TB
	dir     string
	program string
	server  *process
	args    []string
	// data is the server's folder, addr where it serves.
	data, addr string
}

// process is a program that runs in the background.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan error
}

// newWorld starts a server in a folder; args are further ones of bm serve.
func newWorld(t testing.TB, args ...string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, dir: dir, program: buildBM(t, dir), data: filepath.Join(dir, "server"), args: args}
	w.addr = freeAddr(t)
	w.serve()
	return w
}

// freeAddr is an address that nobody listens on.
func freeAddr(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return addr
}

// start runs the program in the background.
func (w *world) start(env []string, args ...string) *process {
	w.t.Helper()
	log, err := os.CreateTemp(w.dir, "log-*")
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(w.program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, log, log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	p := &process{cmd: cmd, log: log.Name(), done: make(chan error, 1)}
	go func() {
		err := cmd.Wait()
		p.done <- errors.Join(err, log.Close())
	}()
	w.t.Cleanup(func() { p.kill() })
	return p
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	p.done <- <-p.done       // whoever asks later finds it ended too
}

// text is what the process has written.
func (p *process) text() string {
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// serve starts the server, and waits until it answers.
func (w *world) serve() {
	w.t.Helper()
	args := append([]string{"serve", "--addr", w.addr, "--data-dir", w.data, "--limit-auth", "0", "--limit-key", "0", "--limit-tenant", "0", "--limit-ip", "0"}, w.args...)
	w.server = w.start(os.Environ(), args...)
	until(w.t, "the server", func() bool {
		select {
		case err := <-w.server.done:
			w.server.done <- err // for whoever cleans up
			w.t.Fatalf("the server ended: %v\n%s", err, w.server.text())
		default:
		}
		answer, err := http.Get("http://" + w.addr + "/readyz")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
}

// seen is how many requests of a route the server has answered.
func (w *world) seen(route string) int {
	return strings.Count(w.server.text(), `"route":"`+route+`"`)
}

// check has the server's own check find nothing.
func (w *world) check() {
	w.t.Helper()
	if output, err := exec.Command(w.program, "serve", "admin", "check", "--data-dir", w.data).CombinedOutput(); err != nil {
		w.t.Errorf("the server's database: %v\n%s", err, output)
	}
}

// machine is one home folder.
type machine struct {
	w    *world
	name string
	env  []string
}

func (w *world) machine(name string, more ...string) *machine {
	home := filepath.Join(w.dir, name)
	return &machine{w: w, name: name, env: append(append(
		os.Environ(), "HOME="+home, "BM_CONFIG_DIR="+filepath.Join(home, "c"), "BM_DATA_DIR="+filepath.Join(home, "d"),
		"BM_INSECURE_STORAGE=true", "BM_DAEMON_AUTOSTART=false", "DBUS_SESSION_BUS_ADDRESS=unix:path="+filepath.Join(home, "none"),
	), more...)}
}

// try runs a command, with something on its standard input where in is not "".
func (m *machine) try(in string, args ...string) (string, error) {
	cmd := exec.Command(m.w.program, args...)
	cmd.Env = m.env
	cmd.Stdin = strings.NewReader(in)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: bm %s: %w\n%s", m.name, strings.Join(args, " "), err, said.String())
	}
	return out.String(), nil
}

// run runs a command that must succeed.
func (m *machine) run(args ...string) string {
	m.w.t.Helper()
	output, err := m.try("", args...)
	if err != nil {
		m.w.t.Fatal(err)
	}
	return strings.TrimSpace(output)
}

const (
	worldEmail    = "ada@example.test"
	worldPassword = "a long enough phrase\n"
)

// register makes the account of all machines, login signs in to it.
func (m *machine) register() { m.signIn("register") }
func (m *machine) login()    { m.signIn("login") }

func (m *machine) signIn(how string) {
	m.w.t.Helper()
	if _, err := m.try(worldPassword, "auth", how, "--server", "http://"+m.w.addr, "--email", worldEmail); err != nil {
		m.w.t.Fatal(err)
	}
}

// count is how many bookmarks the machine has.
func (m *machine) count() int {
	m.w.t.Helper()
	n, err := strconv.Atoi(m.run("ls", "--count"))
	if err != nil {
		m.w.t.Fatal(err)
	}
	return n
}

// contents is every bookmark of the machine without what is its own.
func (m *machine) contents() string {
	m.w.t.Helper()
	var document struct {
		Folders, Bookmarks []map[string]any
	}
	if err := json.Unmarshal([]byte(m.run("export", "--format", "json")), &document); err != nil {
		m.w.t.Fatal(err)
	}
	for _, row := range append(document.Folders, document.Bookmarks...) {
		delete(row, "updatedAt")
		delete(row, "tenantId")
		delete(row, "workspaceId")
	}
	raw, err := json.Marshal(document)
	if err != nil {
		m.w.t.Fatal(err)
	}
	return string(raw)
}

// generated is an export with so many bookmarks.
func (w *world) generated(n int) string {
	w.t.Helper()
	path := filepath.Join(w.dir, fmt.Sprintf("export-%d.html", n))
	file, err := os.Create(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := errors.Join(exchangetest.Generate(file, 1, n), file.Close()); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// resident is the memory of a process, in MB.
func resident(t testing.TB, pid int) float64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(text)[0], 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb / 1024
		}
	}
	t.Fatal("the process has no memory")
	return 0
}
