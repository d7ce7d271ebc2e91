package exchange_test

import (
	"bytes"
	"io"
	"testing"

	"golang.org/x/net/html"

	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
)

func generated(b testing.TB, n int) []byte {
	b.Helper()
	var file bytes.Buffer
	if err := exchangetest.Generate(&file, 1, n); err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}

// The ceiling: the tokenizer alone.
func BenchmarkTokenizer(b *testing.B) {
	file := generated(b, 100_000)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		z := html.NewTokenizer(bytes.NewReader(file))
		for z.Next() != html.ErrorToken {
		}
	}
}

func BenchmarkReadHTML(b *testing.B) {
	file := generated(b, 100_000)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if n := count(b, bytes.NewReader(file)); n != 100_000 {
			b.Fatalf("%d entries", n)
		}
	}
}

func BenchmarkReadJSON(b *testing.B) {
	c := exchangetest.Make(1, 100_000)
	var file bytes.Buffer
	if err := writers["JSON"](&file, c); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		if n := count(b, bytes.NewReader(file.Bytes())); n != 100_000 {
			b.Fatalf("%d entries", n)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	file := generated(b, 100_000)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		reader, err := exchange.NewReader(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		w := &workspace{}
		planner := exchange.NewPlanner(w, exchange.Options{Now: importedAt, NewID: w.newID})
		for e, err := range reader.All() {
			if err != nil {
				b.Fatal(err)
			}
			if _, err := planner.Next(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkWriteHTML(b *testing.B) {
	c := exchangetest.Make(1, 100_000)
	for b.Loop() {
		if err := exchange.WriteHTML(io.Discard, c.Source()); err != nil {
			b.Fatal(err)
		}
	}
}

func count(b testing.TB, r io.Reader) int {
	b.Helper()
	reader, err := exchange.NewReader(r)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for e, err := range reader.All() {
		if err != nil {
			b.Fatal(err)
		}
		if e.Kind == exchange.Bookmark {
			n++
		}
	}
	return n
}
