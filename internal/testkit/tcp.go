package testkit

import (
	"net/url"
	"testing"

	"github.com/magpie-search/magpie/internal/devstack"
)

// TCP returns a local TCP address that leads to the server of a test database, which may
// listen on a socket file, and the login of the database's URL. It ends with the test.
func TCP(t testing.TB, databaseURL string) (host string, port int, login *url.Userinfo) {
	t.Helper()
	f, err := devstack.ForwardTCP(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f.Address.IP.String(), f.Address.Port, f.Login
}
