package email

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/event"
)

const (
	maxCertificates     = 100
	maxCertificateBytes = 64 << 10
	maxConfirmBytes     = 64 << 10
	// maxIntermediates is the maximum length of a chain without leaf and root.
	maxIntermediates = 3
	// maxFetches is the maximum number of certificates that are read at once. Anybody
	// who knows a topic can make this server read one.
	maxFetches      = 4
	platformTimeout = 10 * time.Second
)

// snsCertificatePath matches the path of a certificate of SNS.
var snsCertificatePath = regexp.MustCompile(`^/[A-Za-z0-9_-]{1,200}\.pem$`)

// issuerHost matches the hosts at which the authorities of Amazon publish their
// certificates.
var issuerHost = regexp.MustCompile(`^(?:crt\.[a-z0-9-]{1,40}\.amazontrust\.com|cacerts\.digicert\.com)$`)

// certificates are the verified certificates of SNS by their address.
type certificates struct {
	client *http.Client
	roots  *x509.CertPool // nil for those of the system
	fetch  chan struct{}

	mu    sync.Mutex
	known map[string]signer
}

// A signer is a certificate with the time in which its whole chain is valid.
type signer struct {
	leaf        *x509.Certificate
	from, until time.Time
}

func newCertificates(client *http.Client, roots *x509.CertPool) *certificates {
	return &certificates{client: client, roots: roots, fetch: make(chan struct{}, maxFetches), known: map[string]signer{}}
}

// get returns the certificate at an address, which it reads and verifies once: its chain
// leads to a trusted authority, it is valid now, and its name is that of SNS.
func (c *certificates) get(ctx context.Context, address string, now time.Time) (*x509.Certificate, error) {
	u, err := snsURL(address)
	if err != nil {
		return nil, err
	}
	if !snsCertificatePath.MatchString(u.EscapedPath()) || u.RawQuery != "" {
		return nil, event.Refuse("an address in the message is not one of Amazon SNS")
	}
	c.mu.Lock()
	known, ok := c.known[u.String()]
	c.mu.Unlock()
	if ok && !now.Before(known.from) && !now.After(known.until) {
		return known.leaf, nil
	}
	select {
	case c.fetch <- struct{}{}:
		defer func() { <-c.fetch }()
	case <-ctx.Done():
		return nil, fmt.Errorf("read the certificate of SNS: %w", ctx.Err())
	}
	text, err := fetch(ctx, c.client, u.String(), maxCertificateBytes)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of SNS: %w", err)
	}
	found, err := c.verifyChain(ctx, text, u.Hostname(), now)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCertificates {
		clear(c.known)
	}
	c.known[u.String()] = found
	return found.leaf, nil
}

// verifyChain verifies a file with a certificate and perhaps those of its issuers. An
// issuer that it lacks is read where the certificate says, at the hosts of Amazon.
func (c *certificates) verifyChain(ctx context.Context, text []byte, host string, now time.Time) (signer, error) {
	chain := parseCertificates(text)
	if len(chain) == 0 {
		return signer{}, event.Refuse("the certificate of SNS is malformed")
	}
	leaf := chain[0]
	if leaf.VerifyHostname(host) != nil && leaf.VerifyHostname("sns.amazonaws.com") != nil {
		return signer{}, event.Refuse("the certificate of SNS has another name")
	}
	if reason := outsideOf(leaf, now); reason != "" {
		return signer{}, event.Refuse("the certificate of SNS %s", reason)
	}
	intermediates := x509.NewCertPool()
	for _, cert := range chain[1:min(len(chain), 1+maxIntermediates)] {
		intermediates.AddCert(cert)
	}
	last := leaf
	for range maxIntermediates + 1 {
		valid, err := leaf.Verify(x509.VerifyOptions{Roots: c.roots, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		if err == nil {
			return newSigner(valid[0]), nil
		}
		if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
			return signer{}, event.Refuse("the certificate of an issuer of SNS has expired or is not valid yet")
		}
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
			return signer{}, event.Refuse("the certificate of SNS has no valid chain")
		}
		issuer, ok, err := c.issuer(ctx, last)
		if err != nil {
			return signer{}, err
		}
		if !ok {
			break
		}
		intermediates.AddCert(issuer)
		last = issuer
	}
	return signer{}, event.Refuse("the certificate of SNS was not issued by an authority that this server trusts")
}

// issuer reads the certificate of an issuer. It reports false if none is named, or only
// elsewhere.
func (c *certificates) issuer(ctx context.Context, of *x509.Certificate) (*x509.Certificate, bool, error) {
	for _, address := range of.IssuingCertificateURL {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || !issuerHost.MatchString(u.Host) {
			continue
		}
		text, err := fetch(ctx, c.client, u.String(), maxCertificateBytes)
		if err != nil {
			return nil, false, fmt.Errorf("read the certificate of an issuer of SNS: %w", err)
		}
		if found := parseCertificates(text); len(found) > 0 {
			return found[0], true, nil
		}
	}
	return nil, false, nil
}

// newSigner returns the leaf of a verified chain with the time in which all of it is valid.
func newSigner(chain []*x509.Certificate) signer {
	s := signer{leaf: chain[0], from: chain[0].NotBefore, until: chain[0].NotAfter}
	for _, cert := range chain[1:] {
		if cert.NotBefore.After(s.from) {
			s.from = cert.NotBefore
		}
		if cert.NotAfter.Before(s.until) {
			s.until = cert.NotAfter
		}
	}
	return s
}

func outsideOf(cert *x509.Certificate, now time.Time) string {
	switch {
	case now.Before(cert.NotBefore):
		return "is not valid yet"
	case now.After(cert.NotAfter):
		return "has expired"
	default:
		return ""
	}
}

// parseCertificates returns the certificates of a file in PEM, or the one of a file in DER.
func parseCertificates(text []byte) []*x509.Certificate {
	var out []*x509.Certificate
	rest := text
	for block, after := pem.Decode(rest); block != nil && len(out) <= maxIntermediates; block, after = pem.Decode(after) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return nil
		}
		out = append(out, cert)
	}
	if len(out) > 0 {
		return out
	}
	if cert, err := x509.ParseCertificate(text); err == nil {
		return []*x509.Certificate{cert}
	}
	return nil
}

var errNoClient = errors.New("this process makes no requests")

// fetch reads an address of a platform. It follows no redirects.
func fetch(ctx context.Context, client *http.Client, address string, limit int64) ([]byte, error) {
	if client == nil {
		return nil, errNoClient
	}
	ctx, cancel := context.WithTimeout(ctx, platformTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	direct := *client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := direct.Do(r)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the platform answered %d", answer.StatusCode) //nolint:err113 // for the log
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	return body, nil
}
