package restapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// ErrTooLarge is wrapped by the error of a response of more than
// [MaxResponseBytes], or of more than Options.MaxBytes.
var ErrTooLarge = errors.New("the answer is too large")

// An UnexpectedResponseError is a response that is not what was requested, such
// as the page of a proxy or a login with status 200. It says nothing about the
// source. It is wrapped in a retryable error.
type UnexpectedResponseError struct {
	// Platform is the name of the platform, Request the method and path, Got
	// what came, Want what was requested, and Advice what to check.
	Platform, Request, Got, Want, Advice string
	// IsHTML says that a web page came, IsLogin that it is a login page.
	IsHTML, IsLogin bool
}

func (e *UnexpectedResponseError) Error() string {
	text := fmt.Sprintf("%s answered %s with %s, which is not the %s it promises", e.Platform, e.Request, e.Got, e.Want)
	if e.Advice != "" {
		text += "; check " + e.Advice
	}
	return text
}

const wantedJSON = "JSON"

// unexpected returns a retryable [UnexpectedResponseError].
func (c *Client) unexpected(response *http.Response, got, want string) error {
	request := response.Request
	for request.Response != nil { // before redirects
		request = request.Response.Request
	}
	advice := c.opt.Advice
	if advice == "" {
		advice = "the address"
	}
	return connectors.Retryable(&UnexpectedResponseError{
		Platform: c.opt.Platform, Request: request.Method + " " + truncatedPath(request.URL.Path), Got: got, Want: want, IsHTML: got == gotHTML,
		Advice: advice + ", and whether a proxy or a login stands between",
	}, 0)
}

// unexpectedHTML is unexpected for a web page.
func (c *Client) unexpectedHTML(response *http.Response, body []byte, want string) error {
	err := c.unexpected(response, gotHTML, want)
	if mismatch, ok := errors.AsType[*UnexpectedResponseError](err); ok && isLoginPage(body) {
		mismatch.IsLogin, mismatch.Got = true, "a login page"
	}
	return err
}

// isLoginPage reports whether a page has a password field, a form that leads to a
// login, or a title that says so.
func isLoginPage(page []byte) bool {
	return regexp.MustCompile(`(?i)type\s*=\s*["']?password|<form[^>]*action\s*=\s*["']?[^"'>]*(login|signin|/sso|/saml|authenticate)|<title>[^<]*\b(sign ?in|log ?in)\b`).Match(page)
}

const (
	gotHTML      = "a web page"
	gotNothing   = "nothing"
	maxPathBytes = 200
)

func truncatedPath(path string) string {
	path = strings.ToValidUTF8(path, "?")
	if len(path) > maxPathBytes {
		path = strings.ToValidUTF8(path[:maxPathBytes], "") + "..."
	}
	return path
}

// DeclaresHTML reports whether the Content-Type is that of a web page.
func DeclaresHTML(header http.Header) bool {
	mediaType, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		mediaType, _, _ = strings.Cut(strings.ToLower(header.Get("Content-Type")), ";")
	}
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// StartsAsHTML reports whether a content looks like a web page.
func StartsAsHTML(content []byte) bool {
	const prefixBytes = 512
	start := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(content[:min(prefixBytes, len(content))], []byte("\xef\xbb\xbf"))))
	for _, mark := range []string{"<!doctype html", "<html", "<head", "<body", "<script"} {
		if bytes.HasPrefix(start, []byte(mark)) {
			return true
		}
	}
	return false
}

// ReadJSON decodes a successful response of [Client.Do] into out. The status must
// be 200 or 201, or 207 if the request allows it. The body must be complete, a list if out is a slice, an object if
// out is a struct or map, and have the required fields of the request; anything else is an [UnexpectedResponseError], or [ErrTooLarge]. The caller closes
// the body.
func (c *Client) ReadJSON(ctx context.Context, response *http.Response, r Request, out any) error {
	return c.readJSON(ctx, response, r, out)
}

