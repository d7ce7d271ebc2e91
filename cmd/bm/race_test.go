//go:build race

package main_test

// Under the race detector times mean nothing.
const raceEnabled = true
