// Package apikeys lists, makes, rotates and revokes API keys.
//
// It imports api, op, access and sqldb; how a secret is made it is handed.
package apikeys
