package httpx

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"

	"code.dny.dev/ssrf"
)

// refusal is the text of the errors of a name without an address and of a refused
// address. It is the same for both, so that errors reveal no internal network.
const refusal = "there is no host of this name, or its address is in a private or reserved network, which is not allowed here " +
	"(the operator can allow networks with ALLOWED_PRIVATE_NETWORKS)"

// ErrRefused is wrapped by the error of a refused address, and ErrNoHost by that of a
// name without an address. Their common text tells the operator what to do. It has
// neither the resolved address nor the name server.
var (
	ErrRefused = errors.New(refusal)
	ErrNoHost  = errors.New(refusal)
)

// IsHidden reports whether an error is ErrRefused or ErrNoHost. Callers must not
// reveal which.
func IsHidden(err error) bool { return errors.Is(err, ErrRefused) || errors.Is(err, ErrNoHost) }

// A dialError is a failed dial whose text has no address except the given one.
type dialError struct {
	address, text string
	cause         error
}

func (e *dialError) Error() string { return "connect to " + e.address + ": " + e.text }
func (e *dialError) Unwrap() error { return e.cause }

// dialFailure returns a dial error without addresses.
func dialFailure(address string, err error) error {
	e := &dialError{address: address, cause: err}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrInvalidHostPort):
		e.text, e.cause = refusal, ErrRefused
	case isDNS && dns.IsNotFound:
		e.text, e.cause = refusal, ErrNoHost
	case errors.Is(err, context.Canceled):
		e.text = context.Canceled.Error()
	case isDNS && !dns.IsTimeout:
		e.text = "its name cannot be looked up now"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isNetwork && network.Timeout():
		e.text = "it did not answer in time"
	default:
		e.text = "it cannot be reached"
		for _, known := range []syscall.Errno{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH} {
			if errors.Is(err, known) {
				e.text = known.Error()
			}
		}
	}
	return e
}

// A connection removes addresses from its errors: errors of the net package have the
// addresses of both hosts.
type connection struct{ net.Conn }

func (c connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, withoutAddresses(err)
}

func (c connection) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, withoutAddresses(err)
}

// withoutAddresses returns an error of a connection without its addresses.
func withoutAddresses(err error) error {
	if full, ok := err.(*net.OpError); ok { //nolint:errorlint // a connection does not wrap its errors
		return &net.OpError{Op: full.Op, Net: full.Net, Err: full.Err}
	}
	return err
}

// Public reports whether an address is on the public internet.
func Public(address net.Addr) bool {
	to, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return false
	}
	return ssrf.New(ssrf.WithAnyPort()).Safe(network(to), netip.AddrPortFrom(to.Addr().Unmap(), to.Port()).String(), nil) == nil
}

func network(to netip.AddrPort) string {
	if to.Addr().Unmap().Is4() {
		return "tcp4"
	}
	return "tcp6"
}
