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

// Transport returns a transport that connects through the guard. It ignores the
// proxy of the environment, which would connect without the guard. The caller calls
// CloseIdleConnections when done.
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

// Client returns a client with its own guarded transport. timeout bounds a whole
// exchange with the body; 0 is no bound. The client follows at most 5 redirects, each
// through the guard. The caller calls CloseIdleConnections when done.
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
