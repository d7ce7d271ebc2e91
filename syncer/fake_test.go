package syncer_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bm/server/api"
	"bm/server/api/rules"
)

// fakeServer is one workspace of a server, as package syncer needs it to behave.
type fakeServer struct {
	rows                map[string]*fakeRow
	epoch               string
	rev, shared, purged int64
	lineage             map[string]int64 // up to which rev a former epoch is shared
	verdicts            map[string]api.OpResult
	now                 func() time.Time
	refuse              func(op api.Op) *api.EnvelopeError
	page                int // changes a page, to have many pages of few rows
	lastDeletion        int
}

type fakeRow struct {
	api.Change
	deletion int
}

func newFakeServer(now func() time.Time) *fakeServer {
	return &fakeServer{rows: map[string]*fakeRow{}, epoch: "e1", verdicts: map[string]api.OpResult{}, now: now, page: 3}
}

func (s *fakeServer) clone() *fakeServer {
	c := *s
	c.rows = map[string]*fakeRow{}
	for id, row := range s.rows {
		copied := *row
		c.rows[id] = &copied
	}
	c.verdicts = map[string]api.OpResult{}
	for id, verdict := range s.verdicts {
		c.verdicts[id] = verdict
	}
	return &c
}

func (s *fakeServer) head() api.Head {
	var d api.Digest
	var n int64
	for id, row := range s.rows {
		if !row.Deleted {
			d, n = d.Add(id, row.Rev), n+1
		}
	}
	return api.Head{Epoch: s.epoch, Rev: s.rev, Digest: d.String(), Count: n, SharedRev: s.shared, PurgedRev: s.purged}
}

// purge forgets every tombstone.
func (s *fakeServer) purge() {
	for id, row := range s.rows {
		if row.Deleted {
			delete(s.rows, id)
		}
	}
	s.purged = s.rev
}

// restored is what is left when an older copy of the server is put back.
func (s *fakeServer) restored(newest *fakeServer, epoch string) *fakeServer {
	c := s.clone()
	c.epoch, c.shared = epoch, s.rev
	c.lineage = map[string]int64{s.epoch: s.rev}
	for former, shared := range s.lineage {
		c.lineage[former] = min(shared, s.rev)
		c.shared = min(c.shared, shared)
	}
	// Like the real one it counts on from anywhere beyond the backup, which may be
	// less than what was lost.
	jump := sha256.Sum256(fmt.Append(nil, epoch, s.rev, newest.rev))
	c.rev = s.rev + 1000*(1+int64(binary.BigEndian.Uint32(jump[:])))
	return c
}

func cursorOf(epoch, kind string, at, end int64) *string {
	text := fmt.Sprintf("%s %s %d %d", epoch, kind, at, end)
	return &text
}

func (s *fakeServer) Changes(_ context.Context, _, cursor string, _ int, _ time.Duration) (api.ChangesPage, error) {
	kind, at, end := "boot", int64(0), s.rev
	if cursor != "" {
		parts := strings.Split(cursor, " ")
		at, _ = strconv.ParseInt(parts[2], 10, 64)
		end, _ = strconv.ParseInt(parts[3], 10, 64)
		kind = parts[1]
		if parts[0] != s.epoch || at > s.rev || kind == "feed" && at < s.purged {
			return api.ChangesPage{}, s.reset(parts[0])
		}
	}
	if kind == "feed" {
		end = s.rev
	}
	var found []api.Change
	for _, row := range s.rows {
		if row.Rev > at && row.Rev <= end && (kind == "feed" || !row.Deleted) {
			found = append(found, row.wire())
		}
	}
	slices.SortFunc(found, func(a, b api.Change) int { return int(a.Rev - b.Rev) })
	page := api.ChangesPage{Data: found, Head: s.head()}
	if len(found) > s.page {
		page.Data, page.Pagination.HasMore = found[:s.page], true
		page.Pagination.NextCursor = cursorOf(s.epoch, kind, found[s.page-1].Rev, end)
		return page, nil
	}
	page.Pagination.NextCursor = cursorOf(s.epoch, "feed", end, 0)
	return page, nil
}

