package localstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// scavenged are the tables that hold what this machine alone knows of its rows,
// each with the kinds of its columns: N for NULL, in whose place the row's number
// is, I for a number, T for text and ? for a number or NULL. No two of all tables
// have the same.
var scavenged = []struct{ table, kinds string }{
	{"replica", "NTTTTTIITTTTITIII?I"},
	{"folder", "NITITTTIIITIT"},
	{"bookmark", "NITITTITTTIIIITTTTIT"},
	{"folder_base", "NTTTIITI"},
	{"bookmark_base", "NTTTTTIIITI"},
	{"in_flight", "NITTTTTT"},
	{"parked", "NITTTTTTI"},
	{"conflict", "NITTTTTI"},
	{"note", "NITTTTI"},
}

// tableOf is the table that a row looks like one of; "" for none.
func tableOf(values []any) string {
	for _, t := range scavenged {
		if len(t.kinds) == len(values) && looksLike(t.kinds, values) {
			return t.table
		}
	}
	return ""
}

func looksLike(kinds string, values []any) bool {
	for i, value := range values {
		kind := byte('T')
		switch value.(type) {
		case nil:
			kind = 'N'
		case int64:
			kind = 'I'
		case float64, []byte:
			return false
		}
		if want := kinds[i]; kind != want && (want != '?' || kind == 'T') {
			return false
		}
	}
	return true
}

// scavenge gathers what stands in the pages, whether anything sound leads to them
// or not.
func (r *repair) scavenge(ctx context.Context, v *salvage) (err error) {
	pages, err := openPages(r.opts.Path)
	if err != nil {
		return fmt.Errorf("read the damaged file: %w", err)
	}
	defer func() { err = errors.Join(err, pages.close()) }()
	opts := r.opts
	opts.Path = r.loose()
	if r.found, err = Open(ctx, opts); err != nil {
		return err
	}
	// What a row belongs to may be in a page behind it, or lost.
	err = r.found.writer.exclusive(ctx, func() error {
		_, err := r.found.writer.session.exec(`PRAGMA foreign_keys = 0`)
		return err
	})
	if err != nil {
		return err
	}
	return r.found.write(ctx, refetchable, func(into *tx) error {
		for i := range v.replicas {
			if err := into.putReplica(&v.replicas[i]); err != nil {
				return err
			}
		}
		roots, err := into.rootsOf()
		if err != nil {
			return err
		}
		err = pages.rows(roots, func(n int64, values []any) error {
			table := tableOf(values)
			if table == "" {
				return nil
			}
			return into.putLoose(table, n, values)
		})
		if err != nil {
			return err
		}
		return into.adoptLoose()
	})
}

func (r *repair) closeLoose() error {
	if r.found == nil {
		return nil
	}
	err := r.found.Close()
	r.found = nil
	return err
}

// putLoose puts a row into its table as it was found. Of two versions of one row,
// of which one lies in a page that is not used any more, the later stays.
func (t *tx) putLoose(table string, n int64, values []any) error {
	updated := map[string]int{"folder": 9, "bookmark": 12}
	if at, ok := updated[table]; ok {
		if err := t.run(`DELETE FROM `+table+` WHERE n = ? AND (rev, updated_at) < (?, ?)`, n, values[3], values[at]); err != nil {
			return fmt.Errorf("drop an older version: %w", err)
		}
	}
	args := append([]any{n}, values[1:]...)
	if err := t.run(`INSERT OR IGNORE INTO `+table+` VALUES (?`+strings.Repeat(", ?", len(args)-1)+`)`, args...); err != nil {
		return fmt.Errorf("keep a row of the table %s: %w", table, err)
	}
	return nil
}

// adoptLoose gives the rows of workspaces of which nothing is known to the
// profile itself, as if they had been made without a server: a sign-in takes them
// along. Where other workspaces are known, they are of one that was removed.
func (t *tx) adoptLoose() error {
	known, err := t.replicas()
	if err != nil || len(known) > 0 {
		return err
	}
	var numbers []int64
	err = t.each(`SELECT replica FROM folder UNION SELECT replica FROM bookmark`, nil, func(row scanner) error {
		var n int64
		err := row.Scan(&n)
		numbers = append(numbers, n)
		return err
	})
	if err != nil {
		return fmt.Errorf("look for rows without a workspace: %w", err)
	}
	for _, n := range numbers {
		r := Replica{N: n, Kind: KindWorkspace, Name: LocalName, Slug: "local", Writable: true, State: StateLocal}
		if err := t.putReplica(&r); err != nil {
			return err
		}
	}
	return nil
}

// putReplica adds a replica's record under its own number.
func (t *tx) putReplica(r *Replica) error {
	added := *r
	if err := t.insertReplica(&added); err != nil {
		return err
	}
	if err := t.run(`UPDATE replica SET n = ? WHERE n = ?`, r.N, added.N); err != nil {
		return fmt.Errorf("keep the workspace's number: %w", err)
	}
	return nil
}
