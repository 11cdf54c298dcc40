package testkit

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TCP returns a local TCP address that leads to the server of a test database, which may
// listen on a socket file, and the login of the database's URL. It ends with the test.
func TCP(t testing.TB, databaseURL string) (host string, port int, login *url.Userinfo) {
	t.Helper()
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	var goroutines sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); goroutines.Wait() })
	forward := func(from net.Conn) {
		to, err := (&net.Dialer{}).DialContext(t.Context(), network, address)
		if err != nil {
			_ = from.Close()
			return
		}
		goroutines.Go(func() { _, _ = io.Copy(to, from); _ = to.Close() })
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}
	goroutines.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			goroutines.Go(func() { forward(conn) })
		}
	})
	bound, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no TCP")
	}
	return bound.IP.String(), bound.Port, url.UserPassword(config.User, config.Password)
}
