package application

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/secret"
)

// Limits of a client.
const (
	maxRedirects   = 10
	maxRedirect    = 1000 // bytes of an address
	maxName        = 100  // characters
	maxClientID    = 16 << 10
	maxMetadata    = 64 << 10
	metadataMaxAge = 10 * time.Minute
	maxCached      = 1000
)

// A Client is a program that asks people for access.
type Client struct {
	ID        string   `json:"-"`
	Name      string   `json:"n"`
	Redirects []string `json:"r"` // the addresses that browsers may be redirected to
	CreatedAt int64    `json:"t"` // Unix time
	// Host is the host that publishes the metadata of the client, or empty for one
	// that has registered itself under any name.
	Host string `json:"-"`
}

const clientPrefix = "mcp_"

var clientAAD = secret.AAD("oauth_clients", "registration")

// Registration is the metadata of a client (RFC 7591, section 2).
type Registration struct {
	ClientID      string   `json:"client_id"` // only of published metadata
	Name          string   `json:"client_name"`
	Redirects     []string `json:"redirect_uris"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

// client checks the metadata.
func (m Registration) client() (Client, error) {
	c := Client{Name: safetext.Truncate(strings.TrimSpace(safetext.Line(m.Name)), maxName), Redirects: m.Redirects}
	if len(m.Redirects) == 0 || len(m.Redirects) > maxRedirects {
		return Client{}, &Error{"invalid_redirect_uri", fmt.Sprintf("redirect_uris must have 1 to %d addresses", maxRedirects)}
	}
	for _, address := range m.Redirects {
		if err := checkRedirect(address); err != nil {
			return Client{}, err
		}
	}
	if m.AuthMethod != "" && m.AuthMethod != "none" {
		return Client{}, &Error{"invalid_client_metadata", "token_endpoint_auth_method must be none: this server knows public clients with PKCE"}
	}
	if len(m.GrantTypes) > 0 && !slices.Contains(m.GrantTypes, "authorization_code") {
		return Client{}, &Error{"invalid_client_metadata", "grant_types must contain authorization_code"}
	}
	if len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code") {
		return Client{}, &Error{"invalid_client_metadata", "response_types must contain code"}
	}
	if c.Name == "" {
		u, _ := url.Parse(m.Redirects[0]) // checked
		c.Name = u.Host
	}
	return c, nil
}

// checkRedirect accepts https addresses and loopback http addresses (RFC 8252).
func checkRedirect(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxRedirect || u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" ||
		strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }):
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return &Error{"invalid_redirect_uri", "a redirect URI must be an https address, or an http address of this machine such as http://127.0.0.1/callback, without a fragment"}
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// allows reports whether a browser may be redirected to an address. The port of a
// loopback address does not matter (RFC 8252, section 7.3).
func (c Client) allows(address string) bool {
	return slices.ContainsFunc(c.Redirects, func(registered string) bool {
		return registered == address || withoutPort(registered) != "" && withoutPort(registered) == withoutPort(address)
	})
}

// withoutPort returns a loopback http address without its port, or "".
func withoutPort(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !isLoopback(u.Hostname()) || checkRedirect(address) != nil {
		return ""
	}
	u.Host = u.Hostname()
	return u.String()
}

// Register registers a client. The error is an *Error for bad metadata and
// rate_limited if one address registers too many.
func (s *Server) Register(ctx context.Context, m Registration) (Client, error) {
	if err := s.limit(ctx, "register", registrationsPerHour, time.Hour); err != nil {
		return Client{}, err
	}
	c, err := m.client()
	if err != nil {
		return Client{}, err
	}
	c.CreatedAt = s.o.Now().Unix()
	plain, err := json.Marshal(c)
	if err != nil {
		return Client{}, fmt.Errorf("encode the registration: %w", err)
	}
	sealed, err := s.o.Secrets.Seal(plain, clientAAD)
	if err != nil {
		return Client{}, fmt.Errorf("seal the registration: %w", err)
	}
	c.ID = clientPrefix + base64.RawURLEncoding.EncodeToString(sealed)
	return c, nil
}

// client returns the client of an id.
func (s *Server) client(ctx context.Context, id string) (Client, error) {
	unknown := &Error{"invalid_client", "the client is not known here; it must register again"}
	if strings.HasPrefix(id, "https://") {
		return s.published(ctx, id)
	}
	text, ok := strings.CutPrefix(id, clientPrefix)
	if !ok || len(id) > maxClientID {
		return Client{}, unknown
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return Client{}, unknown
	}
	plain, err := s.o.Secrets.Open(sealed, clientAAD)
	if err != nil {
		return Client{}, unknown // forged, or sealed with a key that was removed
	}
	c := Client{ID: id}
	if err := json.Unmarshal(plain, &c); err != nil {
		return Client{}, unknown
	}
	return c, nil
}

// published returns the client whose metadata is at its id (OAuth Client ID
// Metadata Document).
func (s *Server) published(ctx context.Context, id string) (Client, error) {
	u, err := url.Parse(id)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(id) > maxRedirect || u.Path == "" || u.Path == "/" {
		return Client{}, &Error{"invalid_client", "a client id that is an address must have a path and no fragment"}
	}
	s.mu.Lock()
	cached, ok := s.cached[id]
	s.mu.Unlock()
	if ok && s.o.Now().Sub(cached.at) < metadataMaxAge {
		return cached.client, nil
	}
	m, err := s.fetch(ctx, id)
	if err != nil {
		return Client{}, &Error{"invalid_client", "the metadata of the client could not be read from its id: " + err.Error()}
	}
	if m.ClientID != id {
		return Client{}, &Error{"invalid_client", "the metadata at the client id names another client id"}
	}
	c, err := m.client()
	if err != nil {
		return Client{}, err
	}
	c.ID, c.Host = id, u.Host
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cached) >= maxCached {
		clear(s.cached)
	}
	s.cached[id] = cachedClient{c, s.o.Now()}
	return c, nil
}

func (s *Server) fetch(ctx context.Context, address string) (Registration, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return Registration{}, err
	}
	r.Header.Set("Accept", "application/json")
	response, err := s.o.HTTP.Do(r)
	if err != nil {
		return Registration{}, err
	}
	defer func() { _ = response.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return Registration{}, fmt.Errorf("the answer is status %d, %q", response.StatusCode, kind)
	}
	var m Registration
	err = json.NewDecoder(io.LimitReader(response.Body, maxMetadata)).Decode(&m)
	return m, err
}
