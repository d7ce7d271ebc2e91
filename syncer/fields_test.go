package syncer_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// change edits a row in whatever a user or a merge can edit.
func (d *device) change(kind api.EntityType, id string, fn func(f *localstore.Fields)) {
	d.w.t.Helper()
	err := d.store.Sync(d.w.t.Context(), d.n, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(kind, id)
		if err != nil {
			return err
		}
		next := row.Entity
		next.Extra = maps.Clone(row.Extra)
		fn(&next.Fields)
		return tx.Write(row, next, &localstore.Base{Fields: row.Fields})
	})
	if err != nil {
		d.w.t.Fatal(err)
	}
}

// Whatever can be edited arrives: with what is new, one by one, and taken away.
func TestEveryFieldArrives(t *testing.T) {
	w := newWorld(t, 68, 2)
	a := w.replicas[0]
	parent := a.mkdir("Parent")
	rows := map[string]api.EntityType{a.mkdir("Folder"): api.TypeFolder, a.add("https://go.dev/", "Go", ""): api.TypeBookmark}
	moment := api.At(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	edits := map[string]func(f *localstore.Fields, kind api.EntityType){
		"title":       func(f *localstore.Fields, _ api.EntityType) { f.Title += " again" },
		"description": func(f *localstore.Fields, _ api.EntityType) { f.Description += "described" },
		"parent":      func(f *localstore.Fields, _ api.EntityType) { f.Parent = parent },
		"order":       func(f *localstore.Fields, _ api.EntityType) { f.SortOrder += 7 },
		"date":        func(f *localstore.Fields, _ api.EntityType) { f.CreatedAt = moment },
		"attributes": func(f *localstore.Fields, _ api.EntityType) {
			f.Extra = map[string]string{"SHORTCUTURL": f.Title, "PRIVATE": "1"}
		},
		"address": func(f *localstore.Fields, kind api.EntityType) {
			if kind == api.TypeBookmark {
				f.URL += "next/"
			}
		},
		"tags": func(f *localstore.Fields, kind api.EntityType) {
			if kind == api.TypeBookmark {
				f.Tags = append([]string{fmt.Sprint("tag", len(f.Tags))}, f.Tags...)
			}
		},
		"snapshot": func(f *localstore.Fields, kind api.EntityType) { f.Snapshot = kind == api.TypeBookmark && !f.Snapshot },
	}
	arrived := func(what string, want map[string]localstore.Fields) {
		t.Helper()
		w.peace()
		for id := range rows {
			there := w.server.rows[id].wire()
			e, err := localstore.EntityOf(&there)
			if fields := want[id]; err != nil || !e.Equal(&fields) {
				t.Errorf("%s: the server has %+v, not %+v; %v", what, e.Fields, want[id], err)
			}
		}
	}
	edited := func(fn func(f *localstore.Fields, kind api.EntityType)) map[string]localstore.Fields {
		want := map[string]localstore.Fields{}
		for id, kind := range rows {
			a.change(kind, id, func(f *localstore.Fields) {
				fn(f, kind)
				want[id] = *f
			})
		}
		return want
	}
	arrived("new", edited(func(f *localstore.Fields, kind api.EntityType) {
		for _, edit := range edits {
			edit(f, kind)
		}
	}))
	moment = api.At(moment.Add(time.Hour))
	for what, edit := range edits {
		arrived(what, edited(edit))
	}
	arrived("taken away", edited(func(f *localstore.Fields, _ api.EntityType) {
		f.Description, f.Parent, f.SortOrder, f.Tags, f.Extra, f.Snapshot = "", "", 0, nil, nil, false
	}))
}
