// Package idempotency keeps, for 7 days, what a POST with an Idempotency-Key
// was answered, so that a retry gets the same answer and has no second effect.
//
// It may import api, op, whose Replays it is, and sqldb.
package idempotency
