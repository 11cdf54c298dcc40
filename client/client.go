package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// API has a method for each operation, which returns the parsed response, and Chat for
// answers that arrive in parts. It is safe for concurrent use.
type API struct {
	*ClientWithResponses
}

// New returns a client of the Magpie at a URL. The token is an API key, the access token
// of a session, or a personal or service token. Options of the generated code follow,
// such as WithHTTPClient; the default is a client without a timeout, so that the context
// of a call ends it. A response with a status of 400 or more is a *ResponseError.
func New(url, token string, options ...ClientOption) (*API, error) {
	all := append([]ClientOption{WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	})}, options...)
	made, err := NewClientWithResponses(url, append(all, checked)...)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &API{made}, nil
}

// checked makes errors of responses that are errors.
func checked(c *Client) error {
	if c.Client == nil {
		c.Client = &http.Client{}
	}
	c.Client = checkedClient{c.Client}
	return nil
}

type checkedClient struct{ inner HttpRequestDoer }

// maxErrorBytes is how much of the body of an error is read.
const maxErrorBytes = 64 << 10

// Do sends a request. Redirects that the client does not follow are no errors.
func (c checkedClient) Do(request *http.Request) (*http.Response, error) {
	response, err := c.inner.Do(request)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	defer func() { _ = response.Body.Close() }()
	failed := &ResponseError{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		failed.RetryAfter = time.Duration(seconds) * time.Second
	}
	var body Error
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if err == nil && json.Unmarshal(raw, &body) == nil {
		failed.Code, failed.Message = body.Error.Code, body.Error.Message
	}
	return nil, failed
}

// ResponseError is a response with a status of 400 or more, or the error that ends a
// stream of events, whose Status is 0.
type ResponseError struct {
	Status     int
	Code       string        // such as invalid_request; empty if the response is not Magpie's
	Message    string        // for people
	RequestID  string        // under which the server's log has the request
	RetryAfter time.Duration // when to try again; 0 if the response does not say
}

// Error returns the message with the code and the status.
func (e *ResponseError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("magpie: status %d", e.Status)
	}
	return fmt.Sprintf("magpie: %s (%s, %d)", e.Message, e.Code, e.Status)
}
