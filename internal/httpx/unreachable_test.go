package httpx_test

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/magpie-search/magpie/internal/httpx"
)

// The text of a failure has no address except the given one.
func TestFailuresNameNoAddresses(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	guard := httpx.NewGuard(loopback())
	accepted := make(chan net.Conn, 1)
	go func() {
		peer, err := listener.Accept()
		if err != nil {
			close(accepted)
			return
		}
		accepted <- peer
	}()
	made, err := guard.DialContext(t.Context(), "tcp", net.JoinHostPort("localhost", port))
	if err != nil {
		t.Fatal(err)
	}
	peer := <-accepted
	_ = peer.(*net.TCPConn).SetLinger(0)
	_ = peer.Close()
	_ = listener.Close()
	_, err = made.Read(make([]byte, 1))
	if !errors.Is(err, syscall.ECONNRESET) || strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), port) {
		t.Errorf("a reset connection: %v", err)
	}
	_ = made.Close()
	_, err = guard.DialContext(t.Context(), "tcp", net.JoinHostPort("localhost", port))
	if !errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "127.0.0.1") || err.Error() != "connect to localhost:"+port+": connection refused" {
		t.Errorf("a closed port: %v", err)
	}
	if httpx.ErrRefused.Error() != httpx.ErrNoHost.Error() {
		t.Error("the texts of a refused address and a missing name differ")
	}
}
