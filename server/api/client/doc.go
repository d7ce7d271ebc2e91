// Package client calls a bm server: one method per operation, each answering
// the types of bm/server/api.
//
// A failure that the server reports is the *api.Error that it made, with its
// correlation id and Retry-After. A server that can't be reached, or that
// breaks off, is an *[Unreachable]. A key never goes over plain http to
// another machine unless the caller allows it ([ErrInsecure]), and never
// follows a redirect. Every answer is read up to a bound.
//
// The package retries nothing: whether a request may be sent again, and when,
// is its caller's to know. It imports bm/server/api alone and is the only
// importer of resty.
package client
