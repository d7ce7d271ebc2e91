package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bm/server/api"
	"bm/server/api/needtest"
)

// smallDisk mounts a disk of a few megabytes, with a ballast on it whose
// removal makes room.
func smallDisk(t *testing.T, dir string, megabytes int) (ballast string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("bm-test", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=700", megabytes)); err != nil {
		needtest.Missing(t, "mount", "a disk that can be full has to be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast = filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, megabytes<<20/2), 0o600); err != nil {
		t.Fatal(err)
	}
	return ballast
}

// maxFills bounds how often a test writes before the disk must be full.
const maxFills = 2000

// A server whose disk is full says so in the envelope, goes on to be read,
// loses nothing that it answered, and writes again once there is room, also
// when it was killed meanwhile.
func TestServersDiskFull(t *testing.T) {
	dir := t.TempDir()
	w := &world{t: t, dir: dir, program: buildBM(t, dir), data: filepath.Join(dir, "server"), addr: freeAddr(t)}
	ballast := smallDisk(t, w.data, 12)
	w.serve()
	m := w.machine("ada")
	m.register()
	key := strings.TrimSpace(m.run("auth", "token"))
	workspace := strings.TrimSpace(m.run("workspace", "ls", "--json", "id", "--jq", ".[0].id"))
	at := "http://" + w.addr + "/workspaces/" + workspace + "/bookmarks"
	call := func(method, url, body string) (int, string) {
		t.Helper()
		request, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(raw)
	}
	kept := 0
	add := func() (int, string) {
		t.Helper()
		status, text := call(http.MethodPost, at, fmt.Sprintf(`{"title":"Number %d","description":%q}`, kept, strings.Repeat("some words ", 5000)))
		if status == http.StatusCreated {
			kept++
		}
		return status, text
	}
	count := func() {
		t.Helper()
		if status, text := call(http.MethodGet, at+"/count", ""); status != http.StatusOK || strings.TrimSpace(text) != fmt.Sprintf(`{"count":%d}`, kept) {
			t.Errorf("count: %d %s, want %d", status, text, kept)
		}
	}
	fill := func() {
		t.Helper()
		for range maxFills {
			status, text := add()
			if status == http.StatusCreated {
				continue
			}
			var envelope api.Envelope
			if err := json.Unmarshal([]byte(text), &envelope); err != nil || status != http.StatusServiceUnavailable || envelope.Error.Code != api.CodeUnavailable {
				t.Fatalf("with a full disk: %d %s", status, text)
			}
			if strings.Contains(text, w.data) || strings.Contains(strings.ToLower(text), "sql") {
				t.Errorf("it shows what is inside: %s", text)
			}
			return
		}
		t.Fatal("the disk does not fill")
	}
	fill()
	if kept == 0 {
		t.Fatal("the disk was full from the start")
	}
	count()
	if status, text := call(http.MethodGet, at+"?limit=5", ""); status != http.StatusOK {
		t.Errorf("read from a full disk: %d %s", status, text)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if status, text := add(); status != http.StatusCreated {
		t.Errorf("with room again: %d %s", status, text)
	}
	count()
	w.check()

	// Full once more, and killed: what was answered is there at the next start,
	// as soon as there is room for one.
	room := filepath.Join(w.data, "room")
	if err := os.WriteFile(room, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	fill()
	w.server.kill()
	if err := os.Remove(room); err != nil {
		t.Fatal(err)
	}
	w.serve()
	count()
	w.check()
}

// Man pages that no more fit are not said to be none, and no half of one is left.
func TestManPagesDiskFull(t *testing.T) {
	dir := t.TempDir()
	w := &world{t: t, dir: dir, program: buildBM(t, dir)}
	m := w.machine("ada")
	pages := filepath.Join(dir, "man")
	ballast := smallDisk(t, pages, 1)
	if err := os.WriteFile(ballast+"2", make([]byte, 400<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := m.try("", "man", "--dir", pages)
	if err := errors.Join(os.Remove(ballast), os.Remove(ballast+"2")); err != nil {
		t.Fatal(err)
	}
	written, globbed := filepath.Glob(filepath.Join(pages, "*"))
	if globbed != nil || len(written) == 0 {
		t.Fatalf("%d pages, %v", len(written), globbed)
	}
	if want := fmt.Sprintf("The disk is full: %d man pages written into %s so far.", len(written), pages); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	for _, path := range written {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), ".SH SEE ALSO\n") || filepath.Ext(path) != ".1" {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
	m.run("man", "--dir", pages)
}

// What a server was told to end has ended, though there is no room to write that down
// here: it is not said that nothing was changed. A secret that could not be kept is not
// asked for.
func TestKeysDiskFull(t *testing.T) {
	w := newWorld(t)
	m := w.machine("ada")
	home := filepath.Join(w.dir, "ada")
	ballast := smallDisk(t, home, 2)
	m.register()
	if _, err := m.try(worldPassword, "auth", "login", "--profile", "two", "--server", "http://"+w.addr, "--email", worldEmail); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(home, "full")
	file, err := os.Create(full)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(file, endless{})
	if closed := file.Close(); !errors.Is(err, syscall.ENOSPC) || closed != nil {
		t.Fatal(err, closed)
	}
	_, err = m.try("", "auth", "logout", "--profile", "two")
	if err == nil || !strings.Contains(err.Error(), "The key was revoked, and is not forgotten on this machine: the disk is full.\n  try: bm auth logout once more") {
		t.Errorf("logout: %v", err)
	}
	if _, err := m.try("", "key", "rotate", "--yes"); err == nil || !strings.Contains(err.Error(), "The disk is full.\n") {
		t.Errorf("rotate: %v", err)
	}
	if err := errors.Join(os.Remove(ballast), os.Remove(full)); err != nil {
		t.Fatal(err)
	}
	m.run("sync")
	m.run("auth", "logout", "--profile", "two")
	if keys := m.run("key", "ls", "--json", "status", "--jq", `map(select(.status == "active")) | length`); keys != "1" {
		t.Errorf("%s active keys, want this machine's", keys)
	}
}

// endless is as much as anybody reads.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A command whose disk is full says so, changes nothing, and the next one with
// room goes on.
func TestReplicasDiskFull(t *testing.T) {
	dir := t.TempDir()
	w := &world{t: t, dir: dir, program: buildBM(t, dir)}
	m := w.machine("ada")
	ballast := smallDisk(t, filepath.Join(dir, "ada", "d"), 12)
	text := strings.Repeat("some words ", 5000)
	kept := 0
	for {
		_, err := m.try("", "add", fmt.Sprintf("https://a.example/%d", kept), "--description", text)
		if err != nil {
			exit := (*exec.ExitError)(nil)
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(err.Error(), "disk is full") {
				t.Fatalf("with a full disk: %v", err)
			}
			break
		}
		if kept++; kept == maxFills {
			t.Fatal("the disk does not fill")
		}
	}
	if kept == 0 {
		t.Fatal("the disk was full from the start")
	}
	if n := m.count(); n != kept {
		t.Errorf("%d bookmarks, want %d", n, kept)
	}
	// An import that does not fit leaves what it says that it kept.
	var file bytes.Buffer
	file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
	for i := range 400 {
		fmt.Fprintf(&file, "<DT><A HREF=\"https://b.example/%d\">B</A>\n<DD>%s\n", i, text)
	}
	file.WriteString("</DL>\n")
	export := filepath.Join(dir, "export.html")
	if err := os.WriteFile(export, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.try("", "import", export); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("an import onto a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	m.run("add", "https://with.example/room")
	if out := m.run("doctor"); strings.Contains(out, "\ttrouble\t") {
		t.Errorf("afterwards: %s", out)
	}
	// One that has no room for an empty local copy.
	late := w.machine("bob")
	ballast = smallDisk(t, filepath.Join(dir, "bob", "d"), 1)
	if err := os.WriteFile(ballast+"2", make([]byte, 240<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := late.try("", "add", "https://a.example"); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("without room for a local copy: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	late.run("add", "https://a.example")
}
