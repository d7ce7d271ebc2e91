// Package sqldb opens the server's database, SQLite or PostgreSQL, and runs
// transactions on it. Everything above it writes one SQL text for both: `$1`
// placeholders, ON CONFLICT … RETURNING, row values, partial indexes.
//
// It maps the drivers' codes to [ErrNotFound], [ErrConflict] and
// [ErrReference], keeps prepared statements, and migrates the schema. It is,
// with localstore, the only importer of SQL drivers.
package sqldb
