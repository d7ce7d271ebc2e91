package server

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientIP finds the address that limits count: the peer's, or, where the peer
// is a trusted proxy, the rightmost hop of X-Forwarded-For that is none.
func clientIP(trusted []netip.Prefix) func(*http.Request) netip.Addr {
	isTrusted := func(address netip.Addr) bool {
		for _, network := range trusted {
			if network.Contains(address) {
				return true
			}
		}
		return false
	}
	return func(r *http.Request) netip.Addr {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return netip.Addr{}
		}
		address := peer.Addr().Unmap()
		if !isTrusted(address) {
			return address
		}
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for i := len(hops) - 1; i >= 0; i-- {
			hop, ok := parseHop(strings.TrimSpace(hops[i]))
			if !ok {
				break // what stands left of it may be forged
			}
			if address = hop.Unmap(); !isTrusted(address) {
				break
			}
		}
		return address
	}
}

// parseHop reads an address; some proxies say the port too.
func parseHop(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr(), true
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return address, err == nil
}
