package httpx

import (
	"context"
	"net"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

const (
	dialTimeout   = 10 * time.Second
	keepAlive     = 30 * time.Second
	fallbackDelay = 300 * time.Millisecond
)

// Guard decides which addresses may be connected to. It is safe for concurrent
// use.
type Guard struct {
	dialer net.Dialer
}

// NewGuard makes a guard that allows the public internet and, besides it, the
// given networks. Prefixes of IPv4-mapped addresses count as IPv4, invalid ones
// allow nothing.
func NewGuard(allowed []netip.Prefix) *Guard {
	return NewGuardWithResolver(allowed, nil)
}

// NewGuardWithResolver is NewGuard with another resolver of names than the
// system's. A nil resolver is the system's.
func NewGuardWithResolver(allowed []netip.Prefix, resolver *net.Resolver) *Guard {
	var four, six []netip.Prefix
	for _, prefix := range allowed {
		if address := prefix.Addr(); address.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(address.Unmap(), prefix.Bits()-96)
		}
		prefix = prefix.Masked()
		switch {
		case !prefix.IsValid():
		case prefix.Addr().Is4():
			four = append(four, prefix)
		default:
			six = append(six, prefix)
		}
	}
	guardian := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(four...), ssrf.WithAllowedV6Prefixes(six...))
	return &Guard{dialer: net.Dialer{
		Timeout: dialTimeout, KeepAlive: keepAlive, FallbackDelay: fallbackDelay,
		Resolver: resolver, Control: guardian.Safe,
	}}
}

// DialContext connects to an address as net.Dialer does, or returns ErrRefused.
// Only TCP is allowed. Connecting takes at most 10 s. No error of it or of the
// connection names an address but the one that was asked for.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	made, err := g.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, failed(address, err)
	}
	return connection{made}, nil
}
