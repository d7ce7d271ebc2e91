// Package query is bm's search: what a user types, as a tree ([Parse]); what a
// bookmark holds, as tokens ([NewIndex]); and the two brought together, as SQL
// for SQLite's FTS5 and for PostgreSQL ([Query.Tiers]) or in plain Go
// ([Query.Match]), with the same answers in the same order everywhere.
//
// # Indexing
//
// There is one tokenizer, this one. Neither engine may fold or split any
// further, so that both index exactly the tokens of [Tokens]:
//
//   - SQLite: an FTS5 table declared with [FTS5Tokenize], with the columns
//     title, tags, url and description, filled with the fields of an [Index],
//     and, where several workspaces share it, one more that holds
//     [ScopeToken]. Its rowid is a column of the bookmark's row.
//   - PostgreSQL: a tsvector column with a GIN index, set to
//     $n::tsvector of [Index.TSVector]. to_tsvector is never called: even its
//     `simple` configuration splits at punctuation and would break "c++".
//
// # Searching
//
// A query is a list of tiers, best first: title, tags, url, description, each
// exact before prefix, and last what matches only across fields. A bookmark is
// in one of them, and stands there newest first (createdAt, then id,
// descending): [Hit.Compare] is the order of an answer. [Query.Rank] goes through
// them, by a store's [Engine], until a page is full.
//
// It imports bm/server/api, golang.org/x/text and golang.org/x/net alone and
// does no I/O.
package query
