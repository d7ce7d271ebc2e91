package localstore

import (
	"fmt"
	"slices"

	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/rules"
)

// candidates reads bookmarks as a query looks at them: nothing that it does not
// look at, since of most of them no more is wanted. tail begins behind the table.
func (t *tx) candidates(tail string, args []any) ([]query.Candidate, error) {
	var found []query.Candidate
	err := t.each(`SELECT b.n, b.id, b.created_at, b.title, b.tags, b.url, b.description, b.link_status, b.archive, b.folder
		FROM bookmark b `+tail, args, func(row scanner) error {
		var c query.Candidate
		var d query.Document
		var tags string
		err := row.Scan(&c.Hit.Row, &c.Hit.ID, &c.Hit.CreatedAt, &d.Title, &tags, &d.URL, &d.Description, &c.Row.LinkStatus, &c.Row.ArchiveStatus, &c.Row.FolderID)
		if err == nil {
			err = decode(tags, &d.Tags)
		}
		if err != nil {
			return err
		}
		c.Row.Index, c.Row.CreatedAt = query.NewIndex(d), api.FromMicros(c.Hit.CreatedAt).Time
		for _, tag := range d.Tags {
			c.Row.TagKeys = append(c.Row.TagKeys, rules.TagKey(tag))
		}
		found = append(found, c)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at bookmarks: %w", err)
	}
	return found, nil
}

// newest reads some of the newest bookmarks, or of those behind one.
func (t *tx) newest(replica int64, behind *query.Hit, n int) ([]query.Candidate, error) {
	where, args := `b.replica = ? AND b.deleted_at = 0`, []any{replica}
	if behind != nil {
		where += ` AND (b.created_at, b.n) < (?, ?)`
		args = append(args, behind.CreatedAt, behind.Row)
	}
	return t.candidates(`INDEXED BY bookmark_created WHERE `+where+` ORDER BY b.created_at DESC, b.n DESC LIMIT (0 + ?)`, append(args, n))
}

// inTrash is what a list of the trash holds, best first. What is there neither the
// search index nor the table of tags has, so that each is looked at.
func (t *tx) inTrash(q List) ([]query.Hit, error) {
	parsed, keys := query.Parse(q.Query), make([]string, len(q.Tags))
	for i, tag := range q.Tags {
		keys[i] = rules.TagKey(tag)
	}
	q.Query, q.Tags = "", nil
	where, args, err := t.filter(q)
	if err != nil {
		return nil, err
	}
	rows, err := t.candidates(`WHERE `+where, args)
	if err != nil {
		return nil, err
	}
	folders, err := t.folderNodes(q.Replica)
	if err != nil {
		return nil, err
	}
	tree := query.NewFolderTree(folders)
	var hits []query.Hit
	for i := range rows {
		c := &rows[i]
		if slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(c.Row.TagKeys, key) }) {
			continue
		}
		if tier, ok := parsed.Match(c.Row, tree); ok {
			c.Hit.Tier = tier
			hits = append(hits, c.Hit)
		}
	}
	slices.SortFunc(hits, query.Hit.Compare)
	return hits, nil
}

// rankTrash finds the first hits of a list of the trash behind one.
func (t *tx) rankTrash(q List, behind *query.Hit, want int) ([]query.Hit, error) {
	hits, err := t.inTrash(q)
	if behind != nil {
		hits = slices.DeleteFunc(hits, func(h query.Hit) bool { return h.Compare(*behind) <= 0 })
	}
	if want >= 0 {
		hits = hits[:min(want, len(hits))]
	}
	return hits, err
}
