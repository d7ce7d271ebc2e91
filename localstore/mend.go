package localstore

import (
	"errors"
	"fmt"
	"strings"

	"bm/server/api"
)

// Stray is a live row whose folder is dead, or was never heard of.
type Stray struct {
	Type api.EntityType
	ID   string
}

// Strays are all of them, folders before bookmarks, in the order in which they
// came. The joins are told their order, from the few to the many: left to
// itself, SQLite goes through every bookmark, and that after each edit.
func (t *SyncTx) Strays() ([]Stray, error) {
	low, high := t.span(0)
	var strays []Stray
	for _, kind := range []api.EntityType{api.TypeFolder, api.TypeBookmark} {
		rows, in := table(kind), "folder"
		if kind == api.TypeFolder {
			in = "parent"
		}
		query := strings.NewReplacer("$rows", rows, "$in", in).Replace(`SELECT id FROM $rows WHERE n IN (
			SELECT c.n FROM folder p CROSS JOIN $rows c ON c.replica = p.replica AND c.$in = p.id AND c.deleted_at = 0 WHERE p.replica = ?1 AND p.deleted_at > 0
			UNION SELECT c.n FROM $rows c WHERE c.replica = ?1 AND c.rev = 0 AND c.deleted_at = 0 AND c.$in <> ''
				AND NOT EXISTS (SELECT 1 FROM folder p WHERE p.replica = ?1 AND p.id = c.$in)
			UNION SELECT c.n FROM $rows_base x CROSS JOIN $rows c ON c.n = x.n WHERE x.n > ?2 AND x.n < ?3 AND c.deleted_at = 0 AND c.$in <> ''
				AND NOT EXISTS (SELECT 1 FROM folder p WHERE p.replica = ?1 AND p.id = c.$in)
		) ORDER BY n`)
		err := t.tx.each(query, []any{t.replica.N, low, high}, func(row scanner) error {
			stray := Stray{Type: kind}
			err := row.Scan(&stray.ID)
			strays = append(strays, stray)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for what is in no living folder: %w", err)
		}
	}
	return strays, nil
}

// Twin is a row that was never sent and one of the server's that came later and
// is the same thing.
type Twin struct{ Mine, Theirs Row }

// Pair are the ids of what may be twins.
type Pair struct{ Mine, Theirs string }

// TwinFolders are never-sent folders beside those of the server's with the same
// name that came later, in the order of both.
func (t *SyncTx) TwinFolders() ([]Pair, error) {
	return t.pairs(`SELECT m.id, s.id FROM folder m CROSS JOIN folder s ON s.replica = m.replica AND s.parent = m.parent
		AND s.deleted_at = 0 AND s.rev > 0 AND s.title = m.title AND s.n > m.n
		WHERE m.replica = ? AND m.rev = 0 AND m.deleted_at = 0 ORDER BY m.n, s.n`, t.replica.N)
}

// lookedAt is among how many never-sent bookmarks one transaction looks for those
// that have a twin: most have none.
const lookedAt = 4000

// TwinBookmarks are never-sent bookmarks beside those of the server's with the
// same URL in the same folder that came later, from a number on. It answers up
// to which number it looked; 0 where there are no more.
func (t *SyncTx) TwinBookmarks(after int64) (pairs []Pair, upTo int64, err error) {
	low, high := t.span(after)
	looked := 0
	err = t.tx.row(`SELECT COUNT(*), COALESCE(MAX(n), 0) FROM (SELECT n FROM bookmark WHERE replica = ? AND rev = 0 AND n > ? AND n < ? ORDER BY n LIMIT (0 + ?))`,
		t.replica.N, low, high, lookedAt).Scan(&looked, &upTo)
	if err != nil {
		return nil, 0, fmt.Errorf("look for what was never sent: %w", err)
	}
	pairs, err = t.pairs(`SELECT m.id, s.id FROM bookmark m CROSS JOIN bookmark s ON s.replica = m.replica AND s.url_hash = m.url_hash
		AND s.deleted_at = 0 AND s.rev > 0 AND s.folder = m.folder AND s.n > m.n
		WHERE m.replica = ? AND m.rev = 0 AND m.n > ? AND m.n <= ? AND m.deleted_at = 0 AND m.url_hash <> 0 ORDER BY m.n, s.n`, t.replica.N, low, upTo)
	if looked < lookedAt {
		upTo = 0
	}
	return pairs, upTo, err
}

func (t *SyncTx) pairs(query string, args ...any) ([]Pair, error) {
	var pairs []Pair
	err := t.tx.each(query, args, func(row scanner) error {
		var p Pair
		err := row.Scan(&p.Mine, &p.Theirs)
		pairs = append(pairs, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for the same thing on both sides: %w", err)
	}
	return pairs, nil
}

// Twin reads a pair. It is nil where an edit has parted them since they were
// found.
func (t *SyncTx) Twin(kind api.EntityType, p Pair) (*Twin, error) {
	mine, err := t.Find(kind, p.Mine)
	theirs, err2 := t.Find(kind, p.Theirs)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if mine == nil || theirs == nil || mine.Deleted() || theirs.Deleted() || mine.Rev > 0 || theirs.Rev == 0 || mine.Parent != theirs.Parent {
		return nil, nil //nolint:nilnil // no twins is an answer here
	}
	if kind == api.TypeFolder && mine.Title != theirs.Title {
		return nil, nil //nolint:nilnil // as above
	}
	return &Twin{Mine: *mine, Theirs: *theirs}, nil
}

// Inside are so many of the rows in a folder: folders before bookmarks, those
// alive before those deleted, and those that were there first first.
func (t *SyncTx) Inside(folder string, most int) ([]Row, error) {
	var inside []Row
	for _, part := range []struct {
		kind  api.EntityType
		where string
	}{
		{api.TypeFolder, `WHERE f.replica = ? AND f.parent = ? AND f.deleted_at = 0 ORDER BY f.n LIMIT (0 + ?)`},
		{api.TypeFolder, `WHERE f.replica = ? AND f.parent = ? AND f.deleted_at > 0 ORDER BY f.n LIMIT (0 + ?)`},
		{api.TypeBookmark, `WHERE b.replica = ? AND b.folder = ? AND b.deleted_at = 0 ORDER BY b.n LIMIT (0 + ?)`},
		{api.TypeBookmark, `WHERE b.replica = ? AND b.folder = ? AND b.deleted_at > 0 ORDER BY b.n LIMIT (0 + ?)`},
	} {
		if len(inside) == most {
			break
		}
		rows, err := t.rows(part.kind, part.where, t.replica.N, folder, most-len(inside))
		if err != nil {
			return nil, err
		}
		inside = append(inside, rows...)
	}
	return inside, nil
}
