// Package api is bm's wire contract: the resources, requests, errors and limits
// that server, client, replica and command line agree on.
//
// It is a leaf: it imports the standard library alone, so that anything may
// import it. The rules that every writer of a bookmark must obey (limits,
// normal forms of tags and URLs) stand here once and serve the REST
// operations, the import, the change feed and the offline replica alike.
package api
