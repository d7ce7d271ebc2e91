package tree

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// tagging is how it is found out whether bookmark b carries a tag.
type tagging uint8

const (
	// byTag finds bookmarks by the tag.
	byTag tagging = iota
	// unlessCommon is byTag, but of a tag that most carry oneByOne: there is
	// something else that finds fewer.
	unlessCommon
	// oneByOne looks for each bookmark whether it carries the tag: they are met
	// in an order of their own.
	oneByOne
)

// tagLook looks the tags and the folders of a workspace up, each once: every step
// of a search asks for all of them.
type tagLook struct {
	tx      *sqldb.Tx
	scope   access.Scope
	found   map[string]*tagNumber
	folders *query.FolderTree // nil if not asked for yet
	load    *Load
}

// tagNumber is a workspace's tag.
type tagNumber struct {
	seq    int64 // 0 where there is no such tag
	common *bool // nil if not asked yet
}

func newTagLook(ctx context.Context, tx *sqldb.Tx, scope access.Scope) *tagLook {
	return &tagLook{tx: tx, scope: scope, found: map[string]*tagNumber{}, load: NewLoad(ctx)}
}

// listedFolder is about what a folder holds in the list that stands for a filter,
// in bytes: as text, as what is bound, and as the index that the database makes.
const listedFolder = 200

// folderTree is the living folders as a query's filter looks at them.
func (l *tagLook) folderTree(ctx context.Context) (*query.FolderTree, error) {
	if l.folders != nil {
		return l.folders, nil
	}
	nodes, err := folderNodes(ctx, l.tx, l.scope, l.load)
	if err != nil {
		return nil, err
	}
	l.folders = query.NewFolderTree(nodes)
	return l.folders, nil
}

func (l *tagLook) tag(ctx context.Context, key string) (*tagNumber, error) {
	if tag := l.found[key]; tag != nil {
		return tag, nil
	}
	tag := &tagNumber{}
	err := l.tx.Rows(ctx, `SELECT t.seq FROM tag t WHERE t.workspace_id = $1 AND t.tag_key = $2`, []any{l.scope.WorkspaceID, key},
		func(row sqldb.Scanner) error { return row.Scan(&tag.seq) })
	if err != nil {
		return nil, fmt.Errorf("look for the tag: %w", err)
	}
	l.found[key] = tag
	return tag, nil
}

// common reports whether most of the workspace carries a tag, and more than are
// soon gathered. PostgreSQL sees that by itself.
func (l *tagLook) common(ctx context.Context, key string) (bool, error) {
	tag, err := l.tag(ctx, key)
	if err != nil || tag.seq == 0 || l.tx.Dialect() == sqldb.Postgres {
		return false, err
	}
	if tag.common == nil {
		var common bool
		err := l.tx.Row(ctx, fmt.Sprintf(`SELECT EXISTS (SELECT 1 FROM bookmark_tag bt WHERE bt.tag_seq = $1
			LIMIT 1 OFFSET (SELECT max(%d, h.live_count / 2) FROM workspace_head h WHERE h.workspace_id = $2))`, fewRows),
			[]any{tag.seq, l.scope.WorkspaceID}, &common)
		if err != nil {
			return false, fmt.Errorf("look how many carry the tag: %w", err)
		}
		tag.common = &common
	}
	return *tag.common, nil
}

// shortest is how the bookmarks that pass a filter are found soonest. To gather
// all that carry a common tag takes longer than to look at the few that something
// else leaves; where nothing does, it is several times as fast.
func (l *tagLook) shortest(ctx context.Context, filter api.BookmarkFilter) (tagging, error) {
	root, keys := query.Parse(filter.Query).Root, tagKeys(filter.Tags)
	alone := false // there is one tag at most, and nothing beside it
	switch root.(type) {
	case nil:
		alone = len(keys) < 2
	case query.Tag, query.Not:
		alone = len(keys) == 0
	}
	switch {
	case filter.FilterStatus != "", filter.FolderID != "" && (filter.FolderID != api.RootFolder || !filter.Recursive):
		return unlessCommon, nil
	case alone:
		return byTag, nil
	}
	parts := make(query.And, 0, len(keys)+1)
	for _, key := range keys {
		parts = append(parts, query.Tag{Key: key})
	}
	narrowed, err := l.narrows(ctx, append(parts, root))
	if err != nil || !narrowed {
		return byTag, err
	}
	return unlessCommon, nil
}

// narrows reports whether part of a query leaves fewer than a common tag does.
func (l *tagLook) narrows(ctx context.Context, n query.Node) (bool, error) {
	switch n := n.(type) {
	case nil, query.Not:
		return false, nil
	case query.Tag:
		common, err := l.common(ctx, n.Key)
		return !common, err
	case query.And:
		for _, part := range n {
			if narrowed, err := l.narrows(ctx, part); err != nil || narrowed {
				return narrowed, err
			}
		}
		return false, nil
	case query.Or:
		for _, part := range n {
			if narrowed, err := l.narrows(ctx, part); err != nil || !narrowed {
				return false, err
			}
		}
	}
	return true, nil
}

