package op

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"bm/server/api"
	"bm/server/sqldb"
)

// writer is the ResponseWriter that handlers see. It holds back what the mux
// itself would answer (404, 405, redirects), which leaves in the envelope. A
// client that stops reading ends its request; one that reads slowly does not.
type writer struct {
	http.ResponseWriter
	body     *requestBody
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
	if w.body.left() {
		// The connection cannot go on behind a body that nobody read, and
		// net/http would wait for the rest of it before it answers.
		w.ResponseWriter.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
}

// leaveBody takes in for a while what still comes of a body that nobody wants:
// to end the connection at once would cost a client that is busy sending the
// answer.
func (w *writer) leaveBody() {
	if !w.body.left() {
		return
	}
	controller := http.NewResponseController(w.ResponseWriter)
	// A test's recorder has no deadlines; every real connection has.
	if controller.Flush() == nil && controller.SetReadDeadline(time.Now().Add(lingering)) == nil {
		_, _ = io.Copy(io.Discard, w.body) // it was refused: how it ends is no news
	}
}

// lingering is how long a client may go on sending what nobody wants.
const lingering = 2 * time.Second

// requestBody knows whether it was read to its end.
type requestBody struct {
	io.ReadCloser
	none  bool // the request has no body, though HTTP/2 gives it one to read
	ended atomic.Bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	return n, err
}

// left reports whether there is more that nobody has read.
func (b *requestBody) left() bool { return !b.none && !b.ended.Load() }

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
	case errors.Is(err, sqldb.ErrUnknown):
		return &api.Error{
			Code: api.CodeUnavailable, RetryAfter: 5 * time.Second,
			Message: "the database's answer was lost: look whether it took effect before you send it again",
		}
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
