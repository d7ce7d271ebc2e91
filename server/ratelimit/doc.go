// Package ratelimit counts requests against the stated limits, with two
// weighted counters for each key: a sliding window in constant memory.
//
// It may import op, whose Limiter it is.
package ratelimit
