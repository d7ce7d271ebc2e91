package server_test

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

// A request whose commit was sent, and whose connection to PostgreSQL broke before
// the answer, may have had its effect. With its Idempotency-Key it is not run again.
func TestACommitWithoutAnAnswerIsNotRepeated(t *testing.T) {
	address, err := url.Parse(sqldbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	dir, err := os.MkdirTemp("", "bm") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	line := &line{to: filepath.Join(query.Get("host"), ".s.PGSQL.5432")}
	line.listen(t, filepath.Join(dir, ".s.PGSQL.5432"))
	query.Set("host", dir)
	address.RawQuery = query.Encode()

	s := servertest.Start(t, server.Config{DatabaseURL: address.String()})
	token := string(register(t, s, "ada@example.test").AccessToken)
	make1 := func() answer {
		return call(t, "POST", s.URL+"/workspaces", token, `{"name":"x"}`, "Idempotency-Key", "k")
	}
	line.commits.Store(2) // that of the key, and that of the work
	code(t, make1(), api.CodeUnavailable)
	code(t, make1(), api.CodeConflict)
	if n := len(decode[[]api.Workspace](t, call(t, "GET", s.URL+"/workspaces", token, ""), 200)); n != 2 {
		t.Errorf("%d workspaces, want the first one and that which was made once", n)
	}
}

// line passes on what is said to PostgreSQL, and breaks behind a commit.
type line struct {
	to string
	// commits is how many are passed on until the line breaks; 0 is for ever.
	commits atomic.Int64
}

func (l *line) listen(t *testing.T, path string) {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go l.pass(client)
		}
	}()
}

func (l *line) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	database, err := net.Dial("unix", l.to)
	if err != nil {
		return
	}
	defer func() { _ = database.Close() }()
	var broken atomic.Bool
	back := make(chan struct{})
	go func() {
		defer close(back)
		answer := make([]byte, 64<<10)
		for {
			n, err := database.Read(answer)
			if err != nil || broken.Load() {
				_ = client.Close()
				return
			}
			if _, err := client.Write(answer[:n]); err != nil {
				return
			}
		}
	}()
	said := make([]byte, 64<<10)
	for {
		n, err := client.Read(said)
		if err != nil {
			return
		}
		if bytes.Contains(said[:n], []byte("commit\x00")) && l.commits.Load() > 0 && l.commits.Add(-1) == 0 {
			broken.Store(true)
		}
		if _, err := database.Write(said[:n]); err != nil {
			return
		}
		if broken.Load() {
			<-back // the answer has come: it is done
			return
		}
	}
}
