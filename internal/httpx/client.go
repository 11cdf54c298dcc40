package httpx

import (
	"fmt"
	"net/http"
	"time"
)

const (
	maxRedirects       = 5
	maxHeaderBytes     = 256 << 10
	handshakeTimeout   = 10 * time.Second
	headerTimeout      = 60 * time.Second
	idleTimeout        = 60 * time.Second
	maxIdleConnections = 32
	maxIdlePerHost     = 8
)

// Transport makes an http.Transport that connects through the guard. It uses
// no proxy, whatever the environment says: a proxy would connect in our place,
// unguarded. The owner calls CloseIdleConnections when done with it.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            g.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    handshakeTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdleConnections,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// Client makes an HTTP client on a guarded transport of its own. timeout bounds
// a whole exchange including the body, 0 leaves that to the request's context.
// At most 5 redirects are followed, each through the guard. The owner calls
// CloseIdleConnections when done with it.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: g.Transport(),
		Timeout:   timeout,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("stopped after %d redirects", maxRedirects)
			}
			return nil
		},
	}
}
