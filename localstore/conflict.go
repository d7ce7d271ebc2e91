package localstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"bm/server/api"
)

// Conflicts are the local values that lost against the server's and that nobody
// has decided on, oldest first.
func (s *Store) Conflicts(ctx context.Context, replica int64) ([]Conflict, error) {
	var all []Conflict
	err := s.read(ctx, func(tx *tx) error {
		return tx.each(conflictSelect+` WHERE replica = ? ORDER BY n`, []any{replica}, func(row scanner) error {
			c, err := scanConflict(row)
			all = append(all, c)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read conflicts: %w", err)
	}
	return all, nil
}

const conflictSelect = `SELECT n, replica, type, id, field, mine, theirs, at FROM conflict`

func scanConflict(row scanner) (Conflict, error) {
	var c Conflict
	var mine, theirs string
	var at int64
	err := row.Scan(&c.N, &c.Replica, &c.Type, &c.ID, &c.Field, &mine, &theirs, &at)
	c.Mine, c.Theirs, c.At = json.RawMessage(mine), json.RawMessage(theirs), api.FromMicros(at)
	return c, err
}

// Resolve decides on a conflict. "Theirs" is a nil value: what stands, stands.
// "Mine" is the conflict's Mine, an edit another value: it is written over what
// the field has now. Either is a command that can be undone: then the conflict
// is listed again.
func (s *Store) Resolve(ctx context.Context, n int64, value json.RawMessage) error {
	return s.write(ctx, durable, func(tx *tx) error {
		c, err := scanConflict(tx.row(conflictSelect+` WHERE n = ?`, n))
		if isNoRows(err) {
			return api.Errorf(api.CodeNotFound, "there is no conflict %d", n)
		}
		if err != nil {
			return fmt.Errorf("read conflict %d: %w", n, err)
		}
		r, err := tx.replica(c.Replica)
		if err != nil {
			return err
		}
		// What stands needs no edit, and can be decided for where none is taken.
		ed := &Editor{tx: tx, replica: r, at: api.At(s.now())}
		if value != nil {
			if err := r.Editable(); err != nil {
				return err
			}
			if err := ed.setField(c.Type, c.ID, c.Field, value); err != nil {
				return err
			}
		}
		if err := tx.run(`DELETE FROM conflict WHERE n = ?`, n); err != nil {
			return fmt.Errorf("resolve conflict %d: %w", n, err)
		}
		ed.noteResolve(&c)
		return ed.record("sync resolve " + c.Field)
	})
}

// setField writes one field by the name that conflicts use.
func (ed *Editor) setField(kind api.EntityType, id, field string, value json.RawMessage) error {
	if field == "createdAt" {
		e, err := ed.get(kind, id)
		if err != nil {
			return err
		}
		fields := e.Fields
		if err := json.Unmarshal(value, &fields.CreatedAt); err != nil {
			return api.Invalid(field, "must be a date-time")
		}
		_, err = ed.put(e, fields)
		return err
	}
	if kind == api.TypeFolder {
		in, err := folderInput(field, value)
		if err != nil {
			return err
		}
		if name, ok := strings.CutPrefix(field, extraField); ok {
			e, err := ed.get(kind, id)
			if err != nil {
				return err
			}
			if in.Extra, err = withExtra(e.Extra, name, value); err != nil {
				return err
			}
		}
		_, err = ed.UpdateFolder(id, in)
		return err
	}
	in, err := bookmarkInput(field, value)
	if err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(field, extraField); ok {
		e, err := ed.get(kind, id)
		if err != nil {
			return err
		}
		if in.Extra, err = withExtra(e.Extra, name, value); err != nil {
			return err
		}
	}
	_, err = ed.UpdateBookmark(id, in)
	return err
}

// extraField is what the name of an attribute's conflict begins with.
const extraField = "extra."

var errField = errors.New("a conflict about a field that does not exist")

func bookmarkInput(field string, value json.RawMessage) (api.BookmarkInput, error) {
	var in api.BookmarkInput
	var err error
	switch field {
	case "url":
		err = json.Unmarshal(value, &in.URL)
	case "title":
		err = json.Unmarshal(value, &in.Title)
	case "description":
		err = json.Unmarshal(value, &in.Description)
	case "folder":
		err = json.Unmarshal(value, &in.FolderID)
	case "snapshotEnabled":
		err = json.Unmarshal(value, &in.SnapshotEnabled)
	default:
		if !strings.HasPrefix(field, extraField) {
			return in, fmt.Errorf("%w: %q", errField, field)
		}
	}
	if err != nil {
		return in, api.Invalid(field, "is not of this field's kind")
	}
	return in, nil
}

func folderInput(field string, value json.RawMessage) (api.FolderInput, error) {
	var in api.FolderInput
	var err error
	switch field {
	case "title":
		err = json.Unmarshal(value, &in.Name)
	case "description":
		err = json.Unmarshal(value, &in.Description)
	case "folder":
		err = json.Unmarshal(value, &in.ParentID)
	default:
		if !strings.HasPrefix(field, extraField) {
			return in, fmt.Errorf("%w: %q", errField, field)
		}
	}
	if err != nil {
		return in, api.Invalid(field, "is not of this field's kind")
	}
	return in, nil
}

// withExtra is extra with one attribute set, or without it where the value is
// null.
func withExtra(extra map[string]string, name string, value json.RawMessage) (api.Optional[map[string]string], error) {
	changed := make(map[string]string, len(extra)+1)
	for k, v := range extra {
		changed[k] = v
	}
	if bytes.Equal(bytes.TrimSpace(value), []byte("null")) {
		delete(changed, name)
		return api.Some(changed), nil
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return api.Optional[map[string]string]{}, api.Invalid(extraField+name, "must be text")
	}
	changed[name] = text
	return api.Some(changed), nil
}
