// Package syncer replicates: a [Syncer] brings a replica and its server in step,
// one [Syncer.Round] at a time. When rounds run is the daemon's business.
//
// A round settles what was sent and not answered, pulls to the head, merges,
// mends the tree, pushes what differs, and repeats that until nothing is left;
// then it compares digests. [Merge] is the one place where two versions of a
// row become one: a pure function over one entity.
//
// It works on bm/localstore and on a [Remote] that it declares itself, so that
// it knows no HTTP; beside them it imports the standard library and
// bm/server/api alone. No decision depends on the clock.
package syncer
