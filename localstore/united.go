package localstore

import (
	"fmt"
	"strings"

	"bm/server/api"
)

// unitedSetting begins the names of the settings that tell, of a folder that was
// united with another, which one that is. What was done with the former can then
// be taken back in the latter.
const unitedSetting = "united/"

// Became notes that a folder that was never sent is another one now.
func (t *SyncTx) Became(mine, theirs string) error { return t.tx.became(mine, theirs) }

func (t *tx) became(mine, theirs string) error {
	if err := t.run(`INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)`, unitedSetting+mine, theirs); err != nil {
		return fmt.Errorf("note what a folder became: %w", err)
	}
	return nil
}

// forgetUnited forgets what folders of a replica were before.
func (t *tx) forgetUnited(replica int64) error {
	err := t.run(`DELETE FROM setting WHERE name > ?1 AND name < ?1 || 'g' AND value IN (SELECT id FROM folder WHERE replica = ?2)`, unitedSetting, replica)
	if err != nil {
		return fmt.Errorf("forget what folders became: %w", err)
	}
	return nil
}

// became are the folders that were united with others, by the id that is no
// more. They are read once in a command.
func (ed *Editor) became() (map[string]string, error) {
	if ed.united != nil {
		return ed.united, nil
	}
	ed.united, ed.formerly = map[string]string{}, map[string][]string{}
	err := ed.tx.each(`SELECT name, value FROM setting WHERE name > ?1 AND name < ?1 || 'g'`, []any{unitedSetting}, func(row scanner) error {
		var name, theirs string
		err := row.Scan(&name, &theirs)
		mine := strings.TrimPrefix(name, unitedSetting)
		ed.united[mine], ed.formerly[theirs] = theirs, append(ed.formerly[theirs], mine)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what folders became: %w", err)
	}
	return ed.united, nil
}

// findUnited is the row with that id, or the one that a folder is one with by
// now; nil where there is neither.
func (ed *Editor) findUnited(kind api.EntityType, id string) (e *Entity, united bool, err error) {
	e, err = ed.tx.find(ed.replica.N, kind, id)
	if err != nil || e != nil || kind != api.TypeFolder {
		return e, false, err
	}
	became, err := ed.became()
	if err != nil || became[id] == "" {
		return nil, false, err
	}
	e, err = ed.tx.find(ed.replica.N, kind, became[id])
	return e, e != nil, err
}

// is reports whether a row has a fingerprint, or had it in a folder that is one
// with its own by now.
func (ed *Editor) is(e *Entity, print string) (bool, error) {
	if fingerprint(&e.Fields) == print {
		return true, nil
	}
	_, err := ed.became()
	for _, mine := range ed.formerly[e.Parent] {
		fields := e.Fields
		if fields.Parent = mine; fingerprint(&fields) == print {
			return true, nil
		}
	}
	return false, err
}

// survivingParent is p with the folder that the one it names is one with by now.
func (ed *Editor) survivingParent(p *patch) (*patch, error) {
	if p.Parent == nil || *p.Parent == "" {
		return p, nil
	}
	became, err := ed.became()
	if theirs := became[*p.Parent]; theirs != "" {
		surviving := *p
		surviving.Parent = &theirs
		return &surviving, nil
	}
	return p, err
}
