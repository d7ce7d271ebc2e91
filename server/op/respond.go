package op

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"bm/server/api"
)

// respond writes what a handler returned.
func (ex *exchange) respond(ctx context.Context, op *operation, in reflect.Value, output any, err error) {
	if err != nil {
		ex.fail(err)
		return
	}
	if stream, ok := output.(Stream); ok {
		ex.stream(ctx, op.Status, stream)
		return
	}
	status, body, err := ex.render(op, in, output)
	if err == nil {
		err = ex.holdBody(body)
	}
	switch {
	case err != nil:
		ex.fail(err)
	case body == nil:
		ex.w.WriteHeader(status)
	default:
		writeJSON(ex.w, status, body)
	}
}

// render encodes an output; a nil body is none.
func (ex *exchange) render(op *operation, in reflect.Value, output any) (status int, body []byte, err error) {
	if tagged, ok := output.(taggedOutput); ok {
		value, etag := tagged.tagged()
		ex.w.Header().Set("ETag", etag)
		if (ex.r.Method == http.MethodGet || ex.r.Method == http.MethodHead) && TagMatches(ex.r.Header.Get("If-None-Match"), etag) {
			return http.StatusNotModified, nil, nil
		}
		output = value
	}
	if _, none := output.(None); none {
		return op.Status, nil, nil
	}
	var paging *Paging
	if list, ok := in.Addr().Interface().(paged); ok {
		paging = list.paging()
	}
	if small, ok := output.(smallOutput); ok {
		window, err := small.window(paging)
		if err != nil {
			return 0, nil, err
		}
		output = window
	}
	if list, ok := output.(listOutput); ok {
		items, more, position := list.parts()
		if !paging.ByCursor {
			body, err = encode(items)
			return op.Status, body, err
		}
		var pagination api.Pagination
		if more {
			cursor, err := cursorFor(ex.router.deps.CursorKey, ex.call, position)
			if err != nil {
				return 0, nil, fmt.Errorf("make a cursor: %w", err)
			}
			pagination = api.Pagination{NextCursor: &cursor, HasMore: true}
		}
		body, err = encodePage(items, pagination)
		return op.Status, body, err
	}
	body, err = encode(output)
	return op.Status, body, err
}

func (ex *exchange) stream(ctx context.Context, status int, s Stream) {
	header := ex.w.Header()
	header.Set("Content-Type", s.ContentType)
	if s.Filename != "" {
		header.Set("Content-Disposition", `attachment; filename="`+s.Filename+`"`)
		header.Set("Content-Security-Policy", "sandbox")
	}
	ex.w.status = status
	if ex.r.Method == http.MethodHead {
		ex.w.WriteHeader(status) // nobody reads the body, which may have no end
		return
	}
	err := s.Write(ctx, ex.w)
	switch {
	case err == nil:
		if !ex.w.wrote {
			ex.w.WriteHeader(status)
		}
	case !ex.w.wrote:
		header.Del("Content-Disposition")
		ex.fail(err)
	case errors.Is(err, context.Canceled):
		// The client left.
	default:
		ex.failure = err
		panic(http.ErrAbortHandler)
	}
}
