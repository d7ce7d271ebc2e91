// Package profile is an account as it sees itself: GET and PATCH /api/v1/me
// and the effective permissions.
//
// It imports api, op, access and sqldb.
package profile
