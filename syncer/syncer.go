package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// Remote is the server as the syncer needs it; the API's client is one. An
// error that is no *api.Error means that no answer came, and that it is not
// known whether the request took effect.
type Remote interface {
	// Changes pulls a page of a workspace's changes. wait is always 0 here.
	Changes(ctx context.Context, workspaceID, cursor string, limit int, wait time.Duration) (api.ChangesPage, error)
	// Push begins to send ops, each to get a verdict of its own, and returns
	// what waits for the answer. Not to wait for it is allowed.
	Push(ctx context.Context, workspaceID string, push api.PushRequest) (answer func() (api.PushResponse, error))
}

// Config is what a [Syncer] works with.
type Config struct {
	Store  *localstore.Store
	Remote Remote
	IDs    *api.IDs // makes the ids of ops
	// Batch bounds the ops of a request; 0 stands for what the server takes.
	Batch int
	// Pause waits between the transactions of bulk work, so that an edit
	// beside it gets its turn; nil really waits.
	Pause func(ctx context.Context, d time.Duration) error
}

// Syncer runs rounds on the replicas of one profile, one at a time.
type Syncer struct {
	store  *localstore.Store
	remote Remote
	ids    *api.IDs
	pause  func(ctx context.Context, d time.Duration) error
	batch  int
}

