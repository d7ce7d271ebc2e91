package changes

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/sqldb"
	"bm/server/tree"
)

// Caller is who pushes.
type Caller struct {
	Can           func(access.Permission) bool
	CorrelationID string // goes into the verdicts
	Minimal       bool   // knows the rows that it makes
}

// Push applies edits in order, in one transaction, each with a verdict of its
// own.
func (s *Service) Push(ctx context.Context, scope access.Scope, caller Caller, in api.PushRequest) (out api.PushResponse, err error) {
	if err := checkOps(in.Ops); err != nil {
		return out, err
	}
	err = s.tree.Write(ctx, scope, func(e *tree.Edit) error {
		head, err := e.Head(ctx)
		if err != nil {
			return err
		}
		began := e.Rev()
		decidedAt, err := s.decidedAt(ctx, e.Tx(), scope, &in, &head)
		if err != nil {
			return err
		}
		p := &push{
			edit: e, caller: caller, load: tree.NewLoad(ctx), decidedAt: decidedAt,
			parents: map[string]error{}, results: make([]api.OpResult, len(in.Ops)), awaited: map[string]bool{},
		}
		if p.kept, err = verdictsOf(ctx, e.Tx(), scope, in.Ops); err != nil {
			return err
		}
		if p.taken, err = takenOf(ctx, e.Tx(), in.Ops); err != nil {
			return err
		}
		if decidedAt < began {
			if p.newcomers, err = newcomersOf(ctx, e.Tx(), scope, in.Ops, decidedAt); err != nil {
				return err
			}
		}
		if err := p.run(ctx, in.Ops); err != nil {
			return err
		}
		if err := p.keep(ctx, s.now().UnixMicro()); err != nil {
			return err
		}
		if out.Head, err = e.Head(ctx); err != nil {
			return err
		}
		out.Results, out.NextCursor = p.results, ""
		if in.Cursor != "" && decidedAt == began && !p.uneven {
			out.NextCursor = cursor{epoch: out.Head.Epoch, at: out.Head.Rev}.encode(s.cursorKey, scope.WorkspaceID)
		}
		return nil
	})
	if errors.Is(err, sqldb.ErrConflict) {
		err = &api.Error{
			Code: api.CodeUnavailable, RetryAfter: time.Second,
			Message: "another request used one of the ids at the same moment: send the ops again",
		}
	}
	return out, api.Wrap("take the edits", err)
}

// checkOps refuses a request whose ops cannot even be told apart.
func checkOps(ops []api.Op) error {
	var problems []api.FieldError
	bad := func(i int, field, message string) {
		problems = append(problems, api.FieldError{Field: fmt.Sprintf("ops[%d].%s", i, field), Message: message})
	}
	for i := range ops {
		if !api.ValidID(ops[i].OpID) {
			bad(i, "opId", "is not a UUID in lower case")
		}
	}
	return api.InvalidBody(problems)
}

// decidedAt is the rev up to which the caller knew the workspace.
func (s *Service) decidedAt(ctx context.Context, tx *sqldb.Tx, scope access.Scope, in *api.PushRequest, head *api.Head) (int64, error) {
	if in.Epoch == "" && in.Cursor == "" {
		return head.Rev, nil
	}
	at := cursor{epoch: in.Epoch, at: head.Rev}
	if in.Cursor != "" {
		var err error
		if at, err = parseCursor(s.cursorKey, scope.WorkspaceID, in.Cursor, "body.cursor"); err != nil {
			return 0, err
		}
		if in.Epoch != "" && in.Epoch != at.epoch {
			return 0, api.Invalid("body.epoch", "is not the cursor's")
		}
	}
	return at.at, s.canGoOn(ctx, tx, scope, at, head)
}

// push is a request's ops on their way.
type push struct {
	edit      *tree.Edit
	caller    Caller
	decidedAt int64
	kept      map[string]verdict
	fresh     []verdict
	// parents is what is known of the folders that ops put something into.
	parents map[string]error
	results []api.OpResult
	load    *tree.Load // what the results hold
	// taken are the ids of the request that any bookmark has.
	taken map[string]bool
	// newcomers are what the caller has not heard of, of what it makes.
	newcomers map[spot]bool
	// uneven is set once an op changed nothing, now at least, or more than its own
	// row.
	uneven bool
	// created are bookmarks that wait to be inserted together; awaited are
	// their ids and those of their ops.
	created []created
	awaited map[string]bool
}

