// Package auth is how a caller proves who it is: registering, signing in with
// a password, sessions with access and refresh tokens, and the check of every
// request's bearer token, signed-in user or API key.
//
// It imports api, op, access and sqldb. What it needs of organizations,
// workspaces and profiles it declares as interfaces.
package auth