// New makes a syncer.
func New(cfg Config) *Syncer {
	if cfg.Pause == nil {
		cfg.Pause = wait
	}
	if cfg.Batch == 0 {
		cfg.Batch = api.MaxChangesOps
	}
	return &Syncer{store: cfg.Store, remote: cfg.Remote, ids: cfg.IDs, pause: cfg.Pause, batch: cfg.Batch}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Report is what a round did.
type Report struct {
	Pulled    int `json:"pulled"` // changes that the server sent
	Pushed    int `json:"pushed"` // edits that the server took
	Stale     int `json:"stale"`  // edits that were merged and tried again
	Parked    int `json:"parked"` // edits that the server refused
	Conflicts int `json:"conflicts"`
	// Compared is set when every row was compared with the server's.
	Compared *Comparison `json:"compared,omitempty"`
	// Waiting is how many edits are left, which only a later round can send.
	Waiting int `json:"waiting"`
}

// Comparison is what a full compare found.
type Comparison struct {
	// Defect is true when the digests differed without a reset: something
	// went wrong before.
	Defect  bool `json:"defect"`
	Rows    int  `json:"rows"`
	Missing int  `json:"missing"` // here alone
	Unknown int  `json:"unknown"` // there alone
	Differ  int  `json:"differ"`
	Offered int  `json:"offered"` // lost by the server, to be sent again
}

func (c *Comparison) String() string {
	return fmt.Sprintf("the copy was not what the server has, and nothing says why; a full compare of %d rows mended it: %d were here alone, %d there alone, %d differed",
		c.Rows, c.Missing, c.Unknown, c.Differ)
}

// errReset says that the cursor cannot go on.
var errReset = errors.New("the server asks to begin anew")

// sharedField is the detail of a reset in which the server says up to which rev
// the cursor's epoch is part of its own history. A head says it only of all
// epochs together, which is safe but offers again what was deleted since.
const sharedField = "sharedRev"

func sharedRev(err error) (int64, bool) {
	failure, ok := errors.AsType[*api.Error](err)
	if !ok {
		return 0, false
	}
	for _, detail := range failure.Details {
		if rev, err := strconv.ParseInt(detail.Message, 10, 64); detail.Field == sharedField && err == nil && rev >= 0 {
			return rev, true
		}
	}
	return 0, false
}

// maxResets bounds how often one round begins anew.
const maxResets = 3

// Round brings one replica and its server in step. A replica without a server
// is left alone. How the replica stands is kept with it, on failure too; a
// later round carries on where this one was cut off.
func (s *Syncer) Round(ctx context.Context, replica int64) (Report, error) {
	var report Report
	at, err := s.store.Replica(ctx, replica)
	if err != nil {
		return report, err
	}
	if at.RemoteID == "" {
		return report, nil
	}
	r := &round{Syncer: s, replica: replica, workspace: at.RemoteID, report: &report, moved: map[string]string{}, maxBytes: maxPushBytes}
	for resets := 0; ; resets++ {
		err = r.run(ctx)
		if !errors.Is(err, errReset) || resets == maxResets {
			break
		}
		if err = r.beginCompare(ctx, err); err != nil {
			break
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return report, err
		}
		return report, errors.Join(fmt.Errorf("sync %q: %w", at.Name, err), s.noteFailure(ctx, at, err))
	}
	report.Waiting, err = s.store.Pending(ctx, replica)
	return report, err
}

// noteFailure keeps with the replica why it is not in step with its server.
func (s *Syncer) noteFailure(ctx context.Context, at *localstore.Replica, err error) error {
	if errors.Is(err, localstore.ErrBusy) || errors.Is(err, localstore.ErrDamaged) || errors.Is(err, localstore.ErrReadOnly) {
		return nil // the trouble is ours, and the file says so itself
	}
	state, reason := localstore.StateFailing, cause(err).Error()
	if failure, asked := errors.AsType[*requestError](err); asked {
		state, reason = failure.state(), failure.reason()
	}
	if at.State == localstore.StateFrozen && state != localstore.StateFrozen {
		return nil // what was taken away comes back by the server's word alone
	}
	return s.store.SetState(ctx, at.N, state, reason)
}

// cause is what lies at the bottom of an error, without what was being done, which
// means nothing to who reads how a replica stands; [Syncer.Round]'s error says all.
func cause(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// requestError is the failure of a request.
type requestError struct {
	what string
	error
}

func (e *requestError) Error() string { return e.what + ": " + e.error.Error() }

func (e *requestError) Unwrap() error { return e.error }

// state is how a replica stands with a server after that. What is no word of the
// server's means that there was none.
func (e *requestError) state() localstore.ReplicaState {
	failure, answered := errors.AsType[*api.Error](e.error)
	if !answered {
		return localstore.StateOffline
	}
	switch failure.Code {
	case api.CodeUnavailable:
		return localstore.StateOffline
	case api.CodeUnauthorized:
		return localstore.StateAuthRequired
	case api.CodeForbidden, api.CodeNotFound, api.CodeGone:
		return localstore.StateFrozen
	}
	return localstore.StateFailing
}

// reason is why, for people.
func (e *requestError) reason() string {
	if failure, answered := errors.AsType[*api.Error](e.error); answered {
		return failure.Message
	}
	return e.error.Error()
}

// remoteFailure is a failed request's error; [errReset] where that is meant.
func remoteFailure(what string, err error) error {
	if err == nil {
		return nil
	}
	if api.CodeOf(err) == api.CodeResetRequired || unknownCursor(err) {
		err = fmt.Errorf("%w: %w", errReset, err)
	}
	return &requestError{what, err}
}

// unknownCursor reports whether the server says that a cursor is none of its own,
// or none of the epoch that comes with it.
func unknownCursor(err error) bool {
	failure, ok := errors.AsType[*api.Error](err)
	return ok && failure.Code == api.CodeValidation && slices.ContainsFunc(failure.Details, func(d api.FieldError) bool {
		return d.Field == "query.cursor" || d.Field == "body.cursor" || d.Field == "body.epoch"
	})
}

// round is one round on one replica.
type round struct {
	*Syncer
	replica    int64
	workspace  string
	report     *Report
	head       api.Head        // of the last page
	compared   bool            // a full compare was made in this round
	suspicious bool            // a defect is what it looks into
	finished   bool            // a large pull was tidied after
	told       bool            // the server said which rev the epochs share
	former     string          // a cursor of the replica's epoch, while a compare is due or under way
	history    string          // the epoch that was asked what it shares with that one
	goesOn     bool            // the server said that a repaired replica's history does
	pace       localstore.Pace // of what is pulled
	// moved is where cursors went by pushes alone.
	moved map[string]string
	// restoring are the folders that the push under way restores.
	restoring map[string]bool
	// barred is why the server takes no edit of ours at all; nil where it does.
	barred error
	// maxBytes bounds a request.
	maxBytes int
}

// maxIdleTurns is how many turns without any progress end a round: what is
// left then waits for what only time brings.
const maxIdleTurns = 3

func (r *round) run(ctx context.Context) error {
	if err := r.settle(ctx); err != nil && !r.mayOnlyRead(err) {
		return err
	}
	for idle := 0; ; {
		if err := r.pull(ctx); err != nil {
			return err
		}
		if idle == maxIdleTurns || r.barred != nil {
			break
		}
		sent, applied, err := r.push(ctx)
		if r.mayOnlyRead(err) {
			break
		}
		if api.CodeOf(err) == api.CodePayloadTooLarge {
			// What was too much at once is in flight, and goes in parts.
			if err := r.settle(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if sent == 0 {
			break
		}
		if idle++; applied > 0 {
			idle = 0
		}
	}
	if err := r.verify(ctx); err != nil {
		return err
	}
	return r.barred
}

// mayOnlyRead reports whether a push was refused as a whole since the account
// may only read. That is no reason to read no more: what was sent before that
// and not answered stays in flight, and is asked for when it may write again.
func (r *round) mayOnlyRead(err error) bool {
	if api.CodeOf(err) == api.CodeForbidden {
		r.barred = err
		return true
	}
	return false
}

// verify compares the digests of a replica that is at the head. A difference
// is a defect somewhere: a full compare mends it, and the report and a note say so.
func (r *round) verify(ctx context.Context) error {
	differs := false
	err := r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
		at := tx.Replica()
		differs = at.Rev == r.head.Rev && (at.Digest.String() != r.head.Digest || at.Live != r.head.Count)
		if differs && !r.compared {
			return nil
		}
		if at.SyncedAt = tx.Now(); r.barred == nil {
			at.State, at.Reason = localstore.StateLive, ""
		}
		if differs {
			return nil
		}
		return r.tellDefect(tx)
	})
	if err != nil || !differs {
		return err
	}
	if r.compared {
		return fmt.Errorf("the copy of %d rows still differs from the server's %d after a full compare", r.report.Compared.Rows, r.head.Count)
	}
	if err := r.beginCompare(ctx, nil); err != nil {
		return err
	}
	return r.run(ctx)
}

// tellDefect tells of a defect that is mended by now, in this round or one before it.
func (r *round) tellDefect(tx *localstore.SyncTx) error {
	found, err := suspected(tx)
	if found == nil || err != nil {
		return err
	}
	found.Defect = true
	r.report.Compared = found
	if err := tx.AddNote("", "", NoteDefect, found.String()); err != nil {
		return err
	}
	return tx.KeepDefect("")
}
