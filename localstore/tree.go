package localstore

import (
	"fmt"
	"strings"

	"bm/server/api"
)

// SplitPath splits a folder's path into names: "Dev/Go" is two, `AC\/DC` one.
// Empty names are left out, so that a path may begin or end with a slash.
func SplitPath(path string) []string {
	var names []string
	var name strings.Builder
	flush := func() {
		if text := strings.TrimSpace(name.String()); text != "" {
			names = append(names, text)
		}
		name.Reset()
	}
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path) && (path[i+1] == '/' || path[i+1] == '\\'):
			i++
			name.WriteByte(path[i])
		case path[i] == '/':
			flush()
		default:
			name.WriteByte(path[i])
		}
	}
	flush()
	return names
}

// JoinPath is the path that [SplitPath] splits into names.
func JoinPath(names ...string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		if quoted[i] = name; strings.ContainsAny(name, `\/`) {
			quoted[i] = strings.NewReplacer(`\`, `\\`, `/`, `\/`).Replace(name)
		}
	}
	return strings.Join(quoted, "/")
}

// folderNamed is the first live folder with that name in a parent; nil for
// none. Where none has the name to the letter, case does not count.
func (t *tx) folderNamed(replica int64, parent, name string) (*Entity, error) {
	inside, err := t.folders(`WHERE f.replica = ? AND f.parent = ? AND f.deleted_at = 0 ORDER BY f.sort_order, f.n`, replica, parent)
	if err != nil {
		return nil, err
	}
	var folded *Entity
	for i := range inside {
		switch {
		case inside[i].Title == name:
			return &inside[i], nil
		case folded == nil && strings.EqualFold(inside[i].Title, name):
			folded = &inside[i]
		}
	}
	return folded, nil
}

// ancestors are a folder and those above it, the nearest first, as far as they
// are known. Of a cycle, which a half-merged tree may have, each is listed once.
func (t *tx) ancestors(replica int64, id string) ([]Entity, error) {
	var all []Entity
	seen := map[string]bool{}
	for id != "" && !seen[id] {
		seen[id] = true
		f, err := t.find(replica, api.TypeFolder, id)
		if err != nil {
			return nil, err
		}
		if f == nil {
			break
		}
		all = append(all, *f)
		id = f.Parent
	}
	return all, nil
}

// nearestAlive is the folder id, or the first above it with nothing dead
// between it and the top; "" is the top.
func (t *tx) nearestAlive(replica int64, id string) (string, error) {
	above, err := t.ancestors(replica, id)
	if err != nil {
		return "", err
	}
	alive := id
	if len(above) == 0 {
		alive = ""
	}
	for i := range above {
		if above[i].Deleted() {
			alive = above[i].Parent
		}
	}
	if n := len(above); n > 0 && above[n-1].Parent != "" {
		return "", nil // the chain leads nowhere
	}
	return alive, nil
}

// height is how many levels of live folders there are from a folder down.
func (t *tx) height(replica int64, id string) (int, error) {
	var n int
	err := t.row(`WITH RECURSIVE down (id, level) AS (SELECT ?2, 1 UNION ALL
		SELECT f.id, level + 1 FROM down CROSS JOIN folder f ON f.replica = ?1 AND f.parent = down.id AND f.deleted_at = 0
		WHERE level <= ?3) SELECT MAX(level) FROM down`, replica, id, api.MaxTreeDepth).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("measure the tree: %w", err)
	}
	return n, nil
}