// created is a bookmark that an op makes.
type created struct {
	op  *api.Op
	at  int // the op's place in the request
	row tree.Bookmark
	// known is true where the caller knows the row.
	known bool
}

// run judges the ops in order. Creates of bookmarks that follow each other are
// inserted together: what was made offline is little else.
func (p *push) run(ctx context.Context, ops []api.Op) error {
	for i := range ops {
		op := &ops[i]
		if op.Action != api.OpCreate || op.Type != api.TypeBookmark || p.awaited[op.ID] || p.awaited[op.OpID] {
			if err := p.insert(ctx); err != nil {
				return err
			}
		}
		before := p.edit.Rev()
		waits, err := p.op(ctx, i, op)
		if err != nil {
			return err
		}
		if waits {
			p.awaited[op.ID], p.awaited[op.OpID] = true, true
		} else if p.edit.Rev() != before+1 {
			p.uneven = true
		}
	}
	return p.insert(ctx)
}

// insert stores the bookmarks that wait for it.
func (p *push) insert(ctx context.Context) error {
	if len(p.created) == 0 {
		return nil
	}
	rows := make([]tree.Bookmark, len(p.created))
	for i := range p.created {
		rows[i] = p.created[i].row
	}
	if err := p.edit.InsertBookmarks(ctx, rows); err != nil {
		return err
	}
	for i := range p.created {
		c := &p.created[i]
		if c.known {
			p.settleOp(c.at, c.op, api.OpResult{OpID: c.op.OpID, Status: api.OpApplied, Rev: rows[i].Rev, UpdatedAt: rows[i].UpdatedAt})
			continue
		}
		row := rows[i].Change()
		p.settleOp(c.at, c.op, applied(c.op, row))
		if err := p.load.AddChange(row); err != nil {
			return err
		}
	}
	p.created = p.created[:0]
	clear(p.awaited)
	return nil
}

// verdict is what is kept of an op for 30 days. The entity is not: it is the
// row, as long as that has not changed again.
type verdict struct {
	OpID   string             `json:"-"`
	Hash   string             `json:"h"`
	Type   api.EntityType     `json:"t"`
	ID     string             `json:"i"`
	Status api.OpStatus       `json:"s"`
	Rev    int64              `json:"r,omitempty"`
	Error  *api.EnvelopeError `json:"e,omitempty"`
}

// hashOf stands for an op's content: an opId that comes again with another is
// not the same op.
func hashOf(op *api.Op) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %s %d\n", op.Action, op.Type, op.ID, op.BaseRev)
	sum.Write(op.Set)
	return base64.RawStdEncoding.EncodeToString(sum.Sum(nil)[:12])
}

// op finds the verdict on one op: the one that it got before, or a new one. It
// says whether the op waits for what is inserted together.
func (p *push) op(ctx context.Context, at int, op *api.Op) (waits bool, err error) {
	if before, ok := p.kept[op.OpID]; ok {
		if before.Hash != hashOf(op) {
			p.results[at] = p.rejected(op, api.Errorf(api.CodeConflict, "this opId was used for another op"))
			return false, nil
		}
		if p.results[at], err = p.again(ctx, op, before); err != nil {
			return false, err
		}
		return false, p.load.AddChange(p.results[at].Entity)
	}
	before := len(p.created)
	result, err := p.judge(ctx, op)
	if err != nil {
		return false, err
	}
	if len(p.created) > before {
		p.created[before].at = at
		return true, nil
	}
	p.settleOp(at, op, result)
	return false, p.load.AddChange(result.Entity)
}

// settleOp gives an op its verdict, and keeps it.
func (p *push) settleOp(at int, op *api.Op, result api.OpResult) {
	v := verdict{OpID: op.OpID, Hash: hashOf(op), Type: op.Type, ID: op.ID, Status: result.Status, Rev: result.Rev, Error: result.Error}
	p.kept[op.OpID] = v
	p.fresh = append(p.fresh, v)
	p.results[at] = result
}

// again is the answer to an op that was judged before.
func (p *push) again(ctx context.Context, op *api.Op, before verdict) (api.OpResult, error) {
	result := api.OpResult{OpID: op.OpID, Status: before.Status, Rev: before.Rev, Error: before.Error}
	row, err := p.row(ctx, op)
	if err == nil && row != nil && (before.Status == api.OpStale || before.Status == api.OpApplied && row.Rev == before.Rev) {
		result.Entity = row
	}
	return result, err
}