// reset is the refusal of a cursor, with the rev that its epoch shares with
// this one.
func (s *fakeServer) reset(epoch string) error {
	err := api.Errorf(api.CodeResetRequired, "begin anew")
	if shared, ok := s.lineage[epoch]; ok {
		err.Details = []api.FieldError{{Field: "sharedRev", Message: strconv.FormatInt(shared, 10)}}
	}
	return err
}

// wire is a row as it travels: of a deleted one only the fact.
func (r *fakeRow) wire() api.Change {
	c := api.Change{Type: r.Type, ID: r.ID, Rev: r.Rev, Deleted: r.Deleted}
	if !r.Deleted {
		if r.Folder != nil {
			f := *r.Folder
			c.Folder = &f
		} else {
			b := *r.Bookmark
			c.Bookmark = &b
		}
	}
	return c
}

func (r *fakeRow) parent() string {
	if r.Folder != nil {
		return r.Folder.ParentID
	}
	return r.Bookmark.FolderID
}

func (s *fakeServer) touch(r *fakeRow) {
	s.rev++
	r.Rev = s.rev
	at := api.At(s.now())
	if r.Folder != nil {
		r.Folder.UpdatedAt = at
	} else {
		r.Bookmark.UpdatedAt = at
	}
}

func (s *fakeServer) Push(_ context.Context, _ string, push api.PushRequest) func() (api.PushResponse, error) {
	return answer(s.judge(push))
}

func (s *fakeServer) judge(push api.PushRequest) (api.PushResponse, error) {
	parts := strings.Split(push.Cursor, " ")
	at, _ := strconv.ParseInt(parts[2], 10, 64)
	if push.Epoch != s.epoch || at < s.purged || at > s.rev {
		return api.PushResponse{}, s.reset(push.Epoch)
	}
	if len(push.Ops) > api.MaxChangesOps {
		return api.PushResponse{}, errors.New("too many ops")
	}
	var response api.PushResponse
	for _, op := range push.Ops {
		verdict, ok := s.verdicts[op.OpID]
		if !ok {
			verdict = s.apply(op, at)
			verdict.OpID = op.OpID
			s.verdicts[op.OpID] = verdict
		}
		response.Results = append(response.Results, verdict)
	}
	response.Head = s.head()
	return response, nil
}

func (s *fakeServer) apply(op api.Op, cursor int64) api.OpResult {
	if s.refuse != nil {
		if failure := s.refuse(op); failure != nil {
			return api.OpResult{Status: api.OpRejected, Error: failure}
		}
	}
	row := s.rows[op.ID]
	stale := func() api.OpResult {
		result := api.OpResult{Status: api.OpStale}
		if row != nil {
			change := row.wire()
			result.Entity, result.Rev = &change, row.Rev
		}
		return result
	}
	if row == nil && op.Action != api.OpCreate {
		return api.OpResult{Status: api.OpRejected, Error: &api.EnvelopeError{Code: api.CodeNotFound}}
	}
	if op.Action == api.OpCreate && row != nil || op.Action != api.OpCreate && row.Rev != op.BaseRev {
		return stale()
	}
	switch op.Action {
	case api.OpDelete:
		if row.Deleted || op.Type == api.TypeFolder && s.newerBelow(op.ID, cursor) {
			return stale()
		}
		s.lastDeletion++
		s.hide(row, s.lastDeletion)
	case api.OpCreate, api.OpUpdate, api.OpRestore:
		if (op.Action == api.OpUpdate) == (row != nil && row.Deleted) && row != nil {
			return stale()
		}
		next := &fakeRow{Change: api.Change{Type: op.Type, ID: op.ID}}
		if row != nil {
			copied := *row
			next = &copied
		}
		if err := next.set(op); err != nil {
			return api.OpResult{Status: api.OpRejected, Error: &api.EnvelopeError{Code: api.CodeValidation, Message: err.Error()}}
		}
		if !s.living(next.parent()) || op.Type == api.TypeFolder && s.within(next.parent(), op.ID) {
			return stale()
		}
		taken := next.deletion
		next.Deleted, next.deletion = false, 0
		s.rows[op.ID] = next
		row = next
		s.touch(next)
		if op.Action == api.OpRestore && op.Type == api.TypeFolder {
			s.showBelow(op.ID, taken)
		}
	}
	change := row.wire()
	return api.OpResult{Status: api.OpApplied, Rev: row.Rev, Entity: &change}
}

