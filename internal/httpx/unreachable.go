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

// hidden is all that is told of a name without an address and of an address that
// is refused: who may try names learns nothing of an internal network by them.
const hidden = "there is no host of this name, or its address is in a private or reserved network, which is not allowed here " +
	"(the operator can allow networks with ALLOWED_PRIVATE_NETWORKS)"

// ErrRefused is returned (wrapped) when an address lies in a network that
// Magpie does not connect to, ErrNoHost when a name has no address. Their texts
// are the same, and tell the operator what to do; the address a name resolved to
// and the server that was asked for it are kept out of them.
var (
	ErrRefused = errors.New(hidden)
	ErrNoHost  = errors.New(hidden)
)

// IsHidden reports whether an error is ErrRefused or ErrNoHost, which people are
// not to tell apart, by its text or by what is done about it.
func IsHidden(err error) bool { return errors.Is(err, ErrRefused) || errors.Is(err, ErrNoHost) }

// dialError is an attempt to connect that failed, told without the addresses
// that took part in it: the text of the cause has them.
type dialError struct {
	address, text string
	cause         error
}

func (e *dialError) Error() string { return "connect to " + e.address + ": " + e.text }
func (e *dialError) Unwrap() error { return e.cause }

// failed is what is told of a failure to connect to an address.
func failed(address string, err error) error {
	e := &dialError{address: address, cause: err}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrInvalidHostPort):
		e.text, e.cause = hidden, ErrRefused
	case isDNS && dns.IsNotFound:
		e.text, e.cause = hidden, ErrNoHost
	case errors.Is(err, context.Canceled):
		e.text = context.Canceled.Error()
	case isDNS && !dns.IsTimeout:
		e.text = "its name cannot be looked up at the moment"
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

// connection tells of its failures without addresses: those of this host and of
// what a name resolved to are in the errors of the net package.
type connection struct{ net.Conn }

func (c connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, unaddressed(err)
}

func (c connection) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, unaddressed(err)
}

func unaddressed(err error) error {
	if whole, ok := err.(*net.OpError); ok { //nolint:errorlint // what a connection returns is not wrapped
		return &net.OpError{Op: whole.Op, Net: whole.Net, Err: whole.Err}
	}
	return err
}

// Public reports whether an address is one of the public internet.
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
