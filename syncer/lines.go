package syncer

import (
	"slices"
	"strings"
)

// maxLines bounds the texts that are merged by lines; longer ones are conflicts.
const maxLines = 2000

// mergeLines merges two texts that came from one, by lines. It reports false
// where both changed the same lines, or lines right beside each other.
func mergeLines(base, mine, theirs string) (string, bool) {
	o, a, b := strings.Split(base, "\n"), strings.Split(mine, "\n"), strings.Split(theirs, "\n")
	if max(len(o), len(a), len(b)) > maxLines {
		return "", false
	}
	changes := append(hunks(o, a), hunks(o, b)...)
	slices.SortStableFunc(changes, func(x, y hunk) int { return x.from - y.from })
	var out []string
	at := 0
	for i, h := range changes {
		if i > 0 {
			before := changes[i-1]
			if before.from == h.from && before.to == h.to && slices.Equal(before.lines, h.lines) {
				continue // both did the same
			}
			if h.from <= before.to {
				return "", false
			}
		}
		out = append(append(out, o[at:h.from]...), h.lines...)
		at = h.to
	}
	return strings.Join(append(out, o[at:]...), "\n"), true
}

// hunk replaces the lines [from, to) of the base.
type hunk struct {
	from, to int
	lines    []string
}

// hunks are the changes that lead from o to a, by a longest common subsequence
// of what lies between their common beginning and end.
func hunks(o, a []string) []hunk {
	head := 0
	for head < len(o) && head < len(a) && o[head] == a[head] {
		head++
	}
	tail := 0
	for tail < len(o)-head && tail < len(a)-head && o[len(o)-1-tail] == a[len(a)-1-tail] {
		tail++
	}
	x, y := o[head:len(o)-tail], a[head:len(a)-tail]
	common := make([][]int, len(x)+1)
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var all []hunk
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		if i < len(x) && j < len(y) && x[i] == y[j] {
			i, j = i+1, j+1
			continue
		}
		h := hunk{from: head + i}
		for i < len(x) || j < len(y) {
			if i < len(x) && j < len(y) && x[i] == y[j] {
				break
			}
			if j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1] {
				i++
			} else {
				h.lines = append(h.lines, y[j])
				j++
			}
		}
		h.to = head + i
		all = append(all, h)
	}
	return all
}
