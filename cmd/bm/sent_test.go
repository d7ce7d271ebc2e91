package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A server that is sent what no client of ours sends: too much, no text, an upload
// that breaks off, a token of another server. Each is told what is wrong, in the one
// envelope; nothing of it is kept, and the server goes on. What is cheap to type is in
// the script hostile_server.
func TestWhatAServerIsSent(t *testing.T) {
	w := newWorld(t)
	other := &world{t: t, dir: t.TempDir(), program: w.program, addr: freeAddr(t)}
	other.data = filepath.Join(other.dir, "data")
	other.serve()
	a := w.machine("a")
	a.register()
	a.run("add", "https://kept.example")
	a.run("sync")
	key, workspace := a.run("auth", "token"), a.run("workspace", "ls", "--json", "id", "--jq", ".[0].id")

	long, deep := strings.Repeat("x", 10_000_000), strings.Repeat(`{"a":[`, 100_000)
	session, foreign := w.session(t, "session@example.test"), other.session(t, "session@example.test")
	parts := strings.Split(session, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no JWT", session)
	}
	bookmarks, changes := "/workspaces/"+workspace+"/bookmarks", "/workspaces/"+workspace+"/changes"
	for name, test := range map[string]struct {
		method, path, token, body string
		status                    int
		code                      string
	}{
		"a title of 10 MB":                 {"POST", bookmarks, key, `{"title":"` + long + `"}`, 413, "payload_too_large"},
		"a title of 10 MB, in a push":      {"POST", changes, key, `{"ops":[{"opId":"` + long + `"}]}`, 400, "validation_error"},
		"depth":                            {"POST", bookmarks, key, deep, 400, "validation_error"},
		"depth, in a push":                 {"POST", changes, key, `{"ops":` + strings.Repeat("[", 100_000), 400, "validation_error"},
		"invalid UTF-8":                    {"POST", bookmarks, key, "{\"title\":\"\xff\xfe\"}", 400, "validation_error"},
		"a NUL":                            {"POST", bookmarks, key, "{\"title\":\"\x00\"}", 400, "validation_error"},
		"half a surrogate":                 {"POST", bookmarks, key, `{"title":"\ud800"}`, 400, "validation_error"},
		"a token of another server":        {"GET", "/api/v1/me", foreign, "", 401, "unauthorized"},
		"a token with another's signature": {"GET", "/api/v1/me", strings.Join(parts[:2], ".") + "." + strings.Split(foreign, ".")[2], "", 401, "unauthorized"},
		"a token with another's claims":    {"GET", "/api/v1/me", parts[0] + "." + strings.Split(foreign, ".")[1] + "." + parts[2], "", 401, "unauthorized"},
		"another tenant's token":           {"GET", bookmarks, session, "", 404, "not_found"},
	} {
		status, answer := w.send(t, test.method, test.path, test.token, test.body)
		var envelope struct {
			Error struct {
				Code string
			}
		}
		if err := json.Unmarshal(answer, &envelope); err != nil && test.code != "" {
			t.Errorf("%s: %.200q is no envelope: %v", name, answer, err)
		}
		if status != test.status || envelope.Error.Code != test.code {
			t.Errorf("%s: %d %s, want %d %s", name, status, envelope.Error.Code, test.status, test.code)
		}
	}

	// An upload that breaks off, before and behind its first rows.
	for _, rows := range []int{0, 2000} {
		var body bytes.Buffer
		body.WriteString("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.html\"\r\n\r\n<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
		for i := range rows {
			fmt.Fprintf(&body, "<DT><A HREF=\"https://half.example/%d\">%d</A>\n", i, i)
		}
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /api/v1/bookmarks/imports HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nX-Workspace-ID: %s\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n%s",
			w.addr, key, workspace, body.Len()+1000, body.String())
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the end of both uploads", func() bool { return w.seen("POST /api/v1/bookmarks/imports") == 2 })

	a.run("sync")
	if n := a.count(); n != 1 {
		t.Errorf("there are %d bookmarks", n)
	}
	if log := w.server.text(); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, "panic") {
		t.Errorf("the server took it for a fault of its own:\n%s", log)
	}
	w.check()
}

// session signs somebody up, and answers the token that stands for that.
func (w *world) session(t *testing.T, email string) string {
	t.Helper()
	status, answer := w.send(t, "POST", "/auth/register", "", `{"email":"`+email+`","password":"`+strings.TrimSpace(worldPassword)+`","noticeVersion":"1"}`)
	var made struct{ AccessToken string }
	if err := json.Unmarshal(answer, &made); err != nil || made.AccessToken == "" {
		t.Fatalf("sign up: %d %s: %v", status, answer, err)
	}
	return made.AccessToken
}

// send sends a request, and reads what is answered.
func (w *world) send(t *testing.T, method, path, token, body string) (status int, answer []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %.60s: %v", method, path, err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %.60s: %v", method, path, err)
	}
	return response.StatusCode, answer
}
