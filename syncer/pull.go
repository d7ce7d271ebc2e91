package syncer

import (
	"context"
	"fmt"
	"time"

	"bm/localstore"
	"bm/server/api"
)

const (
	// pageSize is how many changes a page brings.
	pageSize = 2000
	// chunk is how many rows are looked at in one transaction.
	chunk = 500
	// gap is what bulk work leaves between two transactions.
	gap = 2 * time.Millisecond
)

// pull brings everything up to the head, and then, and only then, mends the
// tree: between two pages it may well be broken.
func (r *round) pull(ctx context.Context) error {
	for {
		at, err := r.store.Replica(ctx, r.replica)
		if err != nil {
			return err
		}
		if at.SharedRev != nil {
			if err := r.identify(ctx, at); err != nil {
				return err
			}
			if err := r.askAgain(ctx); err != nil {
				return err
			}
			if err := r.compare(ctx); err != nil {
				return err
			}
			continue
		}
		// A bootstrap ends where the head was at its start: what came in the
		// meantime is pulled by the next turn of this loop.
		whole := at.Whole != ""
		if err := r.pages(ctx, at.Cursor, func(page *api.ChangesPage) error { return r.applyPage(ctx, page) }); err != nil {
			return err
		}
		if whole {
			if err := r.mend(ctx); err != nil {
				return err
			}
			return r.finish(ctx)
		}
		err = r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
			tx.Replica().Whole = tx.Replica().Cursor
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// manyPulled is from how many changes on a round leaves something to tidy.
const manyPulled = 5000

// finish does what a large pull leaves behind, once.
func (r *round) finish(ctx context.Context) error {
	if r.finished || r.report.Pulled < manyPulled {
		return nil
	}
	r.finished = true
	return r.store.FinishBulk(ctx)
}

// pages hands each page from a cursor on to apply, while the next one is being
// fetched.
func (r *round) pages(ctx context.Context, cursor string, apply func(*api.ChangesPage) error) error {
	ctx, cancel := context.WithCancel(ctx)
	type fetched struct {
		page api.ChangesPage
		err  error
	}
	fetch := func(cursor string) <-chan fetched {
		answer := make(chan fetched, 1)
		go func() {
			page, err := r.remote.Changes(ctx, r.workspace, cursor, pageSize, 0)
			answer <- fetched{page, err}
		}()
		return answer
	}
	behind := map[string]bool{cursor: true}
	coming := fetch(cursor)
	defer func() {
		cancel()
		if coming != nil {
			<-coming // nothing of this round outlives it, however it ends
		}
	}()
	for coming != nil {
		got := <-coming
		coming = nil
		if got.err != nil {
			return remoteFailure("pull", got.err)
		}
		if got.page.Pagination.NextCursor == nil {
			return fmt.Errorf("pull: %w", api.Errorf(api.CodeInternal, "the server's page says not where the next begins"))
		}
		if got.page.Pagination.HasMore {
			next := *got.page.Pagination.NextCursor
			if behind[next] {
				return fmt.Errorf("pull: %w", api.Errorf(api.CodeInternal, "the server's pages lead back to one that was there already"))
			}
			behind[next] = true
			coming = fetch(next)
		}
		if err := apply(&got.page); err != nil {
			return err
		}
	}
	return nil
}

// applyPage merges a page, in steps small enough for an edit beside them not to
// notice: as soon as one waits, the transaction ends. The cursor moves with the
// last step; applying a page twice changes nothing.
func (r *round) applyPage(ctx context.Context, page *api.ChangesPage) error {
	rows := page.Data
	for more := true; more; more = len(rows) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		wanted := false
		err := r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
			at := tx.Replica()
			if at.Epoch != "" && at.Epoch != page.Head.Epoch {
				return errReset
			}
			for more := true; more; more = len(rows) > 0 && !wanted && ctx.Err() == nil {
				some := rows[:upTo(r.pace.Rows(), rows)]
				if err := r.pace.Time(len(some), func() error { return r.apply(tx, some, page.Head.Rev) }); err != nil {
					return err
				}
				rows = rows[len(some):]
				wanted = tx.Wanted()
			}
			at.Epoch = page.Head.Epoch
			if len(rows) == 0 {
				r.arrive(at, page)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("apply a page: %w", err)
		}
		if wanted {
			if err := r.pause(ctx, gap); err != nil {
				return err
			}
		}
	}
	r.report.Pulled += len(page.Data)
	return nil
}

// upTo is how many of some changes one step takes, if no more than most.
func upTo(most int, changes []api.Change) int {
	text := 0
	for n := range min(most, len(changes)) {
		if b := changes[n].Bookmark; b != nil {
			text += len(b.Title) + len(b.URL) + len(b.Description)
		}
		if text > localstore.PaceText {
			return max(n, 1)
		}
	}
	return min(most, len(changes))
}

// arrive moves the cursor behind a page.
func (r *round) arrive(at *localstore.Replica, page *api.ChangesPage) {
	at.Cursor = *page.Pagination.NextCursor
	at.PurgedRev = page.Head.PurgedRev
	r.head = page.Head
	if at.Whole != "" && !page.Pagination.HasMore {
		at.Whole, at.Rev = at.Cursor, page.Head.Rev
	}
}

// apply merges changes into the replica. What was deleted keeps its rev when the
// server is restored and loses that: one beyond its head is of no history that it has,
// and is no later than anything.
func (r *round) apply(tx *localstore.SyncTx, changes []api.Change, head int64) error {
	return takeChanges(tx, changes, func(row *localstore.Row, change *api.Change, e localstore.Entity) error {
		if change.Rev <= row.Rev && row.Rev <= head {
			return nil // the answer to our own push brought it
		}
		return r.merge(tx, row, baseVersion(row), remoteOf(change, e))
	})
}

// key names a row: that the server gives no id twice is for the server to keep.
type key struct {
	kind api.EntityType
	id   string
}

// takeChanges adds the rows that the replica knows nothing of in bulk, and hands
// the others to merge one by one.
func takeChanges(tx *localstore.SyncTx, changes []api.Change, merge func(*localstore.Row, *api.Change, localstore.Entity) error) error {
	known, err := knownOf(tx, changes)
	if err != nil {
		return err
	}
	fresh := make([]localstore.Entity, 0, len(changes))
	coming := map[key]bool{}
	for i := range changes {
		change := &changes[i]
		e, err := localstore.EntityOf(change)
		if err != nil {
			return fmt.Errorf("%w", api.Errorf(api.CodeInternal, "the server sent what cannot be read: %v", err))
		}
		at := key{change.Type, change.ID}
		row := known[at]
		if row == nil && coming[at] { // twice in one page
			if err := tx.Insert(fresh); err != nil {
				return err
			}
			fresh = fresh[:0]
			if row, err = tx.Find(change.Type, change.ID); err != nil {
				return err
			}
			known[at] = row
		}
		if row == nil {
			if !change.Deleted {
				coming[at] = true
				fresh = append(fresh, e)
			}
			continue
		}
		if err := merge(row, change, e); err != nil {
			return err
		}
	}
	return tx.Insert(fresh)
}

// knownOf are the rows that the replica has of those that the changes are about.
func knownOf(tx *localstore.SyncTx, changes []api.Change) (map[key]*localstore.Row, error) {
	ids := map[api.EntityType][]string{}
	for i := range changes {
		ids[changes[i].Type] = append(ids[changes[i].Type], changes[i].ID)
	}
	return find(tx, ids)
}

// find are the rows with some ids.
func find(tx *localstore.SyncTx, ids map[api.EntityType][]string) (map[key]*localstore.Row, error) {
	rows := map[key]*localstore.Row{}
	for _, kind := range []api.EntityType{api.TypeBookmark, api.TypeFolder} {
		some, err := tx.FindAll(kind, ids[kind])
		if err != nil {
			return nil, err
		}
		for id, row := range some {
			rows[key{kind, id}] = row
		}
	}
	return rows, nil
}

// remote is what the server has of a row: Version for merging, Entity for the
// rest.
type remote struct {
	Version
	entity localstore.Entity
}

func remoteOf(change *api.Change, e localstore.Entity) remote {
	return remote{
		Version: Version{Fields: e.Fields, Deleted: change.Deleted, Bare: change.Bookmark == nil && change.Folder == nil},
		entity:  e,
	}
}

// baseVersion is what the server last had of a row; nil for nothing.
func baseVersion(row *localstore.Row) *Version {
	switch {
	case row.Base != nil:
		return &Version{Fields: row.Base.Fields, Deleted: row.Base.Deleted}
	case row.Rev > 0:
		return &Version{Fields: row.Fields, Deleted: row.Deleted()}
	}
	return nil
}

// merge merges what the server has into a row, and keeps what came of it.
func (r *round) merge(tx *localstore.SyncTx, row *localstore.Row, base *Version, there remote) error {
	local := Version{Fields: row.Fields, Deleted: row.Deleted()}
	m := Merge(base, local, there.Version)
	was := row.Entity
	next := row.Entity
	next.Rev = there.entity.Rev
	next.Fields = m.Row.Fields
	if !there.Bare {
		next.System = there.entity.System
	}
	switch {
	case m.Row.Deleted && !was.Deleted():
		next.DeletedAt, next.Deletion = tx.Now(), ""
	case !m.Row.Deleted:
		next.DeletedAt, next.Deletion = api.Time{}, ""
	}
	has := localstore.Base{Fields: there.Fields, Deleted: there.Deleted}
	switch { // with neither, what is in the trash there may be anything: see [localstore.Base.Unknown]
	case there.Bare && base != nil:
		has.Fields = base.Fields
	case there.Bare && m.Row.Deleted:
		has.Fields = row.Fields
	}
	if m.Row.Deleted {
		next.Fields = has.Fields
	}
	if err := tx.Write(row, next, &has); err != nil {
		return err
	}
	for _, c := range m.Clashes {
		r.report.Conflicts++
		if err := tx.AddConflict(row.Type, row.ID, c.Field, c.Mine, c.Theirs); err != nil {
			return err
		}
	}
	if m.Note == "" {
		return nil
	}
	return note(tx, row, m.Note)
}

// note tells of what was decided about a row, by its title or else its URL.
func note(tx *localstore.SyncTx, row *localstore.Row, kind string) error {
	name := row.Title
	if name == "" {
		name = row.URL
	}
	return tx.AddNote(row.Type, row.ID, kind, noteText(kind, name))
}

func noteText(kind, title string) string {
	switch kind {
	case NoteRestored:
		return fmt.Sprintf("%q was deleted elsewhere while it was edited here: the edit brought it back", title)
	case NoteReturned:
		return fmt.Sprintf("%q was edited elsewhere while it was deleted here: it is back", title)
	case NoteRehomed:
		return fmt.Sprintf("the folder of %q was deleted elsewhere: it went to the nearest folder above", title)
	case NoteUnmoved:
		return fmt.Sprintf("moving %q would have put it into itself, as the tree is now: the move was taken back", title)
	case NoteUnited:
		return fmt.Sprintf("%q was made on both sides: they are one now", title)
	case NoteRevived:
		return fmt.Sprintf("%q was deleted here while something in it changed elsewhere: it is back", title)
	}
	return title
}
