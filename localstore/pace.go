package localstore

import "time"

// What a step of bulk work may hold. An edit beside it waits for the rest of one
// and the commit, and then gets the gap, so none of them may be long.
const (
	paceTarget = 38 * time.Millisecond
	paceFirst  = 300
	paceLeast  = 50
	paceMost   = 1200
)

// PaceText is how much text one step of bulk work takes, beside its number
// of rows: the index costs by the word, and a long description has as many as a
// hundred titles.
const PaceText = 192 << 10

// Pace says how many rows the next step of bulk work takes, from how long the
// last one took here. The zero value is ready for use.
type Pace struct{ rows int }

// Rows is how many rows the next step takes.
func (p *Pace) Rows() int {
	if p.rows == 0 {
		return paceFirst
	}
	return p.rows
}

// Time runs a step of so many rows, and learns from how long it took.
// One that was not full says nothing of how much more would have been too much.
func (p *Pace) Time(rows int, run func() error) error {
	began := time.Now()
	err := run()
	took := time.Since(began)
	if full := rows >= p.Rows(); err == nil && rows > 0 && (full || took > paceTarget) {
		p.learn(rows, took)
	}
	return err
}

// learn moves half of the way, so that one stall does not count for much.
func (p *Pace) learn(rows int, took time.Duration) {
	fits := int64(paceMost)
	if took > 0 {
		fits = min(fits, int64(rows)*int64(paceTarget)/int64(took))
	}
	p.rows = max(paceLeast, (p.Rows()+int(fits))/2)
}
