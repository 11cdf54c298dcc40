package connectors

import (
	"context"
	"io"
	"net"
)

// Dial connects to an address. It is safe for addresses that users choose: it
// refuses those that must not be reached. A kind makes all its connections with
// the Dial that it is given.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Settings configure one connector.
type Settings struct {
	// ConnectorID identifies the connector. It is "" during a connection test.
	ConnectorID string
	// Config is decoded JSON: numbers are float64, lists are []any.
	Config map[string]any
	// Credentials are the decrypted credentials.
	Credentials map[string]string
	// Token returns an access token of the connector's OAuth grant, and what the
	// provider sent with the token, such as Salesforce's instance_url. Sources call
	// it before each use; it renews expired tokens. refused is a token that the
	// source rejected although it had not expired, else "". Its errors are errors of
	// a connector and are returned unchanged. Token is nil without a grant.
	Token func(ctx context.Context, refused string) (token string, details map[string]string, err error)
	// State is the connector's persistent state. It is nil during a connection test.
	State State
	// FullWalk says that a walk must list every item. Without it, a source of a kind
	// that does not enumerate may omit items that it listed recently. It is set for
	// full syncs and permission syncs.
	FullWalk bool
	// Limiter blocks until the next request may be made to the platform with these
	// credentials. If that takes too long, it returns a retryable error. Sources call
	// [Settings.Wait], which accepts a nil Limiter.
	Limiter func(ctx context.Context) error
	// ReportBytes counts n bytes of content that were read. Sources of a kind with
	// ReportsBytes use [Settings.CountReader], which accepts a nil ReportBytes.
	ReportBytes func(n int64)
}

// Wait blocks until the next request to the platform may be made. A source calls
// it before each request.
func (s Settings) Wait(ctx context.Context) error {
	if s.Limiter == nil {
		return ctx.Err()
	}
	return s.Limiter(ctx)
}

// CountReader returns a reader that reads from r and reports the bytes.
func (s *Settings) CountReader(r io.Reader) io.Reader {
	if s.ReportBytes == nil {
		return r
	}
	return &countingReader{r, s.ReportBytes}
}

type countingReader struct {
	reader io.Reader
	report func(int64)
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.reader.Read(p)
	if n > 0 {
		r.report(int64(n))
	}
	return n, err
}

// String returns a string of the config, or "" if it is absent.
func (s Settings) String(name string) string {
	text, _ := s.Config[name].(string)
	return text
}

// Integer returns a whole number of the config, or 0 if it is absent.
func (s Settings) Integer(name string) int64 {
	number, _ := toInteger(s.Config[name])
	return number
}

// Boolean returns a flag of the config, or false if it is absent.
func (s Settings) Boolean(name string) bool {
	flag, _ := s.Config[name].(bool)
	return flag
}

// Strings returns a list of the config, or nil if it is absent.
func (s Settings) Strings(name string) []string {
	list, _ := toStrings(s.Config[name])
	return list
}
