package server

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientIP(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		peer      string
		forwarded []string
		trusted   []netip.Prefix
		want      string
	}{
		{"192.0.2.1:1", nil, nil, "192.0.2.1"},
		{"[::ffff:192.0.2.1]:1", nil, nil, "192.0.2.1"},
		{"[2001:db8::1]:1", nil, nil, "2001:db8::1"},
		// Nobody but a trusted proxy is believed.
		{"192.0.2.1:1", []string{"198.51.100.7"}, nil, "192.0.2.1"},
		{"192.0.2.1:1", []string{"198.51.100.7"}, trusted, "192.0.2.1"},
		{"10.0.0.1:1", []string{"198.51.100.7"}, nil, "10.0.0.1"},
		{"10.0.0.1:1", []string{"198.51.100.7"}, trusted, "198.51.100.7"},
		{"[fd00::1]:1", []string{"198.51.100.7"}, trusted, "198.51.100.7"},
		// The rightmost hop that is no proxy; what stands left of it may be forged.
		{"10.0.0.1:1", []string{"203.0.113.9, 198.51.100.7, 10.0.0.2"}, trusted, "198.51.100.7"},
		{"10.0.0.1:1", []string{"203.0.113.9", "198.51.100.7", "10.0.0.2"}, trusted, "198.51.100.7"},
		{"10.0.0.1:1", []string{"203.0.113.9,  2001:db8::7 "}, trusted, "2001:db8::7"},
		{"10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, trusted, "10.0.0.3"},
		{"10.0.0.1:1", []string{"198.51.100.7, garbage"}, trusted, "10.0.0.1"},
		{"10.0.0.1:1", []string{"198.51.100.7, garbage, 10.0.0.2"}, trusted, "10.0.0.2"},
		// Some proxies say the port too.
		{"10.0.0.1:1", []string{"203.0.113.9:1, 198.51.100.7:4711, 10.0.0.2:80"}, trusted, "198.51.100.7"},
		{"10.0.0.1:1", []string{"[2001:db8::7]:4711"}, trusted, "2001:db8::7"},
		{"10.0.0.1:1", []string{"[2001:db8::7]"}, trusted, "2001:db8::7"},
		{"10.0.0.1:1", []string{"198.51.100.7:x"}, trusted, "10.0.0.1"},
		{"10.0.0.1:1", []string{""}, trusted, "10.0.0.1"},
		{"10.0.0.1:1", nil, trusted, "10.0.0.1"},
		{"", nil, trusted, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := clientIP(c.trusted)(r).String(); got != c.want {
			t.Errorf("%s, forwarded for %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}
