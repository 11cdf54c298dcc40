// Package provider lists all providers of inbound integrations.
//
// Allowed imports: connectors, internal/event and the packages below it.
package provider

import (
	"crypto/x509"
	"net/http"
	"slices"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/email"
	"github.com/magpie-search/magpie/internal/event/meeting"
	"github.com/magpie-search/magpie/internal/event/platform"
	"github.com/magpie-search/magpie/internal/tracing"
)

// Deps are the dependencies of providers on the process.
type Deps struct {
	// Dial refuses addresses that must not be reached.
	Dial connectors.Dial
	// Now is the clock.
	Now func() time.Time
	// Transport replaces the connections of the process, for tests. S3Endpoint replaces
	// the address of S3.
	Transport  http.RoundTripper
	S3Endpoint string
	// Roots replaces the authorities of the system for the certificates of SNS, for tests.
	Roots *x509.CertPool
}

// All returns all providers. A new one is one more line in its family.
func All(d Deps) []event.Provider {
	client := &http.Client{Timeout: time.Minute, Transport: tracing.Transport(&http.Transport{
		DialContext: d.Dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 20 * time.Second,
	})}
	if d.Transport != nil {
		client.Transport = d.Transport
	}
	return slices.Concat(
		email.Providers(email.Deps{Client: client, S3Endpoint: d.S3Endpoint, Roots: d.Roots}),
		platform.Providers(),
		meeting.Providers(meeting.Deps{Client: client, Now: d.Now}),
	)
}
