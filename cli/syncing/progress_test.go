package syncing

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"bm/cli/output"
)

// What comes is counted first, then what goes, of all that has to go; a round
// that does neither shows nothing.
func TestWhatARoundShows(t *testing.T) {
	var shown bytes.Buffer
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	streams := &output.Streams{Err: &shown, Width: 80, Now: func() time.Time { return now }}
	w := watching{before: stand{bookmarks: 10, unsent: 200}, waiting: streams.Await()}
	for _, s := range []stand{
		{receiving: true, bookmarks: 10, unsent: 200}, // nothing yet
		{receiving: true, bookmarks: 310, unsent: 200},
		{receiving: true, bookmarks: 610, unsent: 200},
		{bookmarks: 610, unsent: 150},
		{bookmarks: 610, unsent: 100},
	} {
		w.show(streams, s)
		now = now.Add(6 * time.Second)
	}
	w.end()
	got := strings.Split(strings.TrimSpace(shown.String()), "\n")
	if len(got) != 2 || !strings.HasPrefix(got[0], "Receiving: 600 bookmarks") || !strings.HasPrefix(got[1], "Sending: 100 of 200 changes") {
		t.Errorf("%q", got)
	}
}
