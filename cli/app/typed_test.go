package app

import (
	"slices"
	"testing"

	"bm/cli/config"
)

func TestTagsAreSplitAndQuoted(t *testing.T) {
	for text, want := range map[string][]string{
		"":            nil,
		" , ":         nil,
		"go":          {"go"},
		"go, lang ,":  {"go", "lang"},
		`a\,b,c`:      {"a,b", "c"},
		`q"uote,'x'`:  {`q"uote`, "'x'"},
		`back\slash`:  {`back\slash`},
		`c++,c#,a\,b`: {"c++", "c#", "a,b"},
	} {
		got := SplitTags(text)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		list := TagList(got)
		if again := SplitTags(list.String()); !slices.Equal(again, got) {
			t.Errorf("%q becomes %q, which is %q", text, list.String(), again)
		}
	}
}

func TestTyped(t *testing.T) {
	for arg, want := range map[string]string{
		"": "''", "go": "go", "two words": "'two words'", "it's": `'it'\''s'`, "a\x1bb": "'a␛b'", "tag:x": "tag:x", "#x": "'#x'",
	} {
		if got := Typed(arg); got != want {
			t.Errorf("%q: got %s, want %s", arg, got, want)
		}
	}
}

func TestURLFault(t *testing.T) {
	for _, good := range []string{
		"https://go.dev", "HTTP://GO.DEV:80/x?y=100%#z", "http://[::1]:8080/", "https://bücher.example/", "https://u:p^w@a.example/",
		"javascript:alert(1)", "mailto:a@b.example", "about:blank", "https://a.example/with space", "http://under_score.example/",
	} {
		if fault := URLFault(good, ""); fault != "" {
			t.Errorf("%q: %s", good, fault)
		}
	}
	for bad, want := range map[string]string{
		"":                          "An empty argument is no URL.",
		" \t":                       "An empty argument is no URL.",
		"not a url":                 `"not a url" (line 7) is no URL.`,
		"http://[::1":               `"http://[::1" (line 7) is no URL.`,
		"https://a.example:99999/":  `"https://a.example:99999/" (line 7) is no URL.`,
		"https://a.example:x/":      `"https://a.example:x/" (line 7) is no URL.`,
		"https://":                  `"https://" (line 7) is no URL.`,
		"https://a.example/\x1b[2J": `"https://a.example/\x1b[2J" (line 7) holds a line break or a control character: it is no URL.`,
		"https://a.example/\nb":     `"https://a.example/\nb" (line 7) holds a line break or a control character: it is no URL.`,
	} {
		if fault := URLFault(bad, " (line 7)"); fault != want {
			t.Errorf("%q: %s, want %s", bad, fault, want)
		}
	}
}

func TestCompleteURL(t *testing.T) {
	for text, want := range map[string]string{
		"go.dev": "https://go.dev", "go.dev:443/x": "https://go.dev:443/x", "localhost:8080": "https://localhost:8080",
		"mailto:x@y.example": "mailto:x@y.example", "https://a.example": "https://a.example", "word": "word", "two words.example": "two words.example",
	} {
		if got := CompleteURL(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The daemon serves every profile: what was said for one command is not heeded.
func TestTheDaemonsEnvironmentIsNoCommands(t *testing.T) {
	got := daemonEnvironment([]string{
		"HOME=/h", "BM_TOKEN=bmk_x", "BM_SERVER=https://b.example", "BM_PROFILE=p", "BM_WORKSPACE=w", "BM_OFFLINE=true",
		"BM_INSECURE_HTTP=true", "BM_INSECURE_STORAGE=true", "BM_DATA_DIR=d", "BM_CONFIG_DIR=../c", "BM_TOKENS=kept",
	}, config.Folders{Config: "/c", Data: "/d"})
	if want := []string{"HOME=/h", "BM_DATA_DIR=/d", "BM_CONFIG_DIR=/c", "BM_TOKENS=kept"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
