package syncer_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/syncer"
)

func version(change func(f *localstore.Fields)) syncer.Version {
	f := localstore.Fields{Title: "t", URL: "https://a.example/", Description: "one\ntwo\nthree\nfour\nfive", Tags: []string{"a", "b"}, SortOrder: 1}
	f.CreatedAt = api.At(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC))
	if change != nil {
		change(&f)
	}
	return syncer.Version{Fields: f}
}

func TestMergeByTheTable(t *testing.T) {
	gone := syncer.Version{Deleted: true, Bare: true}
	deleted := func(v syncer.Version) syncer.Version { v.Deleted = true; return v }
	title := func(s string) func(*localstore.Fields) { return func(f *localstore.Fields) { f.Title = s } }
	order := func(n int64) func(*localstore.Fields) { return func(f *localstore.Fields) { f.SortOrder = n } }
	tags := func(s ...string) func(*localstore.Fields) { return func(f *localstore.Fields) { f.Tags = s } }
	snapshot := func(f *localstore.Fields) { f.Snapshot = true }
	wasDeleted := func(f *localstore.Fields) { f.Title = "" }
	extra := func(pairs ...string) func(*localstore.Fields) {
		return func(f *localstore.Fields) {
			f.Extra = map[string]string{}
			for i := 0; i < len(pairs); i += 2 {
				f.Extra[pairs[i]] = pairs[i+1]
			}
		}
	}
	date := func(days int) func(*localstore.Fields) {
		return func(f *localstore.Fields) { f.CreatedAt = api.At(f.CreatedAt.AddDate(0, 0, days)) }
	}
	text := func(s string) func(*localstore.Fields) { return func(f *localstore.Fields) { f.Description = s } }
	for name, c := range map[string]struct {
		base          func(*localstore.Fields)
		local, remote syncer.Version
		want          syncer.Version
		clash, note   string
	}{
		"edited here":                   {nil, version(title("mine")), version(nil), version(title("mine")), "", ""},
		"edited there":                  {nil, version(nil), version(title("theirs")), version(title("theirs")), "", ""},
		"both the same":                 {nil, version(title("same")), version(title("same")), version(title("same")), "", ""},
		"both differently":              {nil, version(title("mine")), version(title("theirs")), version(title("theirs")), "title", ""},
		"lines apart":                   {nil, version(text("ONE\ntwo\nthree\nfour\nfive")), version(text("one\ntwo\nthree\nfour\nFIVE")), version(text("ONE\ntwo\nthree\nfour\nFIVE")), "", ""},
		"lines overlapping":             {nil, version(text("ONE\ntwo\nthree\nfour\nfive")), version(text("uno\ntwo\nthree\nfour\nfive")), version(text("uno\ntwo\nthree\nfour\nfive")), "description", ""},
		"a line alike and one apart":    {nil, version(text("ONE\ntwo\nthree\nfour\nfive")), version(text("ONE\ntwo\nthree\nfour\nFIVE")), version(text("ONE\ntwo\nthree\nfour\nFIVE")), "", ""},
		"a snapshot here":               {nil, version(snapshot), version(nil), version(snapshot), "", ""},
		"a snapshot there":              {nil, version(nil), version(snapshot), version(snapshot), "", ""},
		"no snapshot any more, here":    {snapshot, version(nil), version(snapshot), version(nil), "", ""},
		"an attribute here":             {nil, version(extra("A", "x")), version(nil), version(extra("A", "x")), "", ""},
		"attributes on both sides":      {nil, version(extra("A", "x")), version(extra("B", "y")), version(extra("A", "x", "B", "y")), "", ""},
		"an attribute taken off here":   {extra("A", "x"), version(nil), version(extra("A", "x", "B", "y")), version(extra("B", "y")), "", ""},
		"an attribute taken off there":  {extra("A", "x"), version(extra("A", "x", "B", "y")), version(nil), version(extra("B", "y")), "", ""},
		"an attribute otherwise there":  {extra("A", "x"), version(extra("A", "mine")), version(extra("A", "theirs")), version(extra("A", "theirs")), "extra.A", ""},
		"attribute off here, new there": {extra("A", "x"), version(nil), version(extra("A", "theirs")), version(extra("A", "theirs")), "extra.A", ""},
		"deleted, and back there":       {wasDeleted, deleted(version(nil)), version(nil), version(nil), "", ""},
		"deleted, edited there":         {wasDeleted, deleted(version(nil)), version(title("theirs")), version(title("theirs")), "", syncer.NoteReturned},
		"tags on both sides":            {nil, version(tags("a", "c")), version(tags("a", "b", "d")), version(tags("a", "d", "c")), "", ""},
		"a tag spelled anew":            {nil, version(tags("A", "b")), version(nil), version(tags("A", "b")), "", ""},
		"a tag renamed here":            {nil, version(tags("z", "b")), version(nil), version(tags("z", "b")), "", ""},
		"order here":                    {nil, version(order(5)), version(nil), version(order(5)), "", ""},
		"order on both sides":           {nil, version(order(5)), version(order(9)), version(order(9)), "", ""},
		"dated back on both sides":      {nil, version(date(-5)), version(date(-3)), version(date(-5)), "", ""},
		"dated back further there":      {nil, version(date(-3)), version(date(-5)), version(date(-5)), "", ""},
		"dated back here, forth there":  {nil, version(date(-3)), version(date(5)), version(date(5)), "createdAt", ""},
		"dated forth here, back there":  {nil, version(date(5)), version(date(-3)), version(date(-3)), "createdAt", ""},
		"dated here alone":              {nil, version(date(-3)), version(nil), version(date(-3)), "", ""},
		"edited here, deleted there":    {nil, version(title("mine")), gone, version(title("mine")), "", syncer.NoteRestored},
		"order here, deleted there":     {nil, version(order(5)), gone, deleted(version(order(5))), "", ""},
		"tag's case here, deleted":      {nil, version(tags("A", "b")), gone, deleted(version(tags("A", "b"))), "", ""},
		"same edit there, then deleted": {nil, version(title("x")), deleted(version(title("x"))), deleted(version(title("x"))), "", ""},
		"deleted here, edited there":    {nil, deleted(version(nil)), version(title("theirs")), version(title("theirs")), "", syncer.NoteReturned},
		"deleted here, order there":     {nil, deleted(version(nil)), version(order(9)), deleted(version(order(9))), "", ""},
		"deleted on both sides":         {nil, deleted(version(nil)), gone, deleted(version(nil)), "", ""},
	} {
		base := version(c.base)
		if base.Title == "" { // wasDeleted
			base = deleted(version(nil))
		}
		got := syncer.Merge(&base, c.local, c.remote)
		clash := ""
		if len(got.Clashes) > 0 {
			clash = got.Clashes[0].Field
		}
		if !reflect.DeepEqual(got.Row, c.want) || clash != c.clash || len(got.Clashes) > 1 || got.Note != c.note {
			t.Errorf("%s: %+v\nwant %+v, clash %q, note %q", name, got, c.want, c.clash, c.note)
		}
	}
}

