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

// A Guard decides which addresses may be dialled. It is safe for concurrent use.
type Guard struct {
	dialer net.Dialer
}

// NewGuard returns a guard that allows the public internet and the given networks.
// Prefixes of IPv4-mapped addresses count as IPv4. Invalid prefixes allow nothing.
func NewGuard(allowed []netip.Prefix) *Guard {
	return NewGuardWithResolver(allowed, nil)
}

// NewGuardWithResolver is NewGuard with a resolver. A nil resolver is that of the
// system.
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

// DialContext connects like net.Dialer, or returns ErrRefused. It allows only TCP and
// takes at most 10 s. Its errors and those of the connection contain no address
// except the given one.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := g.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, dialFailure(address, err)
	}
	return connection{conn}, nil
}
