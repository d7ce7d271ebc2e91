package localstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"bm/server/api"
	"bm/server/api/rules"
)

// action is what a step of a command did.
type action string

const (
	actionCreate  action = "create"
	actionUpdate  action = "update"
	actionDelete  action = "delete"
	actionRestore action = "restore"
	actionResolve action = "resolve"
)

// step is a part of a command. Of an update it holds the fields that changed,
// before and after, of a decision the conflict that is no more; what else was
// done can be taken back knowing the ids, since deleted rows keep their
// contents.
type step struct {
	entry    int64 // of the journal, and the step's number in it
	seq      int64
	action   action
	kind     api.EntityType
	ids      []string
	before   *patch
	after    *patch
	conflict *Conflict
	left     left
}

// left is what a step that made, deleted or restored rows left behind.
type left struct {
	// Rows are the [fingerprint]s of the rows, in the order of the ids: a row
	// that is not what it was then is not taken back.
	Rows []string `json:"rows,omitempty"`
	// Deletion is what the rows that went with a folder have in common. The
	// folder itself may be back by the time that this is taken back.
	Deletion string `json:"deletion,omitempty"`
	// Count is how many they were, with the folder.
	Count int `json:"count,omitempty"`
	// Back is what came back of them by an undo: the folders top-down, then the
	// bookmarks.
	Back []brought `json:"back,omitempty"`
	// From is where in the trash the rows were that a restoration took out of it,
	// in the order of the ids: the deletion may be taken back after it.
	From []trashed `json:"from,omitempty"`
}

// trashed is where in the trash a row is.
type trashed struct {
	Deletion string `json:"d"`
	Parent   string `json:"p,omitempty"`
}

// brought is a row that came back, with its fingerprint then.
type brought struct {
	Type  api.EntityType `json:"t"`
	ID    string         `json:"i"`
	Print string         `json:"p"`
}

func broughtBack(e *Entity) brought { return brought{e.Type, e.ID, fingerprint(&e.Fields)} }