// row is an op's row as it stands; nil where there is none.
func (p *push) row(ctx context.Context, op *api.Op) (*api.Change, error) {
	var change *api.Change
	var err error
	if op.Type == api.TypeFolder {
		var f tree.Folder
		if f, err = p.edit.Folder(ctx, op.ID); err == nil {
			change = f.Change()
		}
	} else {
		var b tree.Bookmark
		if b, err = p.edit.Bookmark(ctx, op.ID); err == nil {
			change = b.Change()
		}
	}
	if api.CodeOf(err) == api.CodeNotFound {
		return nil, nil //nolint:nilnil // no row is an answer here
	}
	return change, err
}

func (p *push) rejected(op *api.Op, why *api.Error) api.OpResult {
	shown := *why
	shown.CorrelationID = p.caller.CorrelationID
	failure := shown.Envelope().Error
	return api.OpResult{OpID: op.OpID, Status: api.OpRejected, Error: &failure}
}

func stale(op *api.Op, row *api.Change) api.OpResult {
	result := api.OpResult{OpID: op.OpID, Status: api.OpStale, Entity: row}
	if row != nil {
		result.Rev = row.Rev
	}
	return result
}

func applied(op *api.Op, row *api.Change) api.OpResult {
	return api.OpResult{OpID: op.OpID, Status: api.OpApplied, Rev: row.Rev, Entity: row}
}

// verdictsOf are those that ops of this request were given before.
func verdictsOf(ctx context.Context, tx *sqldb.Tx, scope access.Scope, ops []api.Op) (map[string]verdict, error) {
	ids := make([]string, len(ops))
	for i := range ops {
		ids[i] = ops[i].OpID
	}
	list, condition, err := tree.In(tx.Dialect(), "o.op_id", 3, ids)
	if err != nil {
		return nil, err
	}
	kept := map[string]verdict{}
	err = tx.Rows(ctx, `SELECT o.op_id, o.result FROM op_result o JOIN workspace_head h ON h.workspace_id = o.workspace_id
		WHERE o.workspace_id = $1 AND h.tenant_id = $2 AND `+condition, []any{scope.WorkspaceID, scope.TenantID, list}, func(row sqldb.Scanner) error {
		var v verdict
		var text string
		if err := row.Scan(&v.OpID, &text); err != nil {
			return err
		}
		kept[v.OpID] = v
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return fmt.Errorf("read a kept verdict: %w", err)
		}
		kept[v.OpID] = v
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for kept verdicts: %w", err)
	}
	return kept, nil
}

// takenOf are the ids of bookmarks to be made that are some bookmark's already,
// in whatever workspace.
func takenOf(ctx context.Context, tx *sqldb.Tx, ops []api.Op) (map[string]bool, error) {
	var ids []string
	for i := range ops {
		if ops[i].Action == api.OpCreate && ops[i].Type == api.TypeBookmark {
			ids = append(ids, ops[i].ID)
		}
	}
	taken := map[string]bool{}
	if len(ids) == 0 {
		return taken, nil
	}
	list, condition, err := tree.In(tx.Dialect(), "b.id", 1, ids)
	if err != nil {
		return nil, err
	}
	err = tx.Rows(ctx, `SELECT b.id FROM bookmark b WHERE `+condition, []any{list}, func(row sqldb.Scanner) error {
		var id string
		err := row.Scan(&id)
		taken[id] = true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look which ids are taken: %w", err)
	}
	return taken, nil
}

// keep stores the new verdicts in the transaction of their effects.
func (p *push) keep(ctx context.Context, now int64) error {
	if len(p.fresh) == 0 {
		return nil
	}
	rows := make([][2]string, len(p.fresh))
	for i := range p.fresh {
		text, err := json.Marshal(&p.fresh[i])
		if err != nil {
			return fmt.Errorf("keep a verdict: %w", err)
		}
		rows[i] = [2]string{p.fresh[i].OpID, string(text)}
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("keep the verdicts: %w", err)
	}
	text := `INSERT INTO op_result (workspace_id, op_id, created_at, result)
		SELECT $1, json_extract(value, '$[0]'), $2, json_extract(value, '$[1]') FROM json_each($3)`
	if p.edit.Tx().Dialect() == sqldb.Postgres {
		text = `INSERT INTO op_result (workspace_id, op_id, created_at, result)
			SELECT $1, v->>0, $2, v->>1 FROM jsonb_array_elements($3::text::jsonb) AS v`
	}
	if _, err := p.edit.Tx().Exec(ctx, text, p.edit.Scope().WorkspaceID, now, string(list)); err != nil {
		return fmt.Errorf("keep the verdicts: %w", err)
	}
	return nil
}
