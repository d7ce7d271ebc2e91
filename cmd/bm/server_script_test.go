package main_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptPatience is how long a script waits for what must happen: long enough
// for a machine that does ten things at once.
const scriptPatience = 30 * time.Second

// await tries until ok, and fails the script when that takes too long.
func await(ts *testscript.TestScript, what string, ok func() bool) {
	for deadline := time.Now().Add(scriptPatience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("waited in vain for %s", what)
		}
	}
}

// serving waits until the server of a data folder answers, and puts its URL
// into a variable, its address into another:
//
//	exec bm serve --addr 127.0.0.1:0 --data-dir srv &srv&
//	serving SERVER srv
//	httpstatus 200 GET $SERVER/healthz
//	bmexit 5 serve --addr $SERVER_ADDR
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serving VARIABLE FOLDER")
	}
	await(ts, "the server in "+args[1], func() bool {
		_, addr := holderOf(ts, args[1])
		if addr == "" || strings.HasSuffix(addr, ":0") {
			return false
		}
		ts.Setenv(args[0], "http://"+addr)
		ts.Setenv(args[0]+"_ADDR", addr)
		answer, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
}

// holderOf is who has a data folder.
func holderOf(ts *testscript.TestScript, folder string) (pid int, addr string) {
	var holder struct {
		PID  int
		Addr string
	}
	raw, err := os.ReadFile(filepath.Join(ts.MkAbs(folder), "server.json"))
	if err != nil || json.Unmarshal(raw, &holder) != nil {
		return 0, ""
	}
	return holder.PID, holder.Addr
}

// terminate tells the server of a data folder to end, as the system does.
func terminate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: terminate FOLDER")
	}
	pid, _ := holderOf(ts, args[0])
	process, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Check(process.Signal(syscall.SIGTERM))
}

// damage changes a database behind its server's back:
//
//	damage srv/bm.db 'UPDATE workspace_head SET live_count = 77'
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: damage FILE SQL")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0])) // bm links the driver
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// untilOut runs bm until its output matches, and leaves that output to
// "stdout":
//
//	untilout 'In step' sync status
func untilOut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: untilout PATTERN ARGUMENT…")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	await(ts, args[0], func() bool {
		_ = ts.Exec("bm", args[1:]...) // until it succeeds is what is awaited
		return pattern.MatchString(ts.ReadFile("stdout"))
	})
}

// untilFile waits until a file is there, or with ! until it is not.
func untilFile(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: untilfile FILE")
	}
	await(ts, args[0], func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return (err == nil) != neg
	})
}

// httpStatus asks for a URL, and wants a status; what was answered, with its
// headers, is kept in the file "answer":
//
//	httpstatus 200 GET $SERVER/healthz
func httpStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: httpstatus STATUS METHOD URL [HEADER: VALUE]… [BODY]")
	}
	var body io.Reader = http.NoBody
	headers := args[3:]
	if n := len(headers); n > 0 && !strings.Contains(headers[n-1], ": ") {
		body, headers = strings.NewReader(headers[n-1]), headers[:n-1]
	}
	request, err := http.NewRequest(args[1], args[2], body)
	ts.Check(err)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	ts.Check(err)
	raw, err := io.ReadAll(answer.Body)
	ts.Check(err)
	ts.Check(answer.Body.Close())
	var kept bytes.Buffer
	ts.Check(answer.Header.Write(&kept))
	kept.Write(raw)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), kept.Bytes(), 0o600))
	if got := answer.Status[:3]; got != args[0] {
		ts.Fatalf("%s %s: status %s, want %s\n%s", args[1], args[2], got, args[0], raw)
	}
}
