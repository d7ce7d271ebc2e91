package changes

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/events"
	"bm/server/op"
	"bm/server/sqldb"
	"bm/server/tree"
)

// maxPageSize bounds a page of the feed.
const maxPageSize = 4 << 20

// Service serves the feed and takes edits.
type Service struct {
	db        *sqldb.DB
	tree      *tree.Tree
	hub       *events.Hub
	now       func() time.Time
	cursorKey []byte
}

// New makes the service. cursorKey seals cursors.
func New(db *sqldb.DB, t *tree.Tree, hub *events.Hub, now func() time.Time, cursorKey []byte) *Service {
	return &Service{db: db, tree: t, hub: hub, now: now, cursorKey: cursorKey}
}

// Page reads a page of a workspace's feed from a cursor on; "" begins with a
// bootstrap. empty says that there was nothing.
func (s *Service) Page(ctx context.Context, scope access.Scope, from string, limit int) (page op.Encoded[api.ChangesPage], empty bool, err error) {
	err = s.db.Read(ctx, func(tx *sqldb.Tx) error {
		head, err := s.tree.Head(ctx, tx, scope)
		if err != nil {
			return err
		}
		at, err := s.place(ctx, tx, scope, from, &head)
		if err != nil {
			return err
		}
		feed := tree.Feed{After: at.at, Upto: head.Rev, Limit: limit, Size: maxPageSize - 1024}
		if at.bootstrap() {
			feed.Upto, feed.Live = at.upto, true
		}
		rows, err := s.tree.Changes(ctx, tx, scope, feed)
		if err != nil {
			return err
		}
		next := cursor{epoch: head.Epoch, at: feed.Upto}
		if rows.More {
			next.at, next.upto = rows.Last, at.upto
		}
		text := next.encode(s.cursorKey, scope.WorkspaceID)
		pagination := api.Pagination{NextCursor: &text, HasMore: rows.More}
		dst := make([]byte, 0, len(rows.JSON)+512)
		dst = append(append(append(dst, `{"data":[`...), rows.JSON...), `],"pagination":`...)
		dst = append(pagination.AppendJSON(dst), `,"head":`...)
		page.JSON = append(head.AppendJSON(dst), '}')
		empty = rows.Count == 0
		return nil
	})
	return page, empty, api.Wrap("read the feed", err)
}

// place is where a cursor goes on, if it can.
func (s *Service) place(ctx context.Context, tx *sqldb.Tx, scope access.Scope, from string, head *api.Head) (cursor, error) {
	if from == "" {
		// A workspace without any change yet has nothing to begin with.
		return cursor{epoch: head.Epoch, upto: head.Rev}, nil
	}
	at, err := parseCursor(s.cursorKey, scope.WorkspaceID, from, "query.cursor")
	if err != nil {
		return at, err
	}
	return at, s.canGoOn(ctx, tx, scope, at, head)
}

// canGoOn refuses a cursor that the feed can no longer continue.
func (s *Service) canGoOn(ctx context.Context, tx *sqldb.Tx, scope access.Scope, at cursor, head *api.Head) error {
	switch {
	case at.epoch != head.Epoch:
		reset := api.Errorf(api.CodeResetRequired, "the server was restored from a backup: begin anew without a cursor")
		shared, known, err := s.tree.SharedRev(ctx, tx, scope, at.epoch)
		if err != nil {
			return err
		}
		if known {
			// Up to here the replica's history and the server's are one.
			reset.Details = []api.FieldError{{Field: "sharedRev", Message: strconv.FormatInt(shared, 10)}}
		}
		return reset
	case max(at.at, at.upto) > head.Rev:
		return api.Errorf(api.CodeResetRequired, "the cursor is ahead of the workspace: begin anew without a cursor")
	case at.bootstrap() && at.upto < head.PurgedRev, !at.bootstrap() && at.at < head.PurgedRev:
		return api.Errorf(api.CodeResetRequired, "what was deleted since the cursor is no longer known: begin anew without a cursor")
	}
	return nil
}

// Wait is [Service.Page], but where there is nothing it holds the request
// until there is, for so long. still says whether the caller still may.
func (s *Service) Wait(ctx context.Context, scope access.Scope, from string, limit int, hold time.Duration, still func(context.Context) error) (op.Encoded[api.ChangesPage], error) {
	if hold == 0 {
		page, _, err := s.Page(ctx, scope, from, limit)
		return page, err
	}
	subscription, err := s.hub.Subscribe(scope.TenantID) // before the first look, so that nothing is missed
	if err != nil {
		return op.Encoded[api.ChangesPage]{}, err
	}
	defer subscription.Cancel()
	timer := time.NewTimer(hold)
	defer timer.Stop()
	for {
		page, empty, err := s.Page(ctx, scope, from, limit)
		if err != nil || !empty {
			return page, err
		}
		changed, err := heard(ctx, subscription, scope.WorkspaceID, timer.C)
		if err != nil || !changed {
			return page, err
		}
		if err := still(ctx); err != nil {
			return page, err
		}
	}
}

// heard waits for a change of a workspace: false where the time is over, or
// the server stops and the client is to ask its successor.
func heard(ctx context.Context, subscription *events.Subscription, workspaceID string, over <-chan time.Time) (bool, error) {
	for {
		select {
		case <-subscription.Ready():
			taken := subscription.Take()
			if len(taken) == 0 { // woken without a reason: look
				return true, nil
			}
			for _, event := range taken {
				if event.WorkspaceID == workspaceID {
					return true, nil
				}
			}
		case <-over:
			return false, nil
		case <-subscription.Done():
			return false, nil
		case <-ctx.Done():
			return false, fmt.Errorf("wait for changes: %w", ctx.Err())
		}
	}
}
