package op

import (
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"bm/server/api"
)

// line is a client that sends so many bytes each time, and so long after the
// time before, on a clock of its own.
type line struct {
	at, deadline time.Time
	piece, left  int
	pause        time.Duration
}

func (l *line) now() time.Time { return l.at }

func (l *line) SetReadDeadline(at time.Time) error {
	l.deadline = at
	return nil
}

func (l *line) Close() error { return nil }

func (l *line) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	l.at = l.at.Add(l.pause)
	if !l.deadline.IsZero() && l.at.After(l.deadline) {
		l.at = l.deadline
		return 0, os.ErrDeadlineExceeded
	}
	n := min(l.piece, l.left, len(p))
	l.left -= n
	return n, nil
}

// recorder notes the deadlines that it is given.
type recorder struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (r *recorder) SetReadDeadline(at time.Time) error {
	r.deadlines = append(r.deadlines, at)
	return nil
}

// However long the work on it may take, a body has to come in good time.
func TestABodyHasItsOwnDeadline(t *testing.T) {
	for within, want := range map[time.Duration]time.Duration{time.Second: time.Second, bodyTime: bodyTime, time.Hour: bodyTime} {
		w := &recorder{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		if _, err := readBody(w, httptest.NewRequest("POST", "/", strings.NewReader("{}")), 10, within); err != nil {
			t.Fatal(err)
		}
		if len(w.deadlines) != 2 || w.deadlines[0].Before(before.Add(want)) || w.deadlines[0].After(time.Now().Add(want)) || !w.deadlines[1].IsZero() {
			t.Errorf("of %v: %v from %v", within, w.deadlines, before)
		}
	}
}

// An upload may be slow, but neither stand still nor trickle for ever.
func TestUploadsMayBeSlowButNotForEver(t *testing.T) {
	for name, c := range map[string]struct {
		line    line
		refused bool
		within  time.Duration
	}{
		"fast":         {line{piece: 1 << 20, pause: time.Millisecond}, false, time.Minute},
		"slow, honest": {line{piece: 32 << 10, pause: time.Second}, false, time.Hour},
		"in bursts":    {line{piece: 1 << 20, pause: 50 * time.Second}, false, time.Hour},
		"a trickle":    {line{piece: 64, pause: 50 * time.Second}, true, 3 * time.Minute},
		"a byte each":  {line{piece: 1, pause: time.Millisecond}, true, 3 * time.Minute},
		"stands still": {line{piece: 1 << 20, pause: 2 * time.Minute}, true, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			l := c.line
			l.left, l.at = api.MaxImportBody, time.Unix(1_000_000, 0)
			began := l.at
			_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, newPatient(&l, &l, l.now), make([]byte, 1<<20))
			if refused := errors.Is(err, os.ErrDeadlineExceeded); refused != c.refused {
				t.Errorf("refused: %v; %v", refused, err)
			}
			if took := l.at.Sub(began); took > c.within {
				t.Errorf("it took %v", took)
			}
		})
	}
}
