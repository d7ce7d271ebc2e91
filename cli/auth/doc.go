// Package auth holds the commands about who is signed in: login, register,
// logout, status, token and switch.
//
// A login leaves one tenant-wide API key per organization, named after the
// machine, in the keyring, and no session.
package auth
