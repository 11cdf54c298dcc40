package platform

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/apierr"
)

// Timeout bounds an exchange, from the request to the end of the response. A tool has
// more time than that, so that its error still says what happened.
const Timeout = 20 * time.Second

// MaxBytes is the largest response.
const MaxBytes = 1 << 20

// An API describes the requests to a platform. Name and Base are required.
type API struct {
	// Name is the platform's name for people.
	Name string
	// Base returns the URL that all paths are below. details are what came with the
	// token of an OAuth grant, nil without one. Its error says what is wrong with the
	// settings.
	Base func(a integration.Account, details map[string]string) (string, error)
	// Authorize adds the authorization to a request. token is that of the account's
	// OAuth grant, "" without one. Its error says which credentials are missing.
	Authorize func(r *http.Request, a integration.Account, token string) error
	// TLS returns the encryption of the connections, nil for that of the system. Its
	// error is a *connectors.OptionError. See [ClientTLS].
	TLS func(s connectors.Settings) (*tls.Config, error)
	// Header is sent with each request.
	Header http.Header
	// Refusal returns why a successful response says that the request failed, nil if it
	// does not. It is for platforms that do not use the status. See [Refuse].
	Refusal func(body json.RawMessage) error
	// RateLimited is that of [restapi.Options].
	RateLimited func(response *http.Response) (after time.Duration, limited bool)
	// Advice names what to check if a response does not come from the platform, such as
	// "config.url".
	Advice string
}

// A Request is one request to a platform.
type Request struct {
	// Method is GET if empty. Reads says that a request with another method changes
	// nothing.
	Method string
	Reads  bool
	// Path is the result of [Path]: the escaped path below the base.
	Path  string
	Query url.Values
	// Body is sent as JSON, RawBody unchanged with the Content-Type in Header. At most
	// one of them is set.
	Body    any
	RawBody []byte
	Header  http.Header
}

// Path returns an escaped path: format with each %s replaced by an escaped part. It is
// "", which no request has, if a part would change the path: if it is empty, "." or
// "..".
func Path(format string, parts ...string) string {
	escaped := make([]any, len(parts))
	for i, part := range parts {
		if trimmed := strings.TrimSpace(part); trimmed == "" || trimmed == "." || trimmed == ".." {
			return ""
		}
		escaped[i] = url.PathEscape(part)
	}
	return fmt.Sprintf(format, escaped...)
}

// Do makes a request and decodes the JSON of the response into out. A nil out ignores
// the response; an *[Answer] takes any response.
func (api API) Do(ctx context.Context, a integration.Account, r Request, out any) error {
	if r.Path == "" {
		return apierr.New(apierr.InvalidRequest, `An id or name in the arguments is empty, "." or "..".`)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, errSlow)
	defer cancel()
	request := restapi.Request{Method: r.Method, Path: r.Path, Query: r.Query, Body: r.Body, RawBody: r.RawBody, Header: r.Header}
	token, err := api.once(ctx, a, "", request, out)
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Code == apierr.Unauthorized && token != "" {
		_, err = api.once(ctx, a, token, request, out)
	}
	return api.explain(ctx, r, err)
}

// once makes one exchange. It returns the token of the account's grant that was used,
// which is not refused.
func (api API) once(ctx context.Context, a integration.Account, refused string, request restapi.Request, out any) (token string, err error) {
	client, token, err := api.open(ctx, a, refused)
	if err != nil {
		return "", err
	}
	defer client.Close()
	return token, api.exchange(ctx, client, request, out)
}

var errSlow = fmt.Errorf("an answer did not come within %d seconds", int(Timeout.Seconds()))

func (api API) exchange(ctx context.Context, client *restapi.Client, request restapi.Request, out any) error {
	response, err := client.Do(ctx, request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if answer, ok := out.(*Answer); ok {
		return answer.read(response)
	}
	if out == nil && api.Refusal == nil && (response.StatusCode == http.StatusNoContent || response.ContentLength == 0) {
		return nil
	}
	if response.StatusCode/100 == 2 && response.StatusCode != http.StatusOK {
		response.StatusCode = http.StatusCreated // platforms differ in which success they call what
	}
	if api.Refusal == nil && out != nil {
		return client.ReadJSON(ctx, response, request, out)
	}
	var body json.RawMessage
	if err := client.ReadJSON(ctx, response, request, &body); err != nil {
		return err
	}
	if api.Refusal != nil {
		if err := api.Refusal(body); err != nil {
			return err
		}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return connectors.Retryable(fmt.Errorf("%s answered with JSON of another shape", api.Name), 0)
	}
	return nil
}

// open returns a client for one exchange, and the token of the account's grant.
func (api API) open(ctx context.Context, a integration.Account, refused string) (client *restapi.Client, token string, err error) {
	var details map[string]string
	if a.Token != nil {
		if token, details, err = a.Token(ctx, refused); err != nil {
			return nil, "", err
		}
	}
	base, err := api.Base(a, details)
	if err != nil {
		return nil, "", connectors.Fatal(err)
	}
	encryption, err := api.tlsOf(a)
	if err != nil {
		return nil, "", err
	}
	used := token
	client, err = restapi.New(base, a.Dial, restapi.Options{
		Platform: api.Name, Header: api.Header, Wait: a.Wait, RateLimited: api.RateLimited, ErrorMessage: errorMessage, SameHost: true, MaxBytes: MaxBytes, TLS: encryption,
		Advice: api.Advice,
		Authorize: func(r *http.Request, refused bool) (bool, error) {
			if refused {
				if a.Token == nil {
					return false, nil
				}
				renewed, _, err := a.Token(ctx, used)
				if err != nil || renewed == used {
					return false, err
				}
				used = renewed
			}
			if api.Authorize == nil {
				return false, nil
			}
			return true, api.Authorize(r, a, used)
		},
	})
	return client, token, err
}

// Bearer returns an Authorize that sends the OAuth token, or else a credential, as a
// bearer token.
func Bearer(credential string) func(r *http.Request, a integration.Account, token string) error {
	return func(r *http.Request, a integration.Account, token string) error {
		if token == "" {
			token = a.Credentials[credential]
		}
		if token == "" {
			return Missing(credential)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// Missing returns the error of an account without a credential.
func Missing(credential string) error {
	return connectors.NeedsAuth(fmt.Errorf("the integration has no credentials; enter credentials.%s or connect an account", credential))
}

// URL returns a Base from an option of the config. path is added to it.
func URL(option, path string) func(a integration.Account, _ map[string]string) (string, error) {
	return func(a integration.Account, _ map[string]string) (string, error) {
		text := strings.TrimRight(a.String(option), "/")
		if text == "" {
			return "", errors.New("config." + option + " is missing")
		}
		return text + path, nil
	}
}

// CheckURL is the check of an option that holds the URL of a platform. example shows
// how to write it.
func CheckURL(example string) func(value any) error {
	return connectors.CheckString(func(text string) error { _, err := restapi.ParseBaseURL(text, example); return err })
}

// AddressOption returns the option of a platform's address, for platforms with one
// address that only test servers, proxies and own installations replace.
func AddressOption(name, standard string) connectors.Option {
	return connectors.Option{
		Name: name, Title: "API address", Help: "Where requests go.", Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true,
		Default: standard, Example: standard, Advanced: true, Check: CheckURL(standard),
	}
}
