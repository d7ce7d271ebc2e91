package admin

import (
	"context"

	"bm/server/sqldb"
)

// CheckRows is what [Check] finds in the rows that one transaction sees.
func CheckRows(ctx context.Context, tx *sqldb.Tx) ([]Finding, error) {
	c := &checker{}
	err := c.all(ctx, func(fn func(*sqldb.Tx) error) error { return fn(tx) })
	return c.findings, err
}
