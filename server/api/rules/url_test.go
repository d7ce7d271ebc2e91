package rules_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"bm/server/api/rules"
)

func TestURLKey(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                 "",
		"https://go.dev":                   "https://go.dev/",
		" HTTPS://Go.Dev:443/ ":            "https://go.dev/",
		"http://go.dev:80":                 "http://go.dev/",
		"http://go.dev:8080":               "http://go.dev:8080/",
		"http://go.dev:":                   "http://go.dev/",
		"http://go.dev:0080/":              "http://go.dev/",
		"https://go.dev:80/":               "https://go.dev:80/",
		"https://go.dev#":                  "https://go.dev/",
		"https://go.dev#top":               "https://go.dev/#top",
		"https://go.dev/a#b#":              "https://go.dev/a#b#",
		"https://go.dev?":                  "https://go.dev/?",
		"https://go.dev?q=1":               "https://go.dev/?q=1",
		"https://go.dev/A/b/?utm_source=x": "https://go.dev/A/b/?utm_source=x",
		"https://go.dev/%7euser/%e4%BD%a0": "https://go.dev/~user/%E4%BD%A0",
		"https://go.dev/~user/你":           "https://go.dev/~user/%E4%BD%A0",
		"https://go.dev/a%2fb":             "https://go.dev/a%2Fb",
		"https://go.dev/100%":              "https://go.dev/100%25",
		"https://go.dev/a b|c":             "https://go.dev/a%20b%7Cc",
		"https://go.dev/?a[]=1&b[]":        "https://go.dev/?a[]=1&b[]",
		"https://go.dev/a\n\tb":            "https://go.dev/ab",
		"https://Bücher.example/":          "https://xn--bcher-kva.example/",
		"https://BÜCHER.example/":          "https://xn--bcher-kva.example/",
		"https://xn--bcher-kva.example":    "https://xn--bcher-kva.example/",
		"http://User:Pw@Go.dev/":           "http://User:Pw@go.dev/",
		"http://@go.dev/":                  "http://go.dev/",
		"http://[2001:DB8::1]:80/x":        "http://[2001:db8::1]/x",
		"ftp://FTP.example:21":             "ftp://ftp.example/",
		"go.dev/x":                         "go.dev/x",
		"?lY47tw":                          "?lY47tw",
		"http:/go.dev":                     "http:/go.dev",
		"http://":                          "http://",
		"javascript:Alert( 1 )":            "javascript:Alert( 1 )",
		"place:sort=8&maxResults=10":       "place:sort=8&maxResults=10",
		"ABOUT:Config":                     "ABOUT:Config",
		"chrome://Settings":                "chrome://Settings",
		"https://go.dev/\xff":              "https://go.dev/%FF",
	} {
		if got := rules.URLKey(raw); got != want {
			t.Errorf("URLKey(%q)\n got %q\nwant %q", raw, got, want)
		}
	}
}

func TestURLKeyIsBounded(t *testing.T) {
	long := "https://go.dev/" + strings.Repeat("漢", 30_000)
	a, b := rules.URLKey(long+"a"), rules.URLKey(long+"b")
	if len(a) > rules.MaxURLKey || !strings.HasPrefix(a, "https://go.dev/") {
		t.Errorf("%d bytes, beginning %.20q", len(a), a)
	}
	if a == b {
		t.Error("two long URLs have one key")
	}
	if data := rules.URLKey("data:," + strings.Repeat("漢", 30_000)); len(data) > rules.MaxURLKey || !utf8.ValidString(data) {
		t.Errorf("%d bytes, valid: %v", len(data), utf8.ValidString(data))
	}
}

func TestIsAbsoluteURL(t *testing.T) {
	for raw, want := range map[string][2]bool{ // absolute, web
		"https://go.dev":           {true, true},
		"HTTP://localhost:8080/x":  {true, true},
		"https://u:p@go.dev/?q= x": {true, true},
		"https://bücher.example":   {true, true},
		"http://[::1]/":            {true, true},
		"http://u:p@[::1]:8080?x":  {true, true},
		"http://[fe80::1%25en0]/":  {true, true},
		"http://go.dev:65535":      {true, true},
		"http://go.dev:":           {true, true},
		"http://a_b.example./":     {true, true},
		"https://":                 {false, false},
		"https:///x":               {false, false},
		"https:go.dev":             {false, false},
		"https://:80/":             {false, false},
		"https://a b/":             {false, false},
		"https://<script>/":        {false, false},
		"https://x@/":              {false, false},
		"http://[::1":              {false, false},
		"http://::1]/":             {false, false},
		"http://[::1]x/":           {false, false},
		"http://[go.dev]/":         {false, false},
		"http://[]/":               {false, false},
		"http://[/":                {false, false},
		"http://::1/":              {false, false},
		"http://go.dev]/":          {false, false},
		"http://go.dev:port/":      {false, false},
		"http://go.dev:1:2/":       {false, false},
		"http://go.dev:65536/":     {false, false},
		"javascript:alert(1)":      {true, false},
		"data:text/html,<b>":       {true, false},
		"place:type=6":             {true, false},
		"about:blank":              {true, false},
		"file:///etc/hosts":        {true, false},
		"mailto:a@b.example":       {true, false},
		"about:":                   {false, false},
		"?lY47tw":                  {false, false},
		"/x":                       {false, false},
		"//go.dev/":                {false, false},
		"go.dev":                   {false, false},
		"1a:b":                     {false, false},
		"a b:c":                    {false, false},
		"":                         {false, false},
	} {
		if got := [2]bool{rules.IsAbsoluteURL(raw), rules.IsWebURL(raw)}; got != want {
			t.Errorf("%q: absolute, web = %v, want %v", raw, got, want)
		}
	}
}

func FuzzURLKey(f *testing.F) {
	for _, seed := range []string{"https://go.dev:443/%7e?q#", "http://ex\u00e4mple/\xff", "javascript:1", "http://[::1]:/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		key := rules.URLKey(raw)
		if len(key) > rules.MaxURLKey || !utf8.ValidString(key) || strings.IndexByte(key, 0) >= 0 {
			t.Fatalf("the key of %q cannot be stored: %q", raw, key)
		}
		if again := rules.URLKey(key); again != key && !strings.Contains(key, " sha256:") {
			t.Fatalf("the key of %q is %q, its key %q", raw, key, again)
		}
		if rules.IsWebURL(raw) && !rules.IsAbsoluteURL(raw) {
			t.Fatalf("%q is web but not absolute", raw)
		}
	})
}

func BenchmarkURLKey(b *testing.B) {
	urls := []string{
		"https://example.com/blog/2024/01/some-article-title?utm_source=x&id=42",
		"http://Example.org:80/%7euser/index.html#part",
		"https://bücher.example/straße",
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		rules.URLKey(urls[i%len(urls)])
	}
}
