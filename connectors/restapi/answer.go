package restapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// ErrTooLarge is wrapped by the error of an answer of more than [MaxAnswer] bytes.
var ErrTooLarge = errors.New("the answer is too large")

// Mismatch is an answer that is not what was asked for, such as the page of a
// proxy or a login with the status 200. Nothing may be concluded from it. It is
// retryable, within what connectors' errors say.
type Mismatch struct {
	// Platform is the platform's name, Asked the request, Got what came, Wanted
	// what should have, and Advice what to check.
	Platform, Asked, Got, Wanted, Advice string
	// Page says that a web page came, Login that it is one to log in at.
	Page, Login bool
}

func (e *Mismatch) Error() string {
	text := fmt.Sprintf("%s answered %s with %s, which is not the %s it promises", e.Platform, e.Asked, e.Got, e.Wanted)
	if e.Advice != "" {
		text += "; check " + e.Advice
	}
	return text
}

const wantedJSON = "JSON"

// mismatch is the retryable error of an answer that is something else.
func (c *Client) mismatch(response *http.Response, got, wanted string) error {
	asked := response.Request
	for asked.Response != nil { // the one that was made, before redirects
		asked = asked.Response.Request
	}
	advice := c.opt.Advice
	if advice == "" {
		advice = "the address"
	}
	return connectors.Retryable(&Mismatch{
		Platform: c.opt.Name, Asked: asked.Method + " " + shortened(asked.URL.Path), Got: got, Wanted: wanted, Page: got == aPage,
		Advice: advice + ", and whether a proxy or a login stands between",
	}, 0)
}

// page is the error of a web page that came.
func (c *Client) page(response *http.Response, body []byte, wanted string) error {
	err := c.mismatch(response, aPage, wanted)
	if mismatch, ok := errors.AsType[*Mismatch](err); ok && asksToLogIn(body) {
		mismatch.Login, mismatch.Got = true, "a login page"
	}
	return err
}

// asksToLogIn says whether a page has a field for a password, a form that leads to
// a login, or a title that says so.
func asksToLogIn(page []byte) bool {
	return regexp.MustCompile(`(?i)type\s*=\s*["']?password|<form[^>]*action\s*=\s*["']?[^"'>]*(login|signin|/sso|/saml|authenticate)|<title>[^<]*\b(sign ?in|log ?in)\b`).Match(page)
}

const (
	aPage    = "a web page"
	nothing  = "nothing"
	longPath = 200
)

func shortened(path string) string {
	path = strings.ToValidUTF8(path, "?")
	if len(path) > longPath {
		path = strings.ToValidUTF8(path[:longPath], "") + "..."
	}
	return path
}

// isPage says whether an answer calls itself a web page.
func isPage(header http.Header) bool {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(header.Get("Content-Type")), ";")
	}
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// beginsAsPage says whether a content is a web page, whatever it calls itself.
func beginsAsPage(content []byte) bool {
	const looked = 512
	start := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(content[:min(looked, len(content))], []byte("\xef\xbb\xbf"))))
	for _, mark := range []string{"<!doctype html", "<html", "<head", "<body", "<script"} {
		if bytes.HasPrefix(start, []byte(mark)) {
			return true
		}
	}
	return false
}

// Read reads the JSON of a successful answer of [Client.Do] into out, as JSON
// does: it must have the status 200 or 201, be whole, be a list where out is a
// slice and an object where it is a struct or a map, and have what the request
// needs. The caller closes the body. ErrTooLarge says that it was too large.
func (c *Client) Read(ctx context.Context, response *http.Response, needs []string, out any) error {
	if status := response.StatusCode; status != http.StatusOK && status != http.StatusCreated {
		return c.mismatch(response, fmt.Sprintf("the status %d", status), wantedJSON)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return c.brokenOff(ctx, err)
	case len(body) > MaxAnswer:
		return connectors.Fatal(fmt.Errorf("an answer of %s is larger than %d MiB: %w", c.opt.Name, MaxAnswer>>20, ErrTooLarge))
	}
	body = bytes.TrimSpace(body)
	switch {
	case isPage(response.Header) || beginsAsPage(body):
		return c.page(response, body, wantedJSON)
	case len(body) == 0:
		return c.mismatch(response, nothing, wantedJSON)
	case !json.Valid(body):
		return c.mismatch(response, "something that is cut off or no JSON", wantedJSON)
	}
	if got := otherShape(body, out); got != "" {
		return c.mismatch(response, got, wantedJSON)
	}
	for _, path := range needs {
		if !Has(body, path) {
			return c.mismatch(response, fmt.Sprintf("JSON without %q", path), wantedJSON)
		}
	}
	if err := json.Unmarshal(body, out); err != nil {
		return c.mismatch(response, "JSON of another shape", wantedJSON)
	}
	return nil
}

