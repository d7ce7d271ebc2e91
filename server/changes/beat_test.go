package changes_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/changes"
	"bm/server/events"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// A stream without news says every 15 seconds that it lives, and looks each time
// whether its caller still may.
func TestAQuietStreamBeats(t *testing.T) {
	hub := events.NewHub(sqldbtest.Open(t, sqldb.Config{Dir: t.TempDir()}), slog.New(slog.DiscardHandler))
	defer hub.Close()
	synctest.Test(t, func(t *testing.T) {
		subscription, err := hub.Subscribe("t")
		if err != nil {
			t.Fatal(err)
		}
		defer subscription.Cancel()
		asked := 0
		began := time.Now()
		recorder := httptest.NewRecorder()
		err = changes.Poke(t.Context(), recorder, subscription, func(context.Context) (*access.Principal, error) {
			if asked++; asked == 4 {
				return nil, context.Canceled // the key was revoked
			}
			return &access.Principal{}, nil
		})
		if err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %s", took)
		}
		if text := recorder.Body.String(); strings.Count(text, "\n:\n") != 3 || strings.Contains(text, "data") || !recorder.Flushed {
			t.Errorf("it said %q", text)
		}
	})
}

// What a workspace that is new says while a stream looks what its caller may is
// told after the next look: it is not taken for another's, of which he hears nothing.
func TestAnEventWhileAStreamLooks(t *testing.T) {
	db := sqldbtest.Open(t, sqldb.Config{Dir: t.TempDir()})
	hub := events.NewHub(db, slog.New(slog.DiscardHandler))
	defer hub.Close()
	subscription, err := hub.Subscribe("t")
	if err != nil {
		t.Fatal(err)
	}
	defer subscription.Cancel()
	change := func(workspace string) {
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			return hub.Changed(t.Context(), tx, access.Scope{TenantID: "t", WorkspaceID: workspace}, 1)
		})
		if err != nil {
			t.Error(err)
		}
	}
	rights := access.Rights{Tenant: access.Everything(), Workspaces: map[string]access.Set{"old": 0}}
	asked := 0
	recorder := httptest.NewRecorder()
	change("old")
	err = changes.Poke(t.Context(), recorder, subscription, func(context.Context) (*access.Principal, error) {
		switch asked++; asked {
		case 1:
			change("new")
		case 2:
			rights.Workspaces = map[string]access.Set{"old": 0, "new": 0}
			change("foreign")
		default:
			return nil, context.Canceled
		}
		return &access.Principal{Rights: rights}, nil
	})
	if err != nil {
		t.Error(err)
	}
	if text := recorder.Body.String(); strings.Count(text, "data:") != 2 || !strings.Contains(text, `"new"`) {
		t.Errorf("it said %q", text)
	}
}

// A page of the feed holds a thousand changes unless another number is asked for,
// and never more than five thousand; nobody is held for longer than 25 seconds.
func TestPagesOfTheFeed(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		var file strings.Builder
		file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>")
		for range 1001 {
			file.WriteString(`<DT><A HREF="https://a.example/">a</A>`)
		}
		must[api.ImportSummary](t)(y.Key.Import(t.Context(), client.InWorkspace(y.Workspace.ID), "a.html", strings.NewReader(file.String()), ""))
		for limit, want := range map[int]int{0: 1000, 1: 1, 1001: 1001, 5000: 1001} {
			page, err := y.Key.Changes(t.Context(), y.Workspace.ID, "", limit, 0)
			if err != nil || len(page.Data) != want || page.Pagination.HasMore != (want < 1001) {
				t.Errorf("limit %d: %d changes, more: %t, %v", limit, len(page.Data), page.Pagination.HasMore, err)
			}
		}
		for query, field := range map[string]string{"limit=0": "query.limit", "limit=5001": "query.limit", "limit=x": "query.limit", "wait=26": "query.wait", "wait=-1": "query.wait"} {
			answer, err := y.Key.Raw(t.Context(), http.MethodGet, "/workspaces/"+y.Workspace.ID+"/changes?"+query, nil, nil)
			if err == nil {
				_ = answer.Body.Close()
			}
			refused(t, err, api.CodeValidation, field)
		}
	})
}
