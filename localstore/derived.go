package localstore

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"bm/server/api/rules"
)

// The hashes in a file are those of keys of this version. A build with another
// one does not compile until it brings a schema that computes them anew.
const _ = uint(1 - rules.URLKeyVersion)

// urlHash is what the index of URLs holds: eight bytes of the key's hash, a
// fraction of the URL's size. Who finds a row by it compares the keys.
func urlHash(url string) int64 {
	if url == "" {
		return 0
	}
	return keyHash(rules.URLKey(url))
}

// keyHash is the same of a key, which is not always its own: that of a long URL
// ends in a hash.
func keyHash(key string) int64 {
	sum := sha256.Sum256([]byte(key))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// writeTags brings the table of tags from what a bookmark had to what it has.
func (t *tx) writeTags(replica, n int64, had, has []string) error {
	if slices.Equal(had, has) {
		return nil
	}
	for _, name := range had {
		if slices.Contains(has, name) {
			continue
		}
		if err := t.run(`DELETE FROM tag WHERE replica = ? AND key = ? AND n = ?`, replica, rules.TagKey(name), n); err != nil {
			return fmt.Errorf("take a tag off: %w", err)
		}
	}
	for _, name := range has {
		if slices.Contains(had, name) {
			continue
		}
		if err := t.run(`INSERT OR REPLACE INTO tag (replica, key, n, name) VALUES (?, ?, ?, ?)`, replica, rules.TagKey(name), n, spelling(rules.TagKey(name), name)); err != nil {
			return fmt.Errorf("put a tag on: %w", err)
		}
	}
	return nil
}

// sameText reports whether both read the same to the search index.
func sameText(a, b *Fields) bool {
	return a.Title == b.Title && a.URL == b.URL && a.Description == b.Description && slices.Equal(a.Tags, b.Tags)
}

// spelling is what the table of tags holds beside a key: nothing where the tag
// is spelled as its key is, as most are.
func spelling(key, name string) string {
	if name == key {
		return ""
	}
	return name
}
