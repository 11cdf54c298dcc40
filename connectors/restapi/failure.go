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
	longestRetryAfter = time.Hour
	maxExplained      = 64 << 10
	maxWords          = 300
)

// Error is a status that is no success.
type Error struct {
	Status int
	Header http.Header
	// Body is the beginning of the answer, at most 64 KiB. It is not for people:
	// what they may read is in the text of the error.
	Body []byte

	text string
}

func (e *Error) Error() string { return e.text }

// StatusOf is the status that an error tells of, 0 for none.
func StatusOf(err error) int {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Status
	}
	return 0
}

func headerOf(err error) http.Header {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Header
	}
	return nil
}

// failure reads an answer that is no success. 404 and 410 are
// [connectors.ErrNotFound].
func (c *Client) failure(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxExplained))
	failure := &Error{Status: response.StatusCode, Header: response.Header, Body: body}
	words := ""
	if c.opt.Explain != nil {
		words = strings.TrimSpace(c.opt.Explain(body))
	}
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + "..."
	}
	if !utf8.ValidString(words) {
		words = ""
	}
	if words != "" {
		words = ": " + words
	}
	says := func(what string) {
		failure.text = fmt.Sprintf("%s %s (%d)%s", c.opt.Name, what, response.StatusCode, words)
	}
	after := RetryAfter(response.Header)
	if c.opt.Limited != nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{bytes.NewReader(body), response.Body}
		if wait, limited := c.opt.Limited(response); limited {
			says("asks to wait before the next request")
			return connectors.Retryable(failure, min(max(wait, after), longestRetryAfter))
		}
	}
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests:
		says("asks to wait before the next request")
		return connectors.Retryable(failure, after)
	case status == http.StatusUnauthorized:
		says("does not accept the credentials; enter them again")
		return connectors.NeedsAuth(failure)
	case status == http.StatusForbidden:
		says("does not allow this with these credentials; give them the rights that the documentation lists")
		return connectors.NeedsAuth(failure)
	case status == http.StatusNotFound, status == http.StatusGone:
		says("does not have this")
		return fmt.Errorf("%w: %w", failure, connectors.ErrNotFound)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		says("cannot answer at the moment")
		return connectors.Retryable(failure, after)
	default:
		says("refuses a request")
		return connectors.Fatal(failure)
	}
}

// unreachable says what to do about an exchange that came to no answer.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return c.brokenOff(ctx, ctx.Err())
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the outer text repeats the whole address
	}
	if httpx.IsHidden(err) {
		return connectors.Fatal(httpx.ErrRefused)
	}
	if errors.Is(err, errPlain) {
		return connectors.Fatal(fmt.Errorf("%s is not asked without encryption: %w", c.opt.Name, errPlain))
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); untrusted || unknown {
		return connectors.Fatal(fmt.Errorf("the certificate of %s is not trusted", c.opt.Name))
	}
	return connectors.Retryable(fmt.Errorf("%s cannot be reached: %w", c.opt.Name, err), 0)
}

// RetryAfter reads the header of that name in both its forms, at most an hour;
// 0 when there is none. A date is compared with the server's own clock, where it
// tells it.
func RetryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, longestRetryAfter)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(until.Sub(now), 0), longestRetryAfter)
}
