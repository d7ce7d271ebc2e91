package control

import (
	"strconv"
	"strings"
)

// Newer reports whether version a comes after version b. Builds that are no
// release are neither older nor newer than anything.
func Newer(a, b string) bool {
	left, ok := numbers(a)
	right, also := numbers(b)
	if !ok || !also {
		return false
	}
	for i := range left {
		if left[i] != right[i] {
			return left[i] > right[i]
		}
	}
	// A release comes after what led up to it.
	return !strings.Contains(a, "-") && strings.Contains(b, "-")
}

func numbers(version string) (n [3]int, ok bool) {
	core, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	parts := strings.Split(core, ".")
	if len(parts) != len(n) {
		return n, false
	}
	for i, part := range parts {
		value, err := strconv.Atoi(part)
		if err != nil || value < 0 {
			return n, false
		}
		n[i] = value
	}
	return n, true
}
