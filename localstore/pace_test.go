package localstore

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	var p Pace
	if p.Rows() != paceFirst {
		t.Fatalf("begins with %d rows", p.Rows())
	}
	// rounds of work at so much a row, as the pace finds them.
	settle := func(row time.Duration) int {
		for range 20 {
			p.learn(p.Rows(), time.Duration(p.Rows())*row)
		}
		return p.Rows()
	}
	for _, c := range []struct {
		row         time.Duration
		least, most int
	}{
		{50 * time.Microsecond, 740, 770},
		{time.Nanosecond, paceMost - 1, paceMost},
		{100 * time.Microsecond, 370, 390},
		{time.Second, paceLeast, paceLeast},
		{50 * time.Microsecond, 740, 770},
	} {
		if got := settle(c.row); got < c.least || got > c.most {
			t.Errorf("%v a row: %d rows, want %d to %d", c.row, got, c.least, c.most)
		}
	}
	before := p.Rows()
	if err := p.Time(before/2, func() error { return nil }); err != nil || p.Rows() != before {
		t.Errorf("a short transaction that was quick moved %d to %d, %v", before, p.Rows(), err)
	}
}
