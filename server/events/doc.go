// Package events tells those who wait that a workspace has changed: the event
// streams and the held polls of this process, and through PostgreSQL those of
// the others. An event is a poke, never the truth: it says what to look at.
//
// It imports api, access and sqldb.
package events
