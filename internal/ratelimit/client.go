package ratelimit

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Client returns the client of a request for counting: its address, or the /64 of an
// IPv6 address, the smallest network that a client gets. X-Forwarded-For counts
// only as far as the hops are trusted proxies: the rest is the client's own claim.
func Client(r *http.Request, proxies []netip.Prefix) string {
	at, ok := Address(r, proxies)
	if !ok {
		return "unknown"
	}
	if at.Is6() {
		if network, err := at.Prefix(64); err == nil {
			return network.String()
		}
	}
	return at.String()
}

// Address returns the whole address of the client of a request, by the same rule. It
// is false if the connection has none.
func Address(r *http.Request, proxies []netip.Prefix) (at netip.Addr, ok bool) {
	if at, ok = hostAddress(r.RemoteAddr); !ok {
		return at, false
	}
	if isTrusted(proxies, at) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			next, ok := hostAddress(strings.TrimSpace(hop))
			if !ok {
				break
			}
			if at = next; !isTrusted(proxies, at) {
				break
			}
		}
	}
	return at, true
}

func isTrusted(proxies []netip.Prefix, at netip.Addr) bool {
	return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// hostAddress parses an address with or without a port.
func hostAddress(s string) (netip.Addr, bool) {
	if both, err := netip.ParseAddrPort(s); err == nil {
		return both.Addr().Unmap().WithZone(""), true
	}
	at, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return at.Unmap().WithZone(""), err == nil
}

type clientKey struct{}

// WithClient returns a context with the client of a request.
func WithClient(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// ClientOf returns the client in ctx, or "unknown".
func ClientOf(ctx context.Context) string {
	if client, ok := ctx.Value(clientKey{}).(string); ok {
		return client
	}
	return "unknown"
}
