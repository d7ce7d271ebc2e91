// Package metrics counts what the server does, for Prometheus. It is served on
// an address of its own, never on the API's.
package metrics