func (s *fakeServer) living(id string) bool {
	return id == "" || s.rows[id] != nil && !s.rows[id].Deleted && s.rows[id].Type == api.TypeFolder
}

// within reports whether id is the folder top or below it.
func (s *fakeServer) within(id, top string) bool {
	for id != "" {
		if id == top {
			return true
		}
		row := s.rows[id]
		if row == nil {
			return false
		}
		id = row.parent()
	}
	return false
}

func (s *fakeServer) sorted() []*fakeRow {
	all := make([]*fakeRow, 0, len(s.rows))
	for _, row := range s.rows {
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b *fakeRow) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (s *fakeServer) newerBelow(id string, cursor int64) bool {
	for _, row := range s.rows {
		if row.ID != id && !row.Deleted && row.Rev > cursor && s.within(row.parent(), id) {
			return true
		}
	}
	return false
}

func (s *fakeServer) hide(row *fakeRow, deletion int) {
	for _, other := range s.sorted() {
		if !other.Deleted && (other == row || s.within(other.parent(), row.ID)) {
			other.Deleted, other.deletion = true, deletion
			s.touch(other)
		}
	}
}

func (s *fakeServer) showBelow(id string, deletion int) {
	for again := deletion != 0; again; {
		again = false
		for _, row := range s.sorted() {
			if row.Deleted && row.deletion == deletion && s.within(row.parent(), id) && s.living(row.parent()) {
				row.Deleted, row.deletion, again = false, 0, true
				s.touch(row)
			}
		}
	}
}

// set writes the fields of an op.
func (r *fakeRow) set(op api.Op) error {
	if op.Type == api.TypeFolder {
		var in api.FolderInput
		if err := json.Unmarshal(op.Set, &in); err != nil {
			return err
		}
		rules.CutFolder(&in)
		f := api.Folder{ID: op.ID}
		if r.Folder != nil {
			f = *r.Folder
		}
		f.Name, f.Description, f.ParentID = in.Name.Or(f.Name), in.Description.Or(f.Description), in.ParentID.Or(f.ParentID)
		f.SortOrder, f.Extra, f.CreatedAt = in.SortOrder.Or(f.SortOrder), in.Extra.Or(f.Extra), in.CreatedAt.Or(f.CreatedAt)
		r.Folder = &f
		return nil
	}
	var in api.BookmarkInput
	if err := json.Unmarshal(op.Set, &in); err != nil {
		return err
	}
	if _, bad := rules.CutBookmark(&in); bad != nil {
		return errors.New(bad.Message)
	}
	b := api.Bookmark{ID: op.ID, LinkStatus: api.LinkUnknown, Archive: api.Archive{Status: api.ArchiveNone}}
	if r.Bookmark != nil {
		b = *r.Bookmark
	}
	b.URL, b.Title, b.Description = in.URL.Or(b.URL), in.Title.Or(b.Title), in.Description.Or(b.Description)
	b.Tags, b.FolderID, b.SortOrder = in.Tags.Or(b.Tags), in.FolderID.Or(b.FolderID), in.SortOrder.Or(b.SortOrder)
	b.Extra, b.CreatedAt = in.Extra.Or(b.Extra), in.CreatedAt.Or(b.CreatedAt)
	b.SnapshotEnabled = in.SnapshotEnabled.Or(b.SnapshotEnabled)
	b.ReaderExcerpt, b.VideoEmbedURL = in.ReaderExcerpt.Or(b.ReaderExcerpt), in.VideoEmbedURL.Or(b.VideoEmbedURL)
	r.Bookmark = &b
	return nil
}
