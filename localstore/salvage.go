package localstore

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bm/server/api"
)

// salvage is what could be read of a damaged file.
type salvage struct {
	did      *Recovery
	replicas []Replica
	rows     map[int64][]Row
	settings [][2]string
	searches []SavedSearch
	records  [][][]any // of each of [recordTables]
	proper   int       // how many of the replicas were read in the ordinary way
	loose    bool      // all that is left is read
}

// collect reads what it can; what it cannot is left out.
func (v *salvage) collect(from *tx) {
	if v.rows == nil {
		v.rows, v.records = map[int64][]Row{}, make([][][]any, len(recordTables))
	}
	if !v.loose {
		v.misplaced(from)
	}
	replicas, err := from.replicas()
	v.note(err)
	for i := range replicas {
		if r := &replicas[i]; r.Kind != KindGrant && r.Kind != KindLink {
			r.Kind = KindWorkspace // whatever the damage has made of it
		}
		if !slices.ContainsFunc(v.replicas, replicas[i].is) {
			v.replicas = append(v.replicas, replicas[i])
		}
	}
	if !v.loose {
		v.proper = len(v.replicas)
	}
	for i := range replicas {
		r := &replicas[i]
		st := &SyncTx{tx: from, replica: r}
		low, high := st.span(0)
		for _, where := range []string{`n > ? AND n < ? AND rev = 0`, `n IN (SELECT n FROM base WHERE n > ? AND n < ?)`} {
			for _, kind := range []api.EntityType{api.TypeFolder, api.TypeBookmark} {
				where := strings.Replace(where, "base", table(kind)+"_base", 1)
				v.both(func(direction string) error {
					return v.read(st, kind, `WHERE `+where+` ORDER BY n `+direction, low, high)
				})
			}
		}
	}
	for i, table := range recordTables {
		v.both(func(direction string) error {
			order := strings.ReplaceAll(table.order, ",", " "+direction+",") + " " + direction
			return from.each(`SELECT `+table.columns+` FROM `+table.name+` ORDER BY `+order, nil, func(row scanner) error {
				values := make([]any, strings.Count(table.columns, ",")+1)
				into := make([]any, len(values))
				for at := range values {
					into[at] = &values[at]
				}
				if err := row.Scan(into...); err != nil {
					return err
				}
				if !table.understands(values) {
					v.did.Incomplete = true
					return nil
				}
				v.records[i] = append(v.records[i], values)
				return nil
			})
		})
	}
	v.note(from.each(`SELECT name, value FROM setting`, nil, func(row scanner) error {
		var pair [2]string
		err := row.Scan(&pair[0], &pair[1])
		if err != nil || pair[0] == turningSetting && decode(pair[1], new(turning)) != nil {
			v.did.Incomplete = true // this one alone
			return nil
		}
		v.settings = append(v.settings, pair)
		return nil
	}))
	v.note(from.each(`SELECT name, query, created_at FROM saved_search`, nil, func(row scanner) error {
		var s SavedSearch
		var at int64
		err := row.Scan(&s.Name, &s.Query, &at)
		s.CreatedAt = api.FromMicros(at)
		v.searches = append(v.searches, s)
		return err
	}))
}

// misplaced looks whether a page stands where another should, which is read without
// an error: then rows don't come in the order of their numbers, or fewer than there
// are ids.
func (v *salvage) misplaced(from *tx) {
	for _, s := range scavenged {
		last := int64(math.MinInt64)
		v.note(from.each(`SELECT rowid FROM `+s.table+` NOT INDEXED`, nil, func(row scanner) error {
			before := last
			err := row.Scan(&last)
			v.did.Incomplete = v.did.Incomplete || last <= before
			return err
		}))
	}
	for _, kind := range []api.EntityType{api.TypeFolder, api.TypeBookmark} {
		var there, listed int
		name := table(kind)
		err := from.row(`SELECT (SELECT count(*) FROM `+name+` NOT INDEXED), (SELECT count(*) FROM `+name+` INDEXED BY `+name+`_id)`).Scan(&there, &listed)
		v.did.Incomplete = v.did.Incomplete || err == nil && there < listed // an index that is damaged takes no row along
	}
}

// both reads from one end and, where that breaks off, from the other.
func (v *salvage) both(read func(direction string) error) {
	if err := read("ASC"); err != nil {
		v.did.Incomplete = true
		v.note(read("DESC"))
	}
}

func (v *salvage) note(err error) {
	if err != nil {
		v.did.Incomplete = true
	}
}

