package ratelimit

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Client is a request's client for counting: its address. X-Forwarded-For is believed
// only where the request, and every hop to the right of the answer, came from one of
// proxies: anything further left is the client's own claim. An IPv6
// client counts by its /64, the least that one is given.
func Client(r *http.Request, proxies []netip.Prefix) string {
	at, ok := hostAddress(r.RemoteAddr)
	if !ok {
		return "unknown"
	}
	if trusted(proxies, at) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			next, ok := hostAddress(strings.TrimSpace(hop))
			if !ok {
				break
			}
			if at = next; !trusted(proxies, at) {
				break
			}
		}
	}
	if at.Is6() {
		if whole, err := at.Prefix(64); err == nil {
			return whole.String()
		}
	}
	return at.String()
}

func trusted(proxies []netip.Prefix, at netip.Addr) bool {
	return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// hostAddress reads an address with or without a port.
func hostAddress(s string) (netip.Addr, bool) {
	if both, err := netip.ParseAddrPort(s); err == nil {
		return both.Addr().Unmap().WithZone(""), true
	}
	at, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return at.Unmap().WithZone(""), err == nil
}

type clientKey struct{}

// WithClient puts a request's client into its context, for what is counted
// deeper inside.
func WithClient(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// ClientOf is the client of a request; "unknown" where none was set.
func ClientOf(ctx context.Context) string {
	if client, ok := ctx.Value(clientKey{}).(string); ok {
		return client
	}
	return "unknown"
}
