// Package op turns a typed function into an operation of the API. A feature
// declares it once, with [Register]; routing, the order of checks (route,
// rate, credential, right, media type, body), decoding, validation, error
// envelopes, idempotency and the OpenAPI document follow from that one row.
//
// Registering panics where an operation does not say who may call it: a
// missing authorisation is a defect that must not start.
//
// It is the only importer of huma, of which it uses the schema generator, the
// validator and the OpenAPI model. Dispatch is its own, on net/http: that
// keeps the contract's order of checks, its one error shape and streaming
// bodies free of a framework's ideas about them.
package op
