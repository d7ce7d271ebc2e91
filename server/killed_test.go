package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

// killable is a server in a process of its own.
type killable struct {
	*servertest.Server
	cmd *exec.Cmd
}

// startKillable has this very test run a server, which never comes back.
func startKillable(t *testing.T, config server.Config) *killable {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()[:strings.IndexByte(t.Name(), '/')]+"$")
	cmd.Env = append(os.Environ(), "BM_TEST_SERVE_DIR="+config.Dir, "BM_TEST_SERVE_URL="+config.DatabaseURL)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k := &killable{cmd: cmd}
	t.Cleanup(k.kill)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the server never listened: %v", err)
		}
		if addr, ok := strings.CutPrefix(line, "listens on "); ok {
			k.Server = &servertest.Server{URL: "http://" + strings.TrimSpace(addr)}
			go func() { _, _ = io.Copy(io.Discard, lines) }() // until the process ends
			return k
		}
	}
}

// kill ends the server as kill -9 does.
func (k *killable) kill() {
	_ = k.cmd.Process.Kill() // it may have ended already
	_ = k.cmd.Wait()         // which says that it was killed
}

// serveUntilKilled is the process of a [killable].
func serveUntilKilled(t *testing.T, dir string) {
	config := complete(server.Config{Dir: dir, DatabaseURL: os.Getenv("BM_TEST_SERVE_URL")})
	err := server.Run(t.Context(), config, server.Listen{Addr: "127.0.0.1:0"}, func(addr string) { fmt.Println("\nlistens on", addr) })
	t.Fatal("the server stopped by itself: ", err)
}

// A tag that very many carry is renamed in pieces. A server that is killed between
// them leaves each bookmark with the one name or the other, and the same request
// goes on where it ended.
func TestARenameIsKilled(t *testing.T) {
	if dir := os.Getenv("BM_TEST_SERVE_DIR"); dir != "" {
		serveUntilKilled(t, dir)
	}
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := store(t)
			first := startKillable(t, config)
			p := servertest.Join(t, first.Server, "ada")
			const all = 6000
			var file bytes.Buffer
			file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
			for i := range all {
				fmt.Fprintf(&file, "<DT><A HREF=\"https://example.com/%d\" TAGS=\"Old,kept%d\">n%d</A>\n", i, i%3, i)
			}
			file.WriteString("</DL>")
			must[api.ImportSummary](t)(p.Key.Import(t.Context(), client.InWorkspace(p.Workspace.ID), "x.html", &file, ""))
			carried := func(c *client.Client) (old, renamed int) {
				t.Helper()
				for _, tag := range must[[]api.Tag](t)(c.ListTags(t.Context(), p.Workspace.ID)) {
					switch tag.Name {
					case "Old":
						old = tag.Count
					case "New":
						renamed = tag.Count
					}
				}
				return old, renamed
			}
			rename := api.TagRename{From: "old", To: "New"}
			ended := make(chan error, 1)
			go func() {
				_, err := p.Key.RenameTag(t.Context(), p.Workspace.ID, rename)
				ended <- err
			}()
			for began := time.Now(); ; {
				if _, renamed := carried(p.Key); renamed > 0 {
					break
				}
				if time.Since(began) > time.Minute {
					t.Fatal("nothing is renamed")
				}
			}
			first.kill()
			if err := <-ended; err == nil {
				t.Fatal("all was renamed before the server was killed")
			}
			if findings := mustCheck(t, config); len(findings) > 0 {
				t.Errorf("after the kill the check found %v", findings)
			}

			second := startKillable(t, config)
			c := must[*client.Client](t)(client.New(client.Options{Server: second.URL, Token: p.Secret, Version: "test"}))
			old, renamed := carried(c)
			if old+renamed != all || old == 0 || renamed == 0 {
				t.Fatalf("%d bookmarks carry the old name and %d the new one, of %d", old, renamed, all)
			}
			if n := must[int](t)(c.RenameTag(t.Context(), p.Workspace.ID, rename)); n != old {
				t.Errorf("%d were renamed now, want %d", n, old)
			}
			if old, renamed := carried(c); old != 0 || renamed != all {
				t.Errorf("in the end %d carry the old name and %d the new one", old, renamed)
			}
			rows := 0
			for cursor := ""; ; {
				page := must[api.ChangesPage](t)(c.Changes(t.Context(), p.Workspace.ID, cursor, 1000, 0))
				for _, change := range page.Data {
					if b := change.Bookmark; b != nil {
						rows++
						if want := []string{"New", "kept" + b.Tags[len(b.Tags)-1][len("kept"):]}; !slices.Equal(b.Tags, want) {
							t.Fatalf("%s carries %q", b.Title, b.Tags)
						}
					}
				}
				if cursor = *page.Pagination.NextCursor; !page.Pagination.HasMore {
					break
				}
			}
			if rows != all {
				t.Errorf("there are %d bookmarks", rows)
			}
			second.kill()
			if findings := mustCheck(t, config); len(findings) > 0 {
				t.Errorf("in the end the check found %v", findings)
			}
		})
	}
}
