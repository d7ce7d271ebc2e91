package op

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"bm/server/api"
	"bm/server/sqldb"
)

// writer is the ResponseWriter that handlers see. It holds back what the mux
// itself would answer (404, 405, redirects), which leaves in the envelope. A
// client that stops reading ends its request; one that reads slowly does not.
type writer struct {
	http.ResponseWriter
	patience time.Duration
	awaited  time.Time // since when the client has its patience
	matched  bool
	wrote    bool
	status   int
}

const (
	// slowReader is how long a client may leave a piece of an answer unread.
	slowReader = 30 * time.Second
	piece      = 64 << 10
)

// await gives the client time to read what is written next.
func (w *writer) await() {
	now := time.Now()
	if now.Sub(w.awaited) < w.patience/16 {
		return // it costs as much as a small answer
	}
	w.awaited = now
	// A test's recorder has no deadlines; every real connection has.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(now.Add(w.patience))
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.wrote {
		return
	}
	if w.status = status; !w.matched {
		return
	}
	w.wrote = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	if !w.matched {
		return len(p), nil
	}
	if !w.wrote {
		w.WriteHeader(cmp.Or(w.status, http.StatusOK))
	}
	written := 0
	for {
		next := p[written:min(len(p), written+piece)]
		w.await()
		n, err := w.ResponseWriter.Write(next)
		if written += n; err != nil || written >= len(p) {
			return written, err
		}
	}
}

// FlushError sends what was written so far, the status at least.
func (w *writer) FlushError() error {
	if !w.wrote {
		w.WriteHeader(cmp.Or(w.status, http.StatusOK))
	}
	w.await()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// toAPI turns any error into one that may be shown; internal ones lose their
// text, which belongs in the log.
func toAPI(err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &api.Error{Code: api.CodeUnavailable, Message: "the request took longer than its deadline", RetryAfter: time.Second}
	case errors.Is(err, context.Canceled):
		return &api.Error{Code: api.CodeUnavailable, Message: "the request was given up", RetryAfter: time.Second}
	case errors.Is(err, sqldb.ErrUnavailable):
		return &api.Error{Code: api.CodeUnavailable, Message: "the database is not available", RetryAfter: 5 * time.Second}
	}
	return &api.Error{Code: api.CodeInternal, Message: "internal error"}
}

// writeError answers with the envelope.
func writeError(w http.ResponseWriter, err *api.Error, correlationID string) []byte {
	shown := *err
	shown.CorrelationID = correlationID
	body, encodeErr := encode(shown.Envelope())
	if encodeErr != nil {
		panic(encodeErr) // strings alone: it cannot fail
	}
	header := w.Header()
	switch err.Code {
	case api.CodeUnauthorized, api.CodeSecondFactorRequired:
		header.Set("WWW-Authenticate", "Bearer")
	}
	if err.RetryAfter > 0 {
		header.Set("Retry-After", strconv.FormatInt(int64((err.RetryAfter+time.Second-1)/time.Second), 10))
	}
	writeJSON(w, err.Code.Status(), body)
	return body
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has left: there is nobody to tell
}
