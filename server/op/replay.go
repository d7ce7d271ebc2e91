package op

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"bm/server/api"
	"bm/server/sqldb"
)

// maxReplayKey bounds an Idempotency-Key, in bytes.
const maxReplayKey = 256

// replays reports whether an operation honours an Idempotency-Key.
func (s *Spec) replays() bool {
	return s.Method == http.MethodPost && s.Auth != Public && (!s.NoReplay || s.OnceOnly)
}

// replayable runs a POST that carries an Idempotency-Key: once, and for 7
// days its answer is given again to whoever asks the same with the same key.
func (ex *exchange) replayable(ctx context.Context, op *operation, call *Call, in reflect.Value, key, hash string,
	handle func(context.Context, *Call, reflect.Value) (any, error),
) {
	if len(key) > maxReplayKey || !cleanText(key) || len(ex.r.Header.Values("Idempotency-Key")) > 1 {
		ex.fail(api.Invalid("header.Idempotency-Key", "must be one text of at most %d bytes", maxReplayKey))
		return
	}
	store := ex.router.deps.Replays
	principal := call.Principal.TenantID + "/" + call.Principal.AccountID
	kept, err := store.Begin(ctx, principal, key, hash)
	if err != nil {
		ex.fail(err)
		return
	}
	if kept != nil {
		if op.OnceOnly {
			ex.fail(api.Errorf(api.CodeConflict, "this Idempotency-Key was used: its answer held a secret and was not kept"))
			return
		}
		for name, values := range kept.Header {
			ex.w.Header()[name] = values
		}
		ex.w.Header().Set("Idempotent-Replay", "true")
		if len(kept.Body) == 0 {
			ex.w.WriteHeader(kept.Status)
			return
		}
		writeJSON(ex.w, kept.Status, kept.Body)
		return
	}
	settled := false
	// The outcome is kept though the client has left.
	keep := context.WithoutCancel(ctx)
	defer func() {
		if !settled {
			_ = store.Abandon(keep, principal, key) // a panic is on its way, which says more
		}
	}()
	output, err := handle(ctx, call, in)
	settled = true
	status, body := 0, []byte(nil)
	if err == nil {
		status, body, err = ex.render(op, in, output)
	}
	if err == nil {
		err = ex.holdBody(body)
	}
	if errors.Is(err, sqldb.ErrUnknown) {
		// Neither may it be tried again nor is there an answer to keep.
		ex.fail(err)
		return
	}
	if err != nil {
		// What failed had no effect, or goes on where it ended: the same request
		// may be tried again.
		if abandonErr := store.Abandon(keep, principal, key); abandonErr != nil {
			ex.failure = abandonErr
		}
		ex.fail(err)
		return
	}
	response := StoredResponse{Status: status, Header: http.Header{}, Body: body}
	if etag := ex.w.Header().Get("ETag"); etag != "" {
		response.Header.Set("ETag", etag)
	}
	if op.OnceOnly {
		response = StoredResponse{Status: status}
	}
	if err := store.Finish(keep, principal, key, response); err != nil {
		// The work is done: to answer with an error now would have it repeated.
		ex.failure = err
	}
	if body == nil {
		ex.w.WriteHeader(status)
		return
	}
	writeJSON(ex.w, status, body)
}
