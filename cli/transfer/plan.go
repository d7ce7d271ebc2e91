package transfer

import (
	"context"

	"bm/server/api"
	"bm/server/api/exchange"
)

// plan decides on every entry of a file that would go into a folder which is
// not there yet: nothing is in it.
func (o *importOptions) plan(ctx context.Context, reader *exchange.Reader, depth int, take func(exchange.Step)) (api.ImportSummary, error) {
	planner := exchange.NewPlanner(nothing{}, exchange.Options{Into: o.app.IDs.New(), Depth: depth, Now: o.app.Now(), NewID: o.app.IDs.New, StripTracking: o.strip})
	for entry, err := range reader.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return planner.Summary(), err
		}
		step, err := planner.Next(ctx, entry)
		if err != nil {
			return planner.Summary(), err
		}
		take(step)
	}
	return planner.Summary(), nil
}

// nothing is what there is in a folder that is yet to be made.
type nothing struct{}

func (nothing) Hash(exchange.Key) uint64 { return 0 }

func (nothing) Contents(context.Context, string, func(exchange.Row)) error { return nil }

func (nothing) Bookmark(context.Context, int64, exchange.Key) (exchange.Found, bool, error) {
	return exchange.Found{}, false, nil
}