// otherShape names what a JSON text is where out takes something else.
func otherShape(body []byte, out any) string {
	got := map[byte]string{'{': "an object", '[': "a list", '"': "a text", 'n': "null", 't': "true", 'f': "false"}[body[0]]
	if got == "" {
		got = "a number"
	}
	target := reflect.TypeOf(out)
	for target != nil && target.Kind() == reflect.Pointer {
		target = target.Elem()
	}
	switch {
	case body[0] == 'n':
		return got
	case target == nil || target == reflect.TypeFor[json.RawMessage]():
		return ""
	case (target.Kind() == reflect.Slice || target.Kind() == reflect.Array) && body[0] != '[',
		(target.Kind() == reflect.Struct || target.Kind() == reflect.Map) && body[0] != '{':
		return got
	}
	return ""
}

// Has says whether a JSON object has something else than null at a path of names
// with dots between them.
func Has(body []byte, path string) bool {
	name, rest, deeper := strings.Cut(path, ".")
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return false
	}
	value, ok := object[name]
	if !ok || bytes.Equal(value, []byte("null")) {
		return false
	}
	return !deeper || Has(value, rest)
}

// brokenOff says what to do about a body that did not come whole.
func (c *Client) brokenOff(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSlow) {
		return ctx.Err()
	}
	if errors.Is(context.Cause(ctx), errSlow) {
		return connectors.Retryable(fmt.Errorf("%s: %w", c.opt.Name, errSlow), 0)
	}
	return connectors.Retryable(fmt.Errorf("%s broke off an answer: %w", c.opt.Name, err), 0)
}

// Content says what a download has to be.
type Content struct {
	// Size is how long it is, in bytes; -1 for one that the platform did not tell.
	Size int64
	// Page says that it may be a web page, Filled that it is not empty, where the
	// size is not told.
	Page, Filled bool
}

// Download is the content of a file that comes.
type Download struct {
	io.ReadCloser
	// Header is the answer's. Request is the one that it answers, after redirects.
	Header  http.Header
	Request *http.Request
}

// Content makes a request for the content of a file. Reading fails, as
// retryable, where the content does not have the size that it should; a web page
// that takes the place of something else, and another status than 200, are a
// [Mismatch]. The caller closes the download.
func (c *Client) Content(ctx context.Context, r Request, want Content) (*Download, error) {
	response, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	got := ""
	switch {
	case response.StatusCode != http.StatusOK:
		got = fmt.Sprintf("the status %d", response.StatusCode)
	case !want.Page && isPage(response.Header):
		got = aPage
	case (want.Size > 0 || want.Filled) && response.ContentLength == 0:
		got = nothing
	case want.Size >= 0 && response.ContentLength >= 0 && response.ContentLength != want.Size:
		got = fmt.Sprintf("%d bytes", response.ContentLength)
	}
	if got != "" {
		err := c.mismatch(response, got, "file")
		if got == aPage {
			start, _ := io.ReadAll(io.LimitReader(response.Body, maxExplained))
			err = c.page(response, start, "file")
		}
		return nil, errors.Join(err, response.Body.Close())
	}
	body := &content{client: c, ctx: ctx, response: response, left: want.Size, sized: want.Size >= 0, filled: want.Filled}
	return &Download{ReadCloser: body, Header: response.Header, Request: response.Request}, nil
}

// content is a file that is being read.
type content struct {
	client   *Client
	ctx      context.Context // of the request that the body belongs to
	response *http.Response
	left     int64
	sized    bool
	filled   bool
	read     bool
}

// Read implements io.Reader.
func (b *content) Read(p []byte) (int, error) {
	n, err := b.response.Body.Read(p)
	b.left -= int64(n)
	b.read = b.read || n > 0
	switch {
	case b.sized && b.left < 0:
		return n, b.client.mismatch(b.response, "more than the file has", "file")
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, b.client.brokenOff(b.ctx, err)
	case b.sized && b.left > 0:
		return n, b.client.brokenOff(b.ctx, io.ErrUnexpectedEOF)
	case b.filled && !b.read:
		return n, b.client.mismatch(b.response, nothing, "file")
	}
	return n, err
}

// Close implements io.Closer.
func (b *content) Close() error { return b.response.Body.Close() }
