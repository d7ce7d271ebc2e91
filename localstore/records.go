package localstore

import (
	"encoding/json"
	"errors"

	"bm/server/api"
)

// recordTable is a table that a repair takes over row by row as it is. Its first
// column tells its rows apart, together with the second where it has no number
// of its own; owner is the row without which one of it is nothing.
type recordTable struct {
	name, columns, order, owner string
	// kinds are those of the columns, as in [scavenged], and read is how whoever
	// needs one of the rows reads it; nil where nothing can fail there. A row that
	// can't be read is left out: it would be in the way for ever.
	kinds string
	read  func(values []any) error
}

// recordTables come in the order in which they refer to each other.
var recordTables = []recordTable{
	{"in_flight", "seq, replica, type, id, epoch, cursor, op, sent", "seq", "replica WHERE n = ?2", "IITTTTTT", func(values []any) error {
		var op api.Op
		err := errors.Join(decode(text(values[6]), &op), decode(text(values[7]), new(Sent)))
		if err == nil && !api.ValidID(op.OpID) {
			err = ErrDamaged // the server would refuse it, and all that is sent with it
		}
		return err
	}},
	{"parked", "n, replica, type, id, action, code, message, sent, at", "n", "replica WHERE n = ?2", "IITTTTTTI", func(values []any) error {
		return decode(text(values[7]), new(Sent))
	}},
	{"conflict", "n, replica, type, id, field, mine, theirs, at", "n", "replica WHERE n = ?2", "IITTTTTI", func(values []any) error {
		return errors.Join(decode(text(values[5]), new(json.RawMessage)), decode(text(values[6]), new(json.RawMessage)))
	}},
	{"note", "n, replica, type, id, kind, message, at", "n", "replica WHERE n = ?2", "IITTTTI", nil},
	{"journal", "n, replica, command, at, undone", "n", "replica WHERE n = ?2", "IITII", nil},
	{"journal_step", "entry, seq, action, type, ids, before, after", "entry, seq", "journal WHERE n = ?1", "IITTTTT", func(values []any) error {
		s := step{action: action(text(values[2]))}
		return s.decode(text(values[4]), text(values[5]), text(values[6]))
	}},
}

// understands reports whether values are a row of the table.
func (t *recordTable) understands(values []any) bool {
	return looksLike(t.kinds, values) && (t.read == nil || t.read(values) == nil)
}

// text is a value that is known to be one.
func text(value any) string {
	s, _ := value.(string)
	return s
}
