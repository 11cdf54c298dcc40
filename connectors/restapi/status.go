package restapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/httpx"
)

const (
	maxRetryAfter   = time.Hour
	maxErrorBody    = 64 << 10
	maxMessageBytes = 300
)

// A StatusError is a response whose status is not a success.
type StatusError struct {
	Status int
	Header http.Header
	// Body is the start of the body, at most 64 KiB. It is not for people.
	Body []byte

	text string
}

func (e *StatusError) Error() string { return e.text }

// StatusOf returns the status of the [StatusError] in err's chain, or 0.
func StatusOf(err error) int {
	if failure, ok := errors.AsType[*StatusError](err); ok {
		return failure.Status
	}
	return 0
}

func headerOf(err error) http.Header {
	if failure, ok := errors.AsType[*StatusError](err); ok {
		return failure.Header
	}
	return nil
}

// statusError returns the marked error of a response that is not a success. 404 and
// 410 are [connectors.ErrNotFound].
func (c *Client) statusError(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	failure := &StatusError{Status: response.StatusCode, Header: response.Header, Body: body}
	message := ""
	if c.opt.ErrorMessage != nil {
		message = strings.TrimSpace(c.opt.ErrorMessage(body))
	}
	if len(message) > maxMessageBytes {
		message = strings.ToValidUTF8(message[:maxMessageBytes], "") + "..."
	}
	if !utf8.ValidString(message) {
		message = ""
	}
	if message != "" {
		message = ": " + message
	}
	describe := func(problem string) {
		failure.text = fmt.Sprintf("%s %s (%d)%s", c.opt.Platform, problem, response.StatusCode, message)
	}
	after := RetryAfter(response.Header)
	if c.opt.RateLimited != nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{bytes.NewReader(body), response.Body}
		if wait, limited := c.opt.RateLimited(response); limited {
			describe("asks to wait before the next request")
			return connectors.Retryable(failure, min(max(wait, after), maxRetryAfter))
		}
	}
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests:
		describe("asks to wait before the next request")
		return connectors.Retryable(failure, after)
	case status == http.StatusUnauthorized:
		describe("does not accept the credentials; enter them again")
		return connectors.NeedsAuth(failure)
	case status == http.StatusForbidden:
		describe("does not allow this with these credentials; give them the rights that the documentation lists")
		return connectors.NeedsAuth(failure)
	case status == http.StatusNotFound, status == http.StatusGone:
		describe("does not have this")
		return fmt.Errorf("%w: %w", failure, connectors.ErrNotFound)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		describe("cannot answer now")
		return connectors.Retryable(failure, after)
	default:
		describe("refuses a request")
		return connectors.Fatal(failure)
	}
}

// unreachable returns the marked error of a request that got no response.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return c.interrupted(ctx, ctx.Err())
	}
	return NetworkError(c.opt.Platform, err)
}

// NetworkError returns the marked error of an HTTP request that got no response,
// not because its context ended. platform names the other side.
func NetworkError(platform string, err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the outer text repeats the whole URL
	}
	if httpx.IsHidden(err) {
		return connectors.Fatal(httpx.ErrRefused)
	}
	if errors.Is(err, ErrUnencrypted) {
		return connectors.Fatal(fmt.Errorf("%s is not asked without encryption: %w", platform, ErrUnencrypted))
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); untrusted || unknown {
		return connectors.Fatal(fmt.Errorf("the certificate of %s is not trusted", platform))
	}
	return connectors.Retryable(fmt.Errorf("%s cannot be reached: %w", platform, err), 0)
}

// RetryAfter returns the delay of the Retry-After header in either of its forms,
// at most an hour, or 0 if there is none.
func RetryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	wait, ok := Until(header, until)
	if !ok {
		wait = time.Until(until)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// Until returns the time from the response's Date, which is the server's clock, to
// t. It reports false if there is no Date.
func Until(header http.Header, t time.Time) (time.Duration, bool) {
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0, false
	}
	return t.Sub(now), true
}