// read keeps each row as it comes, so that those before a damaged page stay.
func (v *salvage) read(st *SyncTx, kind api.EntityType, where string, low, high int64) error {
	known := map[string]bool{}
	for i := range v.rows[st.replica.N] {
		known[v.rows[st.replica.N][i].ID] = true
	}
	query, scan := `SELECT `+bookmarkColumns+` FROM bookmark b `+where, scanBookmark
	if kind == api.TypeFolder {
		query, scan = `SELECT `+folderColumns+` FROM folder f `+where, scanFolder
	}
	var found []Entity
	at := map[string]int{}
	err := st.tx.each(query, []any{low, high}, func(row scanner) error {
		var e Entity
		if err := scan(row, &e); err != nil {
			v.note(err) // of this row alone
			return nil
		}
		i, twice := at[e.ID]
		switch {
		case e.n <= low || e.n >= high:
			v.did.Incomplete = true // a page of another workspace stands in the place of one of this
		case known[e.ID]:
		case !twice:
			at[e.ID] = len(found)
			found = append(found, e)
		case found[i].before(&e):
			found[i] = e
		}
		return nil
	})
	for i := range found {
		row, baseErr := st.withBase(&found[i])
		v.note(baseErr)
		switch {
		case baseErr == nil:
		case v.loose && !found[i].Deleted():
			// What the server had is lost, and what was edited is not: as a new row
			// it is merged with the server's, and what differs is a conflict.
			row.Rev, row.Base = 0, nil
		default:
			continue
		}
		v.rows[st.replica.N] = append(v.rows[st.replica.N], *row)
	}
	return err
}

// before reports whether of two versions of a row this one is the earlier.
func (e *Entity) before(other *Entity) bool {
	return cmp.Or(cmp.Compare(e.Rev, other.Rev), e.UpdatedAt.Compare(other.UpdatedAt.Time)) < 0
}

// is reports whether two records are of one copy.
func (r *Replica) is(other Replica) bool {
	return r.N == other.N || r.RemoteID != "" && r.RemoteID == other.RemoteID && r.Kind == other.Kind
}

// compareDue is the SharedRev of a replica that was repaired: up to which rev the
// server's history is its own, the server tells.
const compareDue = -1

// store puts what was read into a new file. Its replicas begin anew, with the
// edits already in place: since what those are edits of may be gone from the
// server, every row is compared.
func (v *salvage) store(into *tx) error {
	for i := range v.replicas {
		r := v.replicas[i]
		r.Epoch, r.Cursor, r.Whole, r.Rev, r.Digest, r.Live, r.PurgedRev, r.SharedRev = "", "", "", -1, 0, 0, 0, nil
		r.SyncedAt = api.Time{}
		if r.State != StateLocal && r.State != StateFrozen && r.RemoteID != "" {
			r.State, r.Reason = StateBootstrapping, ""
		}
		if err := into.putReplica(&r); err != nil { // who has the file open knows it by its number
			return err
		}
		st := &SyncTx{tx: into, replica: &r}
		for at := range v.rows[r.N] {
			row := &v.rows[r.N][at]
			if err := into.insertAgain(r.N, &row.Entity); err != nil {
				return err
			}
			if row.Base != nil {
				if err := into.setBase(&row.Entity, row.Base); err != nil {
					return err
				}
			}
			st.count(row.ID, 0, false, row.Rev, row.ServerHas())
			v.did.Rows++
		}
		if due := int64(compareDue); r.RemoteID != "" || r.Live > 0 {
			r.SharedRev = &due
		}
		if err := into.saveReplica(&r); err != nil {
			return err
		}
	}
	for i, table := range recordTables {
		marks := "?1"
		for at := range strings.Count(table.columns, ",") {
			marks += fmt.Sprintf(", ?%d", at+2)
		}
		for _, values := range v.records[i] {
			err := into.run(`INSERT OR IGNORE INTO `+table.name+` (`+table.columns+`) SELECT `+marks+` WHERE EXISTS (SELECT 1 FROM `+table.owner+`)`, values...)
			if err != nil {
				return fmt.Errorf("keep the table %s: %w", table.name, err)
			}
		}
	}
	for _, pair := range v.settings {
		if err := into.run(`INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)`, pair[0], pair[1]); err != nil {
			return fmt.Errorf("keep the settings: %w", err)
		}
	}
	for _, s := range v.searches {
		if err := into.run(`INSERT OR REPLACE INTO saved_search (name, query, created_at) VALUES (?, ?, ?)`, s.Name, s.Query, s.CreatedAt.Micros()); err != nil {
			return fmt.Errorf("keep the saved searches: %w", err)
		}
	}
	return nil
}