func (c *Client) readJSON(ctx context.Context, response *http.Response, r Request, out any) error {
	required, list := r.RequiredFields, r.RequiredList
	if status := response.StatusCode; status != http.StatusOK && status != http.StatusCreated && (status != http.StatusMultiStatus || !r.AllowMultiStatus) {
		return c.unexpected(response, fmt.Sprintf("the status %d", status), wantedJSON)
	}
	most := cmp.Or(c.opt.MaxBytes, MaxResponseBytes)
	body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return c.interrupted(ctx, err)
	case int64(len(body)) > most:
		return connectors.Fatal(fmt.Errorf("an answer of %s is larger than %d MiB: %w", c.opt.Platform, most>>20, ErrTooLarge))
	}
	body = bytes.TrimSpace(body)
	switch {
	case DeclaresHTML(response.Header) || StartsAsHTML(body):
		return c.unexpectedHTML(response, body, wantedJSON)
	case len(body) == 0:
		return c.unexpected(response, gotNothing, wantedJSON)
	case !json.Valid(body):
		return c.unexpected(response, "something that is cut off or no JSON", wantedJSON)
	}
	if got := wrongShape(body, out); got != "" {
		return c.unexpected(response, got, wantedJSON)
	}
	if typed, ok := out.(interface{ RequiredFields() []string }); ok {
		required = append(slices.Clone(required), typed.RequiredFields()...)
	}
	if typed, ok := out.(interface{ RequiredList() string }); ok {
		list = typed.RequiredList()
	}
	for _, path := range required {
		if !HasField(body, path) {
			return c.unexpected(response, fmt.Sprintf("JSON without %q", path), wantedJSON)
		}
	}
	if list != "" && !hasKey(body, list) {
		return c.unexpected(response, fmt.Sprintf("JSON without %q", list), wantedJSON)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return c.unexpected(response, "JSON of another shape", wantedJSON)
	}
	return nil
}

// wrongShape says what the JSON is if it cannot be decoded into out, else "".
func wrongShape(body []byte, out any) string {
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

// HasField reports whether a JSON object has a field that is not null. path is a
// name, or names of nested objects with dots between them.
func HasField(body []byte, path string) bool {
	name, rest, nested := strings.Cut(path, ".")
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return false
	}
	value, ok := object[name]
	if !ok || bytes.Equal(value, []byte("null")) {
		return false
	}
	return !nested || HasField(value, rest)
}

// hasKey reports whether a JSON object has a field, even if it is null.
func hasKey(body []byte, name string) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return false
	}
	_, ok := object[name]
	return ok
}

// interrupted returns the marked error of a body that did not arrive completely.
func (c *Client) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout) {
		return ctx.Err()
	}
	if errors.Is(context.Cause(ctx), errTimeout) {
		return connectors.Retryable(fmt.Errorf("%s: %w", c.opt.Platform, errTimeout), 0)
	}
	return connectors.Retryable(fmt.Errorf("%s broke off an answer: %w", c.opt.Platform, err), 0)
}

// Expected says what a download must be.
type Expected struct {
	// Size is the length in bytes, -1 if unknown.
	Size int64
	// AllowHTML says that the content may be a web page. NonEmpty says that a
	// content of unknown size is not empty.
	AllowHTML, NonEmpty bool
}

// A Download is the content of a file.
type Download struct {
	io.ReadCloser
	Header http.Header
	// Request is the last request, after redirects.
	Request *http.Request
}

// Download requests the content of a file. A status other than 200 and an
// unexpected web page are an [UnexpectedResponseError]. Reading fails with a
// retryable error if the content has another size than expected. The caller
// closes the download.
func (c *Client) Download(ctx context.Context, r Request, want Expected) (*Download, error) {
	response, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	got := ""
	switch {
	case response.StatusCode != http.StatusOK:
		got = fmt.Sprintf("the status %d", response.StatusCode)
	case !want.AllowHTML && DeclaresHTML(response.Header):
		got = gotHTML
	case (want.Size > 0 || want.NonEmpty) && response.ContentLength == 0:
		got = gotNothing
	case want.Size >= 0 && response.ContentLength >= 0 && response.ContentLength != want.Size:
		got = fmt.Sprintf("%d bytes", response.ContentLength)
	}
	if got != "" {
		err := c.unexpected(response, got, "file")
		if got == gotHTML {
			start, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
			err = c.unexpectedHTML(response, start, "file")
		}
		return nil, errors.Join(err, response.Body.Close())
	}
	body := &downloadBody{client: c, ctx: ctx, response: response, remaining: want.Size, hasSize: want.Size >= 0, nonEmpty: want.NonEmpty}
	return &Download{ReadCloser: body, Header: response.Header, Request: response.Request}, nil
}

// downloadBody checks the size of a download while it is read.
type downloadBody struct {
	client    *Client
	ctx       context.Context // of the request
	response  *http.Response
	remaining int64
	hasSize   bool
	nonEmpty  bool
	read      bool
}

// Read implements io.Reader.
func (b *downloadBody) Read(p []byte) (int, error) {
	n, err := b.response.Body.Read(p)
	b.remaining -= int64(n)
	b.read = b.read || n > 0
	switch {
	case b.hasSize && b.remaining < 0:
		return n, b.client.unexpected(b.response, "more than the file has", "file")
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, b.client.interrupted(b.ctx, err)
	case b.hasSize && b.remaining > 0:
		return n, b.client.interrupted(b.ctx, io.ErrUnexpectedEOF)
	case b.nonEmpty && !b.read:
		return n, b.client.unexpected(b.response, gotNothing, "file")
	}
	return n, err
}

// Close implements io.Closer.
func (b *downloadBody) Close() error { return b.response.Body.Close() }
