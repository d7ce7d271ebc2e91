package localstore

import (
	"database/sql"
	"errors"
	"maps"
	"slices"

	"bm/server/api"
	"bm/server/api/rules"
)

// patch is some of an entity's fields: those that are set.
type patch struct {
	Parent      *string            `json:"parent,omitempty"`
	Title       *string            `json:"title,omitempty"`
	URL         *string            `json:"url,omitempty"`
	Description *string            `json:"description,omitempty"`
	Tags        *[]string          `json:"tags,omitempty"`
	SortOrder   *int64             `json:"sortOrder,omitempty"`
	CreatedAt   *api.Time          `json:"createdAt,omitempty"`
	Snapshot    *bool              `json:"snapshotEnabled,omitempty"`
	Extra       *map[string]string `json:"extra,omitempty"`
}

// diff is the fields in which both differ, as either has them.
func diff(a, b *Fields) (was, is patch) {
	if a.Parent != b.Parent {
		was.Parent, is.Parent = &a.Parent, &b.Parent
	}
	if a.Title != b.Title {
		was.Title, is.Title = &a.Title, &b.Title
	}
	if a.URL != b.URL {
		was.URL, is.URL = &a.URL, &b.URL
	}
	if a.Description != b.Description {
		was.Description, is.Description = &a.Description, &b.Description
	}
	if !slices.Equal(a.Tags, b.Tags) {
		// In JSON none must not look like no word of them.
		had, has := append([]string{}, a.Tags...), append([]string{}, b.Tags...)
		was.Tags, is.Tags = &had, &has
	}
	if a.SortOrder != b.SortOrder {
		was.SortOrder, is.SortOrder = &a.SortOrder, &b.SortOrder
	}
	if !a.CreatedAt.Equal(b.CreatedAt.Time) {
		was.CreatedAt, is.CreatedAt = &a.CreatedAt, &b.CreatedAt
	}
	if a.Snapshot != b.Snapshot {
		was.Snapshot, is.Snapshot = &a.Snapshot, &b.Snapshot
	}
	if !maps.Equal(a.Extra, b.Extra) {
		had, has := map[string]string{}, map[string]string{}
		maps.Copy(had, a.Extra)
		maps.Copy(has, b.Extra)
		was.Extra, is.Extra = &had, &has
	}
	return was, is
}

// over is f with the fields of p, where f still has what was says. The names of
// the others are skipped; an order within a folder is never worth a word.
func (p *patch) over(f Fields, was *patch) (Fields, []string) {
	var skipped []string
	apply(&f.Parent, was.Parent, p.Parent, "folder", &skipped, equal[string])
	apply(&f.Title, was.Title, p.Title, "title", &skipped, equal[string])
	apply(&f.URL, was.URL, p.URL, "url", &skipped, equal[string])
	apply(&f.Description, was.Description, p.Description, "description", &skipped, equal[string])
	if p.Tags != nil && was.Tags != nil && !slices.Equal(f.Tags, *p.Tags) && sameTags(f.Tags, *was.Tags) {
		f.Tags = *p.Tags // also where a merge has put them in another order
	} else {
		apply(&f.Tags, was.Tags, p.Tags, "tags", &skipped, slices.Equal[[]string])
	}
	apply(&f.CreatedAt, was.CreatedAt, p.CreatedAt, "createdAt", &skipped, func(a, b api.Time) bool { return a.Equal(b.Time) })
	apply(&f.Snapshot, was.Snapshot, p.Snapshot, "snapshotEnabled", &skipped, equal[bool])
	apply(&f.Extra, was.Extra, p.Extra, "extra", &skipped, maps.Equal[map[string]string, map[string]string])
	if p.SortOrder != nil {
		f.SortOrder = *p.SortOrder
	}
	return f, skipped
}

func apply[T any](field *T, was, value *T, name string, skipped *[]string, same func(a, b T) bool) {
	switch {
	case value == nil || same(*field, *value):
	case was == nil || !same(*field, *was):
		*skipped = append(*skipped, name)
	default:
		*field = *value
	}
}

// sameTags reports whether two lists hold the same tags, however they are ordered
// and spelled.
func sameTags(a, b []string) bool {
	keys := func(tags []string) []string {
		all := make([]string, len(tags))
		for i, tag := range tags {
			all[i] = rules.TagKey(tag)
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(keys(a), keys(b))
}

func equal[T comparable](a, b T) bool { return a == b }

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }
