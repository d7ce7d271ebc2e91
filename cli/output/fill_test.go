package output_test

import (
	"testing"

	"bm/cli/output"
)

func TestFill(t *testing.T) {
	text := "One two three\nfour.\n\n  as it   is, however long\n\nA-word-that-is-wide ü ü ü"
	for width, want := range map[int]string{
		8:  "One two\nthree\nfour.\n\n  as it   is, however long\n\nA-word-that-is-wide\nü ü ü",
		18: "One two three\nfour.\n\n  as it   is, however long\n\nA-word-that-is-wide\nü ü ü",
		80: "One two three four.\n\n  as it   is, however long\n\nA-word-that-is-wide ü ü ü",
	} {
		if got := output.Fill(text, width); got != want {
			t.Errorf("%d columns:\n%s\nwant:\n%s", width, got, want)
		}
	}
}
