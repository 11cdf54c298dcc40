package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	// maxAnswer is the maximum size of the answer of an operation.
	maxAnswer = 64 << 20
	// connectTime bounds the time to connect to the server.
	connectTime = 20 * time.Second
	// answerTime bounds the time until an operation has an answer.
	answerTime = 5 * time.Minute
)

// RemoteOptions configures a Remote.
type RemoteOptions struct {
	// URL is the address of the Magpie without a slash at the end.
	URL string
	// Token is a personal or service token.
	Token string
	// UserAgent is sent with each request.
	UserAgent string
	// Transport sends the requests; nil is a transport of its own.
	Transport http.RoundTripper
	// Silence is the time without a byte of a subscription after which it is broken off;
	// 0 is a minute. The server sends something more often.
	Silence time.Duration
}

// A Remote executes operations of a Magpie over HTTP. It sends its token to no other
// address: redirects are errors.
type Remote struct {
	o         RemoteOptions
	http      *http.Client
	documents map[string]string
}

// NewRemote returns an executor of the operations of this package.
func NewRemote(o RemoteOptions) (*Remote, error) {
	all, err := documents()
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: connectTime, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout: connectTime, ResponseHeaderTimeout: answerTime, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: maxUploads,
		}
	}
	if o.Silence == 0 {
		o.Silence = time.Minute
	}
	return &Remote{o: o, documents: all, http: &http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes the idle connections.
func (r *Remote) Close() { r.http.CloseIdleConnections() }

// Do implements Executor.
func (r *Remote) Do(ctx context.Context, operation string, variables Variables, into any) error {
	response, err := r.send(ctx, operation, variables, "application/json")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return r.broken(ctx, err)
	}
	if len(content) > maxAnswer {
		return fmt.Errorf("the answer of %s is larger than %d MiB", r.o.URL, maxAnswer>>20)
	}
	return r.read(operation, content, func(data json.RawMessage) error {
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("decode the result of %s: %w", operation, err)
		}
		return nil
	})
}

// answer is a result of an operation.
type answer struct {
	Data   json.RawMessage `json:"data"`
	Errors []struct {
		Message    string `json:"message"`
		Extensions struct {
			Code string `json:"code"`
		} `json:"extensions"`
	} `json:"errors"`
	// Error is that of a request which reached no operation.
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// read passes the data of a result on, or returns its error.
func (r *Remote) read(operation string, content []byte, each func(json.RawMessage) error) error {
	var a answer
	if err := json.Unmarshal(content, &a); err != nil {
		return fmt.Errorf("%s sent no result of %s, but %s", r.o.URL, operation, excerpt(content))
	}
	if failure := a.failure(); failure != nil {
		return failure
	}
	if len(a.Data) == 0 || string(a.Data) == "null" {
		return fmt.Errorf("%s sent no result of %s", r.o.URL, operation)
	}
	return each(a.Data)
}

func (a *answer) failure() error {
	code, message := "", ""
	switch {
	case len(a.Errors) > 0:
		code, message = a.Errors[0].Extensions.Code, a.Errors[0].Message
	case a.Error != nil:
		code, message = a.Error.Code, a.Error.Message
	default:
		return nil
	}
	if code == "" {
		code = string(apierr.InvalidRequest) // of the GraphQL server itself
	}
	return &apierr.Error{Code: apierr.Code(code), Message: message, Cause: errors.New(message)}
}

// send sends an operation. The caller closes the body of the response, whose status is
// 200 OK and whose media type is accept.
func (r *Remote) send(ctx context.Context, operation string, variables Variables, accept string) (*http.Response, error) {
	document, known := r.documents[operation]
	if !known {
		return nil, fmt.Errorf("there is no operation %s", operation)
	}
	body, kind, finish, err := encode(document, operation, variables)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", operation, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.o.URL+"/graphql", body)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the request: %w", err), finish())
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Accept", accept)
	request.Header.Set("Authorization", "Bearer "+r.o.Token)
	request.Header.Set("User-Agent", r.o.UserAgent)
	response, err := r.http.Do(request)
	unsent := finish()
	switch {
	case err != nil && unsent != nil:
		return nil, unsent // the cause: a file that cannot be read
	case err != nil:
		return nil, r.broken(ctx, err)
	case response.StatusCode == http.StatusOK && mediaType(response.Header) == accept:
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // only read
	return nil, r.refusal(response)
}

func mediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// refusal returns the error of a response that has no result.
func (r *Remote) refusal(response *http.Response) error {
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		return fmt.Errorf("%s redirects to %s, where the token is not sent; give the address of Magpie itself", r.o.URL, destination(response))
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	var a answer
	if err == nil && json.Unmarshal(content, &a) == nil {
		if failure := a.failure(); failure != nil {
			return failure
		}
	}
	away := fmt.Errorf("%s answered %s: there is no Magpie at this address, or it is away", r.o.URL, response.Status)
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout: // of a proxy
		return cutError{away}
	}
	return away
}

// destination names the host that a response redirects to.
func destination(response *http.Response) string {
	to, err := response.Location()
	if err != nil {
		return "nowhere"
	}
	return (&url.URL{Scheme: to.Scheme, Host: to.Host}).String()
}

// broken returns the error of a connection, without the words of net/http.
func (r *Remote) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.cutOff()
	}
	return cutError{fmt.Errorf("reach %s: %w", r.o.URL, err)}
}

func (r *Remote) cutOff() error {
	return cutError{fmt.Errorf("the connection to %s was cut off", r.o.URL)}
}

// excerpt describes content that is no JSON in a few words.
func excerpt(content []byte) string {
	text := strings.Join(strings.Fields(string(bytes.ToValidUTF8(content[:min(len(content), 200)], nil))), " ")
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
