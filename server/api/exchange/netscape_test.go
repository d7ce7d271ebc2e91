package exchange_test

import (
	"io"
	"testing"

	"bm/server/api/exchange"
)

func readAll(t testing.TB, r io.Reader) []*exchange.Entry {
	t.Helper()
	reader, err := exchange.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	var all []*exchange.Entry
	for e, err := range reader.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}
