package syncing

import "testing"

func TestWaitingEndsWhereNothingMoves(t *testing.T) {
	rounds := func(left func(round int) int) int {
		var w waiting
		for n := 1; ; n++ {
			if w.over(left(n)) {
				return n
			}
		}
	}
	for what, c := range map[string]struct {
		left func(int) int
		want int
	}{
		"all was sent":          {func(int) int { return 0 }, 1},
		"sent in parts":         {func(n int) int { return max(0, 50-10*n) }, 5},
		"stuck":                 {func(int) int { return 7 }, 4},
		"stuck after a while":   {func(n int) int { return max(3, 10-n) }, 10},
		"edits all the time":    {func(n int) int { return 1 + n%2 }, maxRounds},
		"a pause in the middle": {func(n int) int { return []int{5, 5, 5, 2, 0}[n-1] }, 5},
	} {
		if got := rounds(c.left); got != c.want {
			t.Errorf("%s: %d rounds, want %d", what, got, c.want)
		}
	}
}
