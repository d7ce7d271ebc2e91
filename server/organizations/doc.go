// Package organizations makes tenants and memberships.
//
// It may import api, access and sqldb.
package organizations
