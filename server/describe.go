package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bm/server/api"
	"bm/server/ratelimit"
	"bm/server/web"
)

// describe is what the OpenAPI document says of the service as a whole: the
// limits among it, which no schema holds.
func describe(rates ratelimit.Limits) string {
	var text strings.Builder
	text.WriteString("A bookmark-sharing service.\n\nLimits, as /.well-known/bm shows them:\n\n")
	limits := api.Limits()
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		fmt.Fprintf(&text, "- `%s`: %d\n", name, limits[name])
	}
	text.WriteString("\nRequests:\n\n")
	for _, limit := range requestLimits(rates) {
		fmt.Fprintf(&text, "- %s: %s\n", limit.What, limit.Most)
	}
	return text.String()
}

// requestLimits are how many requests this server takes.
func requestLimits(rates ratelimit.Limits) []web.Limit {
	most := func(allowed, seconds int) string {
		if allowed == 0 {
			return "no limit"
		}
		return fmt.Sprintf("%d in %d seconds", allowed, seconds)
	}
	return []web.Limit{
		{What: "Requests of an API key", Most: most(rates.Key, 60)},
		{What: "Requests of an organization's keys together", Most: most(rates.Tenant, 60)},
		{What: "Requests of an address under /api/v1, or without a key", Most: most(rates.IP, 60)},
		{What: "Requests of an address to sign in or register", Most: most(rates.Auth, 900)},
	}
}
