package httpx

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

// ErrRefused is returned (wrapped) when an address lies in a network that
// Magpie does not connect to. Its text tells the operator what to do; the
// address a name resolved to is kept out of it, so that nobody learns the
// layout of an internal network by trying names.
var ErrRefused = errors.New("the address is in a private or reserved network, which is not allowed here " +
	"(the operator can allow networks with ALLOWED_PRIVATE_NETWORKS)")

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
// Only TCP is allowed. Connecting takes at most 10 s.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := g.dialer.DialContext(ctx, network, address)
	switch {
	case err == nil:
		return connection, nil
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrInvalidHostPort):
		return nil, fmt.Errorf("connect to %s: %w", address, ErrRefused)
	default:
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
}
