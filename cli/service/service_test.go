package service

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"bm/cli/app"
	"bm/cli/output"
	"bm/daemon"
)

func TestUnitsNameTheProgramAsItIs(t *testing.T) {
	const self = `/opt/my "bm" 100%/$bin/bm`
	env := []string{`BM_DATA_DIR=/data & <more>`}

	u := systemdUnit("/home/me/.config", self, env)
	if want := filepath.Join("/home/me/.config", "systemd", "user", "bm.service"); u.path != want {
		t.Errorf("path %s, want %s", u.path, want)
	}
	for _, want := range []string{
		`ExecStart="/opt/my \"bm\" 100%%/$$bin/bm" daemon run` + "\n",
		`Environment="BM_DATA_DIR=/data & <more>"` + "\n",
		"WantedBy=default.target\n",
	} {
		if !strings.Contains(u.text, want) {
			t.Errorf("the unit lacks %q:\n%s", want, u.text)
		}
	}

	agent, err := launchAgent("/Users/me", self, env)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for decoder := xml.NewDecoder(strings.NewReader(agent.text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the agent is not XML: %v\n%s", err, agent.text)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			texts = append(texts, string(data))
		}
	}
	if all := strings.Join(texts, "|"); !strings.Contains(all, self+"|daemon|run") || !strings.Contains(all, "BM_DATA_DIR|/data & <more>") {
		t.Errorf("the agent says %s", all)
	}

	task := logonTask(`C:\Users\me`, `C:\Program Files\bm.exe`)
	if got := task.on[0][len(task.on[0])-1]; got != `"C:\Program Files\bm.exe" daemon run` {
		t.Errorf("the task runs %s", got)
	}
}

// A daemon stops listening before it has finished what it does; it has stopped
// when its lock is free.
func TestStopWaitsForTheLock(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home, "BM_CONFIG_DIR": home + "/c", "BM_DATA_DIR": home + "/d"}
	a := app.New("test", output.Fixed(strings.NewReader(""), io.Discard, io.Discard, time.Now), func(key string) string { return env[key] })
	d, err := a.Daemon()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(d.Socket), 0o700); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(daemon.Lock(d.Socket))
	if taken, err := lock.TryLock(); err != nil || !taken {
		t.Fatal(taken, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // it answers, and is gone
		if conn, err := listener.Accept(); err == nil {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			fmt.Fprintln(conn, `{"protocol":1,"version":"test","pid":1}`)
			_ = listener.Close()
			_ = conn.Close()
		}
	}()
	stopped := make(chan error, 1)
	go func() { stopped <- stop(t.Context(), a) }()
	select {
	case err := <-stopped:
		t.Fatalf("it said that the daemon has stopped while its lock was held: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]string{
		"":                     "",
		"one\n":                "one\n",
		"one\ntwo\nthree\n":    "two\nthree\n",
		"one\ntwo\nunfinished": "two\nunfinished",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := tail(path, 2); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := tail(path+"x", 2); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no log: %v", err)
	}
}

// What the system starts has none of what a shell's own files set.
func TestTheDaemonLooksWhereTheCommandsLook(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"BM_CONFIG_DIR": "c", "BM_DATA_DIR": "/d", "XDG_CONFIG_HOME": "/x/config", "XDG_DATA_HOME": "/x/data", "XDG_STATE_HOME": "not/absolute", "HOME": "/h",
	}
	got, err := whereToLook(func(name string) string { return env[name] })
	want := []string{"BM_CONFIG_DIR=" + filepath.Join(here, "c"), "BM_DATA_DIR=/d", "XDG_CONFIG_HOME=/x/config", "XDG_DATA_HOME=/x/data"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
