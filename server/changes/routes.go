package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/events"
	"bm/server/op"
)

type workspacePath struct {
	WorkspaceID string `path:"workspaceId"`
}

// Routes declares the operations of replication.
func (s *Service) Routes(r *op.Router) {
	feed := op.Spec{
		ID: "list-changes", Method: http.MethodGet, Path: "/workspaces/{workspaceId}/changes",
		Section: "Changes", Status: http.StatusOK, Auth: op.JWTOrKey, Scope: op.Workspace, Permission: access.BookmarksRead, Also: []access.Permission{access.FoldersRead},
		Summary: "What changed in a workspace since a cursor, each folder and bookmark once, as it is now",
		Doc: "An empty cursor begins with all that lives. A page's next_cursor is where the next goes on, at the end of the feed too. " +
			"wait holds the request, for at most so many seconds, until there is something.",
		Timeout: api.MaxWait + 30*time.Second, Extension: true, Errors: []api.Code{api.CodeResetRequired},
	}
	op.Register(r, feed, func(ctx context.Context, call *op.Call, in *struct {
		workspacePath
		Cursor string `query:"cursor" doc:"The next_cursor of the page before; empty for a bootstrap"`
		Limit  int    `query:"limit" minimum:"1" maximum:"5000" doc:"1000 where it is not given"`
		Wait   int    `query:"wait" minimum:"0" maximum:"25" doc:"In seconds"`
	},
	) (op.Encoded[api.ChangesPage], error) {
		limit := in.Limit
		if limit == 0 {
			limit = api.DefaultChangesPage
		}
		return s.Wait(ctx, call.Scope, in.Cursor, limit, time.Duration(in.Wait)*time.Second, func(ctx context.Context) error {
			_, err := call.Again(ctx)
			return err
		})
	})

	push := feed
	push.ID, push.Method, push.MaxBody, push.Timeout = "push-changes", http.MethodPost, api.MaxChangesBody, 2*time.Minute
	push.Permission, push.Also = access.BookmarksWrite, []access.Permission{access.BookmarksRead, access.FoldersRead}
	push.Summary = "Edits by compare and set, in order, each with a verdict of its own"
	push.Doc = "An op whose baseRev is not the row's is stale: nothing is written, and the row comes back as it is. A create is stale without a row where its folder " +
		"is not there, or where something with the same URL or name has come into that folder since the cursor that is given: pull, and send what is left with " +
		"another opId. The same opId again is answered the same, for 30 days, without a second effect. What is too long is cut. Each op needs the permission of what it does."
	op.Register(r, push, func(ctx context.Context, call *op.Call, in *struct {
		workspacePath
		Prefer []string `header:"Prefer" doc:"return=minimal leaves out the entity of an applied create whose row is what the op set"`
		Body   api.PushRequest
	},
	) (api.PushResponse, error) {
		return s.Push(ctx, call.Scope, Caller{Can: call.Can, CorrelationID: call.CorrelationID, Minimal: prefersMinimal(in.Prefer)}, in.Body)
	})

	stream := op.Spec{
		ID: "stream-events", Method: http.MethodGet, Path: "/me/events",
		Section: "Changes", Status: http.StatusOK, Auth: op.JWTOrKey, Scope: op.Self, Permission: op.NoPermission,
		Summary: "A stream of pokes (server-sent events): a workspace has changed, go and pull",
		Doc:     "Each event is {workspaceId, rev}. A comment comes every 15 seconds. It ends with its credential.",
		Timeout: -1, Extension: true,
	}
	op.Register(r, stream, func(_ context.Context, call *op.Call, _ *struct{}) (op.Stream, error) {
		return op.Stream{ContentType: "text/event-stream", Write: func(ctx context.Context, w io.Writer) error {
			subscription, err := s.hub.Subscribe(call.Scope.TenantID)
			if err != nil {
				return err
			}
			defer subscription.Cancel()
			return poke(ctx, w, subscription, call.Again)
		}}, nil
	})
}

// heartbeat is how often a stream says that it lives.
const heartbeat = 15 * time.Second

// poke writes events until the client leaves, the server stops or the caller
// may not any more.
func poke(ctx context.Context, w io.Writer, subscription *events.Subscription, again func(context.Context) (*access.Principal, error)) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	if err := send(w, ": connected\n\n"); err != nil {
		return nil //nolint:nilerr // the client left
	}
	for {
		text := ""
		select {
		case <-subscription.Ready():
		case <-beat.C:
			text = ":\n\n"
		case <-subscription.Done():
			return nil
		case <-ctx.Done():
			return nil
		}
		taken := subscription.Take() // before the look: who may hear of a new workspace is known by then
		principal, err := again(ctx)
		if err != nil {
			return nil //nolint:nilerr // the credential has ended, and the stream with it
		}
		for _, event := range taken {
			if !principal.InWorkspace(event.WorkspaceID).Has(access.BookmarksRead) {
				continue
			}
			raw, err := json.Marshal(event)
			if err != nil {
				return fmt.Errorf("write an event: %w", err)
			}
			text += "data: " + string(raw) + "\n\n"
		}
		if text == "" {
			continue
		}
		if err := send(w, text); err != nil {
			return nil //nolint:nilerr // the client left
		}
	}
}

func send(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return op.Flush(w)
}
