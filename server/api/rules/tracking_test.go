package rules_test

import (
	"testing"

	"bm/server/api/rules"
)

func TestStripTracking(t *testing.T) {
	for raw, want := range map[string]string{
		"https://a.example/?utm_source=x":                    "https://a.example/",
		"https://a.example/p?utm_source=x&id=7&fbclid=y#top": "https://a.example/p?id=7#top",
		"https://a.example/p?a=%20&&b&UTM_Medium=1":          "https://a.example/p?a=%20&&b",
		"https://a.example/p?gclid=1&msclkid=2#?utm_id=3":    "https://a.example/p#?utm_id=3",
		"https://a.example/p?utm=1&my_utm_source=2":          "https://a.example/p?utm=1&my_utm_source=2",
		"https://a.example/p?":                               "https://a.example/p?",
		"https://a.example/p?x":                              "https://a.example/p?x",
		"https://a.example/#a?utm_source=x":                  "https://a.example/#a?utm_source=x",
		"javascript:go('?utm_source=x')":                     "javascript:go('?utm_source=x')",
		"?utm_source=x":                                      "?utm_source=x",
		"":                                                   "",
	} {
		if got := rules.StripTracking(raw); got != want {
			t.Errorf("%s\n got %s\nwant %s", raw, got, want)
		}
		if again := rules.StripTracking(want); again != want {
			t.Errorf("%s becomes %s the second time", want, again)
		}
	}
}