// fingerprint tells whether somebody edited a row: two that differ in nothing
// that a user would call an edit have the same.
func fingerprint(f *Fields) string {
	b := make([]byte, 0, 512)
	say := func(text string) {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	for _, text := range [...]string{f.Parent, f.Title, f.URL, f.Description} {
		say(text)
	}
	tags := make([]string, len(f.Tags))
	for i, tag := range f.Tags {
		tags[i] = rules.TagKey(tag)
	}
	slices.Sort(tags)
	say(strconv.Itoa(len(tags)))
	for _, tag := range tags {
		say(tag)
	}
	say(strconv.FormatInt(f.CreatedAt.Micros(), 10))
	say(strconv.FormatBool(f.Snapshot))
	for _, name := range slices.Sorted(maps.Keys(f.Extra)) {
		say(name)
		say(f.Extra[name])
	}
	sum := sha256.Sum256(b)
	return base64.RawStdEncoding.EncodeToString(sum[:8])
}

// maxStepIDs bounds the ids of one step.
const maxStepIDs = 1000

// note adds what was done to one row, to the step before where it is alike.
func (ed *Editor) note(a action, e *Entity) {
	last := &step{}
	if n := len(ed.steps) - 1; n >= 0 {
		last = &ed.steps[n]
	}
	if last.action != a || last.kind != e.Type || last.left.Deletion != "" || len(last.ids) >= maxStepIDs {
		ed.steps = append(ed.steps, step{action: a, kind: e.Type})
		last = &ed.steps[len(ed.steps)-1]
	}
	last.ids, last.left.Rows = append(last.ids, e.ID), append(last.left.Rows, fingerprint(&e.Fields))
}

// restore takes a row out of the trash, and notes where in it that was.
func (ed *Editor) restore(e *Entity) error {
	from := trashed{e.Deletion, e.Parent}
	if err := ed.show(e); err != nil {
		return err
	}
	ed.note(actionRestore, e)
	left := &ed.steps[len(ed.steps)-1].left
	left.From = append(left.From, from)
	return nil
}

// noteDeletion adds that a folder was deleted with what is below it, so many rows
// in all.
func (ed *Editor) noteDeletion(e *Entity, deletion string, rows int) {
	ed.steps = append(ed.steps, step{action: actionDelete, kind: e.Type, ids: []string{e.ID}, left: left{Deletion: deletion, Count: rows}})
}

// noteResolve adds that a conflict was decided on.
func (ed *Editor) noteResolve(c *Conflict) {
	ed.steps = append(ed.steps, step{action: actionResolve, kind: c.Type, ids: []string{c.ID}, conflict: c})
}

func (ed *Editor) noteUpdate(before, after *Entity) {
	was, is := diff(&before.Fields, &after.Fields)
	ed.steps = append(ed.steps, step{action: actionUpdate, kind: before.Type, ids: []string{before.ID}, before: &was, after: &is})
}

// keptCommands is how many commands the journal keeps.
const keptCommands = 1000

// record writes the command to the journal, unless it did nothing. What was
// undone before it can no longer be redone.
func (ed *Editor) record(command string) error {
	if len(ed.steps) == 0 {
		return nil
	}
	entry, err := ed.tx.openEntry(ed.replica.N, command, ed.at)
	if err != nil {
		return err
	}
	return ed.tx.writeSteps(entry, 0, ed.steps)
}

func (t *tx) openEntry(replica int64, command string, at api.Time) (int64, error) {
	var entry int64
	err := t.row(`INSERT INTO journal (replica, command, at, undone) VALUES (?, ?, ?, 0) RETURNING n`,
		replica, command, at.Micros()).Scan(&entry)
	if err != nil {
		return 0, fmt.Errorf("write the journal: %w", err)
	}
	err = errors.Join(
		t.run(fmt.Sprintf(`UPDATE journal SET undone = %d WHERE undone = %d`, undoneForGood, undone)), // as text, for the index
		t.run(`DELETE FROM journal WHERE n <= ?`, entry-keptCommands),
	)
	if err != nil {
		return 0, fmt.Errorf("write the journal: %w", err)
	}
	return entry, nil
}

func (t *tx) writeSteps(entry int64, from int, steps []step) error {
	for i := range steps {
		s := &steps[i]
		before, after := "", ""
		switch s.action {
		case actionUpdate:
			before, after = encode(s.before), encode(s.after)
		case actionResolve:
			before = encode(s.conflict)
		default:
			after = encode(s.left)
		}
		err := t.run(`INSERT INTO journal_step (entry, seq, action, type, ids, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			entry, from+i, string(s.action), string(s.kind), encode(s.ids), before, after)
		if err != nil {
			return fmt.Errorf("write the journal: %w", err)
		}
	}
	return nil
}

// The values of journal.undone.
const (
	inForce = iota
	undone
	undoneForGood // another command came after
)

// Command is an entry of the journal.
type Command struct {
	N       int64    `json:"n"`
	Replica int64    `json:"-"`
	Command string   `json:"command"`
	At      api.Time `json:"at"`
	Undone  bool     `json:"undone"`
	// Created, Updated, Deleted and Restored count rows.
	Created  int `json:"created"`
	Updated  int `json:"updated"`
	Deleted  int `json:"deleted"`
	Restored int `json:"restored"`
}

// Log is what the user did, newest first, at most limit commands.
func (s *Store) Log(ctx context.Context, limit int) ([]Command, error) {
	var all []Command
	err := s.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT j.n, j.replica, j.command, j.at, j.undone > 0,
			COALESCE(SUM(CASE s.action WHEN 'create' THEN json_array_length(s.ids) END), 0),
			COALESCE(SUM(CASE s.action WHEN 'update' THEN json_array_length(s.ids) END), 0),
			COALESCE(SUM(CASE s.action WHEN 'delete' THEN COALESCE(json_extract(s.after, '$.count'), json_array_length(s.ids)) END), 0),
			COALESCE(SUM(CASE s.action WHEN 'restore' THEN json_array_length(s.ids) END), 0)
			FROM journal j LEFT JOIN journal_step s ON s.entry = j.n
			WHERE j.n IN (SELECT n FROM journal ORDER BY n DESC LIMIT (0 + ?)) GROUP BY j.n ORDER BY j.n DESC`,
			[]any{limit}, func(row scanner) error {
				var c Command
				var at int64
				err := row.Scan(&c.N, &c.Replica, &c.Command, &at, &c.Undone, &c.Created, &c.Updated, &c.Deleted, &c.Restored)
				c.At = api.FromMicros(at)
				all = append(all, c)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return all, nil
}
