package syncing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bm/cli/app"
	"bm/daemon/control"
)

// What SQLite says of a full disk reaches nobody, whoever ran the round; nor does
// it say that nothing was changed, since a round is many transactions.
func TestNoRoomForARound(t *testing.T) {
	chain := `sync "Bookmarks": take in what the server said: commit: database or disk is full (13)`
	for what, err := range map[string]error{
		"by itself":     errors.New(chain),
		"by the daemon": &control.Failure{Message: "profile default: " + chain},
	} {
		told, ok := errors.AsType[*app.Error](cutOff(err))
		switch {
		case !ok:
			t.Errorf("%s: %v", what, err)
		case told.Kind != app.Failed || !strings.HasPrefix(told.Message, "The disk is full. ") || strings.Contains(told.Message, "commit") || strings.Contains(told.Message, "Nothing was changed"):
			t.Errorf("%s: %d, %q", what, told.Kind, told.Message)
		case told.Next == "":
			t.Errorf("%s: what to do is not said", what)
		}
	}
	told, ok := errors.AsType[*app.Error](cutOff(fmt.Errorf("pull: %w", context.Canceled)))
	if !ok || told.Kind != app.Interrupted || told.Message != "Interrupted. What was brought in step so far stays." || told.Next == "" {
		t.Errorf("interrupted: %+v", told)
	}
	other := errors.New("the server is not there")
	if err := cutOff(other); !errors.Is(err, other) {
		t.Errorf("something else: %v", err)
	}
	if err := cutOff(nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

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
