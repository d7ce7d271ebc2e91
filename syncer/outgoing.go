package syncer

import (
	"context"
	"fmt"

	"bm/localstore"
	"bm/server/api"
)

// maxPushBytes bounds a request, well below what the server takes. A proxy may
// take less.
const maxPushBytes = 4 << 20

// outgoing sends batch after batch. While the server judges one, the verdicts
// on the one before are taken in, and the next is planned and kept as in
// flight; the server never has two of them at once.
type outgoing struct {
	*round
	asked         *request // what the server is judging
	sent, applied int
}

// request is a batch that the server has been asked to judge.
type request struct {
	flights []localstore.Flight
	cursor  string
	answer  func() (api.PushResponse, error)
}

// send keeps ops as in flight and asks the server to judge them. It returns
// before the last of them are judged.
func (o *outgoing) send(ctx context.Context, flights []localstore.Flight) error {
	for len(flights) > 0 {
		n := o.fitting(flights)
		some := flights[:n]
		flights = flights[n:]
		for i := range some {
			some[i].Cursor = o.onward(some[i].Cursor)
		}
		err := o.store.SyncDurably(ctx, o.replica, func(tx *localstore.SyncTx) error { return tx.Launch(some) })
		if err != nil {
			return err
		}
		if err := o.next(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// finish waits until everything that was sent is judged.
func (o *outgoing) finish(ctx context.Context) error { return o.next(ctx, nil) }

// drop waits for what was not waited for, where something went wrong: no
// request outlives its round. Its verdicts are asked for again.
func (o *outgoing) drop() {
	if o.asked != nil {
		_, _ = o.asked.answer()
	}
}

// next waits for the answer to what the server is judging, asks it to judge
// what comes next, and takes the answer in.
func (o *outgoing) next(ctx context.Context, flights []localstore.Flight) error {
	before := o.asked
	o.asked = nil
	var response api.PushResponse
	if before != nil {
		var err error
		if response, err = before.answer(); err != nil {
			return err
		}
	}
	if len(flights) > 0 {
		o.asked = o.begin(ctx, flights)
	}
	if before == nil {
		return nil
	}
	applied, err := o.takeIn(ctx, before, &response)
	o.sent, o.applied = o.sent+len(before.flights), o.applied+applied
	return err
}

// fitting is how many of the ops fit into one request.
func (r *round) fitting(flights []localstore.Flight) int {
	size := 0
	for n := range flights {
		size += opSize(&flights[n])
		if n == r.batch || n > 0 && size > r.maxBytes {
			return n
		}
	}
	return len(flights)
}

// opSize is about how many bytes an op takes of a request.
func opSize(f *localstore.Flight) int { return len(f.Op.Set) + 256 }

// begin asks the server to judge ops that are kept as in flight.
func (r *round) begin(ctx context.Context, flights []localstore.Flight) *request {
	cursor := r.onward(flights[0].Cursor)
	push := api.PushRequest{Epoch: flights[0].Epoch, Cursor: cursor, Ops: make([]api.Op, len(flights))}
	for i := range flights {
		push.Ops[i] = flights[i].Op
	}
	wait := r.remote.Push(ctx, r.workspace, push)
	return &request{flights: flights, cursor: cursor, answer: func() (api.PushResponse, error) {
		response, err := wait()
		if api.CodeOf(err) == api.CodePayloadTooLarge {
			// The server, or a proxy before it, takes less: half of this, then.
			r.maxBytes = 0
			for i := range flights {
				r.maxBytes += opSize(&flights[i]) / 2
			}
		}
		if err != nil {
			return response, remoteFailure("push", err)
		}
		if response.NextCursor != "" && response.NextCursor != cursor && response.Head.Epoch == push.Epoch {
			r.moved[cursor] = response.NextCursor
		}
		return response, nil
	}}
}

// takeIn takes the server's verdicts in.
func (r *round) takeIn(ctx context.Context, asked *request, response *api.PushResponse) (applied int, err error) {
	verdicts := make(map[string]*api.OpResult, len(response.Results))
	for i := range response.Results {
		verdicts[response.Results[i].OpID] = &response.Results[i]
	}
	err = r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
		rows, err := rowsOf(tx, asked.flights)
		if err != nil {
			return err
		}
		parked, err := tx.Parked()
		if err != nil {
			return err
		}
		for i := range asked.flights {
			f := &asked.flights[i]
			verdict := verdicts[f.Op.OpID]
			if verdict == nil {
				return fmt.Errorf("%w", api.Errorf(api.CodeInternal, "the server gave no verdict on an op"))
			}
			row := rows[key{f.Op.Type, f.Op.ID}]
			if _, was := parked[f.Op.ID]; was && verdict.Status == api.OpApplied {
				if err := tx.Unpark(f.Op.ID); err != nil {
					return err
				}
			}
			if err := r.takeVerdict(tx, row, f, verdict); err != nil {
				return err
			}
			if verdict.Status == api.OpApplied {
				applied++
			}
		}
		r.moveOn(tx.Replica(), asked.cursor, response)
		return tx.Land(asked.flights)
	})
	if err != nil {
		return 0, fmt.Errorf("take in what the server said: %w", err)
	}
	return applied, nil
}

// moveOn takes the cursor behind what was pushed, where the server says that
// nothing else has changed: what one has just sent need not be pulled back.
func (r *round) moveOn(at *localstore.Replica, from string, response *api.PushResponse) {
	if response.NextCursor == "" || at.Cursor != from || at.Whole != from || at.Epoch != response.Head.Epoch {
		return
	}
	at.Cursor, at.Whole, at.Rev = response.NextCursor, response.NextCursor, response.Head.Rev
	at.PurgedRev = response.Head.PurgedRev
	r.head = response.Head
}

// onward is where a cursor has moved since by pushes alone: what was decided
// there holds here.
func (r *round) onward(cursor string) string {
	for range len(r.moved) { // nor does a server that goes in circles hold us
		next, ok := r.moved[cursor]
		if !ok {
			break
		}
		cursor = next
	}
	return cursor
}