// onBookmark is the condition that bookmark b carries a tag. PostgreSQL sees the
// tag's number in the text: how many carry a tag it knows of one that it sees, and
// of any other it takes what is usual.
func (l *tagLook) onBookmark(ctx context.Context, key string, bind func(any) string, how tagging) (string, error) {
	tag, err := l.tag(ctx, key)
	if err != nil {
		return "", err
	}
	each := how == oneByOne
	if how == unlessCommon {
		if each, err = l.common(ctx, key); err != nil {
			return "", err
		}
	}
	number := strconv.FormatInt(tag.seq, 10)
	if l.tx.Dialect() == sqldb.SQLite {
		number = bind(tag.seq)
	}
	if each {
		return "EXISTS (SELECT 1 FROM bookmark_tag bt WHERE bt.tag_seq = " + number + " AND bt.bookmark_seq = b.seq)", nil
	}
	return "b.seq IN (SELECT bt.bookmark_seq FROM bookmark_tag bt WHERE bt.tag_seq = " + number + ")", nil
}

// Tags reads a page of the tags of the live bookmarks with their numbers, by
// name, and one more where there is one.
func (t *Tree) Tags(ctx context.Context, scope access.Scope, page Page) (tags []api.Tag, err error) {
	var after string // of no tag
	if page.After != nil {
		if err := json.Unmarshal(page.After, &after); err != nil {
			return nil, fmt.Errorf("read a cursor: %w", err)
		}
	}
	err = t.db.Read(ctx, func(tx *sqldb.Tx) error {
		binary := ""
		if tx.Dialect() == sqldb.Postgres {
			binary = ` COLLATE "C"` // SQLite's order, whatever the database's language
		}
		return tx.Rows(ctx, `SELECT MIN(bt.tag`+binary+`), count(*) FROM tag t JOIN bookmark_tag bt ON bt.tag_seq = t.seq
			WHERE t.workspace_id = $1 AND t.tag_key > $2 GROUP BY t.tag_key ORDER BY t.tag_key`+limited("$3")+` OFFSET $4`,
			[]any{scope.WorkspaceID, after, page.Limit + 1, page.Offset}, func(row sqldb.Scanner) error {
				var tag api.Tag
				err := row.Scan(&tag.Name, &tag.Count)
				tags = append(tags, tag)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("list the tags: %w", err)
	}
	return tags, nil
}

// WithTag calls fn, in the order in which they were stored, for the live
// bookmarks behind one that carry a tag, at most so many, and returns where the
// next go on; 0, which is before them all, where there is no more.
func (e *Edit) WithTag(ctx context.Context, tagKey string, after int64, most int, fn func(*Bookmark) error) (last int64, err error) {
	type carrier struct {
		id  string
		seq int64
	}
	var found []carrier
	err = e.tx.Rows(ctx, `SELECT b.id, b.seq FROM bookmark_tag bt JOIN bookmark b ON b.seq = bt.bookmark_seq
		WHERE bt.tag_seq = (SELECT t.seq FROM tag t WHERE t.workspace_id = $1 AND t.tag_key = $2) AND bt.bookmark_seq > $3
		ORDER BY bt.bookmark_seq`+limited("$4"), []any{e.scope.WorkspaceID, tagKey, after, most}, func(row sqldb.Scanner) error {
		var c carrier
		err := row.Scan(&c.id, &c.seq)
		found = append(found, c)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("find the tag: %w", err)
	}
	for _, c := range found {
		b, err := e.Bookmark(ctx, c.id)
		if err != nil {
			return 0, err
		}
		if err := fn(&b); err != nil {
			return 0, err
		}
	}
	if len(found) < most {
		return 0, nil
	}
	return found[most-1].seq, nil
}

// tagBookmarks stores the tags of bookmarks, in the order of the table: what
// goes next to each other is then found where the last one went.
func (e *Edit) tagBookmarks(ctx context.Context, rows []Bookmark, statements *bulkStatements) error {
	type tagged struct {
		key      string
		tag, row int64
		text     string
	}
	var all []tagged
	for i := range rows {
		for _, tag := range rows[i].Tags {
			all = append(all, tagged{key: rules.TagKey(tag), row: rows[i].seq, text: tag})
		}
	}
	if len(all) == 0 {
		return nil
	}
	keys := make([]string, len(all))
	for i := range all {
		keys[i] = all[i].key
	}
	slices.Sort(keys)
	known, err := e.tagSeqs(ctx, slices.Compact(keys))
	if err != nil {
		return err
	}
	for i := range all {
		all[i].tag = known[all[i].key]
	}
	slices.SortFunc(all, func(a, b tagged) int { return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.row, b.row)) })
	args := make([]any, 0, 3*len(all))
	for i := range all {
		args = append(args, all[i].tag, all[i].row, all[i].text)
	}
	if err := e.bulk(ctx, statements.tags, args, nil); err != nil {
		return fmt.Errorf("tag the bookmarks: %w", err)
	}
	return nil
}

// tagSeqs are the numbers of the workspace's tags, by their keys, which are
// sorted; a tag that is new gets one. Each key is looked up for itself: of a
// workspace that it does not know well PostgreSQL would rather go through all of
// its tags, and through all keys for each.
func (e *Edit) tagSeqs(ctx context.Context, keys []string) (map[string]int64, error) {
	elements := "json_each($2) AS k"
	if e.tx.Dialect() == sqldb.Postgres {
		elements = "jsonb_array_elements_text($2::text::jsonb) AS k (value)"
	}
	seqs := make(map[string]int64, len(keys))
	var unknown []string
	err := e.eachTagSeq(ctx, `SELECT k.value, (SELECT t.seq FROM tag t WHERE t.workspace_id = $1 AND t.tag_key = k.value) FROM `+elements, keys,
		func(key string, seq *int64) {
			if seq == nil {
				unknown = append(unknown, key)
				return
			}
			seqs[key] = *seq
		})
	if err != nil {
		return nil, fmt.Errorf("look for the tags: %w", err)
	}
	if len(unknown) == 0 {
		return seqs, nil
	}
	err = e.eachTagSeq(ctx, `INSERT INTO tag (workspace_id, tag_key) SELECT $1, k.value FROM `+elements+` RETURNING tag_key, seq`, unknown,
		func(key string, seq *int64) { seqs[key] = *seq })
	if err != nil {
		return nil, fmt.Errorf("add the tags: %w", err)
	}
	return seqs, nil
}

// eachTagSeq calls fn for the rows of a statement about keys; seq is nil where
// it found none.
func (e *Edit) eachTagSeq(ctx context.Context, text string, keys []string, fn func(key string, seq *int64)) error {
	list, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return e.tx.Rows(ctx, text, []any{e.scope.WorkspaceID, string(list)}, func(row sqldb.Scanner) error {
		var key string
		var seq *int64
		err := row.Scan(&key, &seq)
		if err == nil {
			fn(key, seq)
		}
		return err
	})
}

func (e *Edit) insertTags(ctx context.Context, b *Bookmark) error {
	return e.tagBookmarks(ctx, []Bookmark{*b}, e.bulkStatements())
}

func (e *Edit) deleteTags(ctx context.Context, seq int64, tags []string) error {
	for _, tag := range tags {
		_, err := e.tx.Exec(ctx, `DELETE FROM bookmark_tag WHERE bookmark_seq = $3
			AND tag_seq = (SELECT t.seq FROM tag t WHERE t.workspace_id = $1 AND t.tag_key = $2)`, e.scope.WorkspaceID, rules.TagKey(tag), seq)
		if err != nil {
			return fmt.Errorf("take the tags away: %w", err)
		}
	}
	return nil
}

// fewTrashed is up to how many bookmarks have their tags taken away one by
// one; of more, the workspace's tags are gone through.
const fewTrashed = 300

// untag takes their tags from n bookmarks that one deletion took; tags are those
// of the first of them, as they are stored.
func (e *Edit) untag(ctx context.Context, n int, tags map[int64]string, deletionID string) error {
	if n > fewTrashed {
		// The sign keeps SQLite from looking each bookmark up below each tag.
		_, err := e.tx.Exec(ctx, `DELETE FROM bookmark_tag WHERE tag_seq IN (SELECT t.seq FROM tag t WHERE t.workspace_id = $1)
			AND +bookmark_seq IN (SELECT seq FROM bookmark WHERE workspace_id = $1 AND `+ofDeletion+`$2)`, e.scope.WorkspaceID, deletionID)
		return err
	}
	for seq, text := range tags {
		list, err := decodeTags(text)
		if err != nil {
			return err
		}
		if err := e.deleteTags(ctx, seq, list); err != nil {
			return err
		}
	}
	return nil
}

// forgetTags removes the workspace's tags that no live bookmark carries.
func (e *Edit) forgetTags(ctx context.Context) error {
	_, err := e.tx.Exec(ctx, `DELETE FROM tag WHERE workspace_id = $1 AND NOT EXISTS (SELECT 1 FROM bookmark_tag bt WHERE bt.tag_seq = tag.seq)`, e.scope.WorkspaceID)
	if err != nil {
		return fmt.Errorf("forget the tags: %w", err)
	}
	return nil
}

// emptyTags removes the tags of a workspace that is being purged itself: those
// of its bookmarks, which have no reference to it.
func (t *Tree) emptyTags(ctx context.Context, scope access.Scope) error {
	return t.empty(ctx, scope, func(tx *sqldb.Tx) (int64, error) {
		return tx.Exec(ctx, `DELETE FROM bookmark_tag WHERE (tag_seq, bookmark_seq) IN (
			SELECT bt.tag_seq, bt.bookmark_seq FROM tag t JOIN bookmark_tag bt ON bt.tag_seq = t.seq WHERE t.workspace_id = $1`+limited("$2")+`)`,
			scope.WorkspaceID, purgeRows)
	})
}