func TestMergeOfWhatHasNoCommonVersionKeepsBoth(t *testing.T) {
	got := syncer.Merge(nil, version(func(f *localstore.Fields) { f.Title = "mine"; f.Tags = []string{"m"} }), version(func(f *localstore.Fields) { f.Tags = []string{"t"} }))
	if got.Row.Title != "t" || len(got.Clashes) != 1 || got.Clashes[0].Mine != "mine" || !slices.Equal(got.Row.Tags, []string{"t", "m"}) {
		t.Errorf("%+v", got)
	}
}

func versions(t *rapid.T, name string) syncer.Version {
	few := rapid.SampledFrom([]string{"", "x", "y", "z"})
	tag := rapid.SampledFrom([]string{"a", "A", "b", "c"})
	f := localstore.Fields{
		Parent: few.Draw(t, name+" parent"), Title: few.Draw(t, name+" title"), URL: few.Draw(t, name+" url"),
		Description: rapid.SampledFrom([]string{"", "1\n2\n3\n4", "0\n2\n3\n4", "1\n2\n3\n5", "1\n2\n2\n3\n4", "9"}).Draw(t, name+" description"),
		SortOrder:   rapid.Int64Range(0, 3).Draw(t, name+" order"), Snapshot: rapid.Bool().Draw(t, name+" snapshot"),
	}
	if tags := rules.Tags(rapid.SliceOfN(tag, 0, 3).Draw(t, name+" tags")); len(tags) > 0 {
		f.Tags = tags
	}
	if value := few.Draw(t, name+" extra"); value != "" {
		f.Extra = map[string]string{"X": value}
	}
	v := syncer.Version{Fields: f, Deleted: rapid.Bool().Draw(t, name+" deleted")}
	if v.Deleted && rapid.Bool().Draw(t, name+" bare") && name == "remote" {
		v = syncer.Version{Deleted: true, Bare: true}
	}
	return v
}

func TestMergeIsDeterministicIdempotentAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		local, remote := versions(t, "local"), versions(t, "remote")
		var base *syncer.Version
		if rapid.Bool().Draw(t, "has base") {
			b := versions(t, "base")
			base = &b
		}
		one := syncer.Merge(base, local, remote)
		if again := syncer.Merge(base, local, remote); !reflect.DeepEqual(one, again) {
			t.Fatalf("not deterministic: %+v, %+v", one, again)
		}
		if !remote.Bare {
			two := syncer.Merge(&remote, one.Row, remote)
			if !two.Row.Equal(&one.Row.Fields) || two.Row.Deleted != one.Row.Deleted || len(two.Clashes) > 0 {
				t.Fatalf("not idempotent: %+v, then %+v", one, two)
			}
		}
		if local.Deleted || remote.Deleted || base == nil {
			return
		}
		// A value of ours that differs from the base is in force or in a clash.
		if local.Title != base.Title && one.Row.Title != local.Title && !clashed(one, "title", local.Title) {
			t.Fatalf("the title %q was lost: %+v", local.Title, one)
		}
		if local.Parent != base.Parent && one.Row.Parent != local.Parent && !clashed(one, "folder", local.Parent) {
			t.Fatalf("the folder %q was lost: %+v", local.Parent, one)
		}
		for _, tag := range local.Tags {
			key := func(s string) bool { return rules.TagKey(s) == rules.TagKey(tag) }
			if !slices.ContainsFunc(base.Tags, key) && !slices.ContainsFunc(one.Row.Tags, key) {
				t.Fatalf("the tag %q was lost: %+v", tag, one)
			}
		}
	})
}

func clashed(m syncer.Merged, field string, mine any) bool {
	return slices.ContainsFunc(m.Clashes, func(c syncer.Clash) bool { return c.Field == field && c.Mine == mine })
}
