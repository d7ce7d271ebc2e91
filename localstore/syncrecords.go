package localstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"bm/server/api"
)

// Flight is an op that was sent, or is about to be.
type Flight struct {
	Seq    int64 // set by [SyncTx.Launch]
	Epoch  string
	Cursor string // that it was decided on
	Op     api.Op
	Sent   Sent
}

// Sent is a row as it was sent.
type Sent struct {
	Fields
	Deleted bool `json:"deleted,omitempty"`
}

// Launch keeps ops that are about to be sent.
func (t *SyncTx) Launch(flights []Flight) error {
	for i := range flights {
		f := &flights[i]
		err := t.tx.row(`INSERT INTO in_flight (replica, type, id, epoch, cursor, op, sent) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
			t.replica.N, string(f.Op.Type), f.Op.ID, f.Epoch, f.Cursor, string(f.Op.AppendJSON(nil)), encode(f.Sent)).Scan(&f.Seq)
		if err != nil {
			return fmt.Errorf("keep what is being sent: %w", err)
		}
	}
	return nil
}

// InFlight are the ops that were sent and not answered, in the order sent.
func (t *SyncTx) InFlight() ([]Flight, error) {
	var all []Flight
	err := t.tx.each(`SELECT seq, epoch, cursor, op, sent FROM in_flight WHERE replica = ? ORDER BY seq`, []any{t.replica.N},
		func(row scanner) error {
			var f Flight
			var op, sent string
			if err := row.Scan(&f.Seq, &f.Epoch, &f.Cursor, &op, &sent); err != nil {
				return err
			}
			if err := decode(op, &f.Op); err != nil {
				return err
			}
			all = append(all, f)
			return decode(sent, &all[len(all)-1].Sent)
		})
	if err != nil {
		return nil, fmt.Errorf("read what was sent: %w", err)
	}
	return all, nil
}

// Land forgets ops whose verdicts are known.
func (t *SyncTx) Land(flights []Flight) error {
	seqs := make([]int64, len(flights))
	for i := range flights {
		seqs[i] = flights[i].Seq
	}
	if err := t.tx.run(`DELETE FROM in_flight WHERE seq IN (SELECT value FROM json_each(?))`, encode(seqs)); err != nil {
		return fmt.Errorf("forget what was sent: %w", err)
	}
	return nil
}

// Conflict is a local value that lost against the server's.
type Conflict struct {
	N       int64          `json:"n"`
	Replica int64          `json:"-"`
	Type    api.EntityType `json:"type"`
	ID      string         `json:"id"`
	// Field is url, title, description, folder, snapshotEnabled, createdAt or
	// extra.NAME.
	Field  string          `json:"field"`
	Mine   json.RawMessage `json:"mine"`
	Theirs json.RawMessage `json:"theirs"`
	At     api.Time        `json:"at"`
}

// AddConflict keeps a local value that lost, unless the same one is kept
// already.
func (t *SyncTx) AddConflict(kind api.EntityType, id, field string, mine, theirs any) error {
	err := t.tx.run(`INSERT INTO conflict (replica, type, id, field, mine, theirs, at)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS
		(SELECT 1 FROM conflict WHERE replica = ?1 AND id = ?3 AND field = ?4 AND mine = ?5)`,
		t.replica.N, string(kind), id, field, encode(mine), encode(theirs), t.at.Micros())
	if err != nil {
		return fmt.Errorf("keep a conflict: %w", err)
	}
	return nil
}

// MoveConflicts gives the conflicts of one row to another that took its place.
func (t *SyncTx) MoveConflicts(from, to string) error {
	if err := t.tx.run(`UPDATE conflict SET id = ? WHERE replica = ? AND id = ?`, to, t.replica.N, from); err != nil {
		return fmt.Errorf("keep a conflict: %w", err)
	}
	return nil
}

// Note is something that a merge did and a user may want to know.
type Note struct {
	Replica int64          `json:"-"`
	Type    api.EntityType `json:"type"`
	ID      string         `json:"id"`
	Kind    string         `json:"kind"`
	Message string         `json:"message"`
	At      api.Time       `json:"at"`
}

// keptNotes is how many notes a replica keeps.
const keptNotes = 1000

// AddNote keeps a note.
func (t *SyncTx) AddNote(kind api.EntityType, id, what, message string) error {
	var n int64
	err := t.tx.row(`INSERT INTO note (replica, type, id, kind, message, at) VALUES (?, ?, ?, ?, ?, ?) RETURNING n`,
		t.replica.N, string(kind), id, what, message, t.at.Micros()).Scan(&n)
	if err == nil && n%keptNotes == 0 {
		err = t.tx.run(`DELETE FROM note WHERE replica = ?1 AND n <= (SELECT n FROM note WHERE replica = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2)`,
			t.replica.N, keptNotes)
	}
	if err != nil {
		return fmt.Errorf("keep a note: %w", err)
	}
	return nil
}

// defectSetting begins the name of the setting that holds what [SyncTx.KeepDefect]
// keeps; the number of the replica ends it.
const defectSetting = "defect/"

// KeepDefect keeps what is known of a defect until it is mended and told; "" forgets
// it.
func (t *SyncTx) KeepDefect(known string) error {
	statement, args := `INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)`, []any{defectSetting + strconv.FormatInt(t.replica.N, 10), known}
	if known == "" {
		statement, args = `DELETE FROM setting WHERE name = ?`, args[:1]
	}
	if err := t.tx.run(statement, args...); err != nil {
		return fmt.Errorf("keep what is known of a defect: %w", err)
	}
	return nil
}

// Defect is what KeepDefect keeps; "" where there is none.
func (t *SyncTx) Defect() (known string, err error) {
	err = t.tx.row(`SELECT value FROM setting WHERE name = ?`, defectSetting+strconv.FormatInt(t.replica.N, 10)).Scan(&known)
	if err != nil && !isNoRows(err) {
		return "", fmt.Errorf("read what is known of a defect: %w", err)
	}
	return known, nil
}

// Parked is an edit that the server refused for good.
type Parked struct {
	Replica int64          `json:"-"`
	Type    api.EntityType `json:"type"`
	ID      string         `json:"id"`
	Action  api.OpAction   `json:"action"`
	Code    api.Code       `json:"code"`
	Message string         `json:"message"`
	Sent    Sent           `json:"-"`
	At      api.Time       `json:"at"`
}

// Park keeps an op that was refused. The row keeps its edit; it is sent again
// when it changed, or when [Store.Unpark] says so.
func (t *SyncTx) Park(p Parked) error {
	err := t.tx.run(`INSERT OR REPLACE INTO parked (replica, type, id, action, code, message, sent, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		t.replica.N, string(p.Type), p.ID, string(p.Action), string(p.Code), p.Message, encode(p.Sent), t.at.Micros())
	if err != nil {
		return fmt.Errorf("park an edit: %w", err)
	}
	return nil
}

// Unpark forgets that an op was refused.
func (t *SyncTx) Unpark(id string) error {
	return t.tx.unpark(t.replica.N, id)
}

func (t *tx) unpark(replica int64, id string) error {
	if err := t.run(`DELETE FROM parked WHERE replica = ? AND id = ?`, replica, id); err != nil {
		return fmt.Errorf("unpark an edit: %w", err)
	}
	return nil
}

// parkedUnsent says of a row p of parked whether its edit is still one: it may
// have been taken back since, or overtaken.
const parkedUnsent = `(EXISTS (SELECT 1 FROM bookmark b LEFT JOIN bookmark_base x ON x.n = b.n WHERE p.type = 'bookmark' AND b.replica = p.replica AND b.id = p.id
		AND CASE WHEN x.n IS NULL THEN b.rev = 0 AND b.deleted_at = 0 ELSE x.deleted = 0 OR b.deleted_at = 0 END)
	OR EXISTS (SELECT 1 FROM folder f LEFT JOIN folder_base x ON x.n = f.n WHERE p.type = 'folder' AND f.replica = p.replica AND f.id = p.id
		AND CASE WHEN x.n IS NULL THEN f.rev = 0 AND f.deleted_at = 0 ELSE x.deleted = 0 OR f.deleted_at = 0 END))`

// DropParked forgets refusals of edits that are none any more.
func (t *SyncTx) DropParked() error {
	if err := t.tx.run(`DELETE FROM parked AS p WHERE p.replica = ? AND NOT `+parkedUnsent, t.replica.N); err != nil {
		return fmt.Errorf("unpark what was taken back: %w", err)
	}
	return nil
}

// Parked are the edits that the server refused, by id.
func (t *SyncTx) Parked() (map[string]Parked, error) {
	all, err := t.tx.parked(t.replica.N)
	byID := make(map[string]Parked, len(all))
	for _, p := range all {
		byID[p.ID] = p
	}
	return byID, err
}

func (t *tx) parked(replica int64) ([]Parked, error) {
	var all []Parked
	err := t.each(`SELECT replica, type, id, action, code, message, sent, at FROM parked AS p WHERE replica = ? AND `+parkedUnsent+` ORDER BY n`, []any{replica},
		func(row scanner) error {
			var p Parked
			var sent string
			var at int64
			if err := row.Scan(&p.Replica, &p.Type, &p.ID, &p.Action, &p.Code, &p.Message, &sent, &at); err != nil {
				return err
			}
			p.At = api.FromMicros(at)
			all = append(all, p)
			return decode(sent, &all[len(all)-1].Sent)
		})
	if err != nil {
		return nil, fmt.Errorf("read parked edits: %w", err)
	}
	return all, nil
}

// Parked are the edits that the server refused for good, oldest first.
func (s *Store) Parked(ctx context.Context, replica int64) ([]Parked, error) {
	var all []Parked
	err := s.read(ctx, func(tx *tx) (err error) {
		all, err = tx.parked(replica)
		return err
	})
	return all, err
}

// Unpark lets a refused edit be sent again as it is.
func (s *Store) Unpark(ctx context.Context, replica int64, id string) error {
	return s.write(ctx, durable, func(tx *tx) error {
		n, err := tx.changed(`DELETE FROM parked WHERE replica = ? AND id = ?`, replica, id)
		if err != nil {
			return fmt.Errorf("unpark an edit: %w", err)
		}
		if n == 0 {
			return api.Errorf(api.CodeNotFound, "no edit of %s is parked", id)
		}
		return nil
	})
}

// Notes are what merges did, newest first, at most limit.
func (s *Store) Notes(ctx context.Context, replica int64, limit int) ([]Note, error) {
	var all []Note
	err := s.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT replica, type, id, kind, message, at FROM note WHERE replica = ? ORDER BY n DESC LIMIT (0 + ?)`, []any{replica, limit},
			func(row scanner) error {
				var n Note
				var at int64
				err := row.Scan(&n.Replica, &n.Type, &n.ID, &n.Kind, &n.Message, &at)
				n.At = api.FromMicros(at)
				all = append(all, n)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return all, nil
}
