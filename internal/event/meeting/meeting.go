package meeting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

const secretName = "secret"

// Deps are the dependencies of the providers on the process. An empty address is that of
// the platform.
type Deps struct {
	// Client makes requests to the platforms. It refuses addresses that must not be
	// reached. It is required.
	Client *http.Client
	// Now is the clock of assertions.
	Now func() time.Time
	// The addresses of the platforms, for tests.
	ZoomAPI, ZoomLogin                                   string
	GoogleKeys, GoogleToken, GoogleMeet, GoogleDirectory string
	GoogleEvents                                         string
	Graph, MicrosoftLogin                                string
}

func (d Deps) withDefaults() Deps {
	for _, a := range []struct {
		field *string
		value string
	}{
		{&d.ZoomAPI, "https://api.zoom.us/v2"}, {&d.ZoomLogin, "https://zoom.us"},
		{&d.GoogleKeys, "https://www.googleapis.com/oauth2/v3/certs"}, {&d.GoogleToken, "https://oauth2.googleapis.com/token"},
		{&d.GoogleMeet, "https://meet.googleapis.com/v2"}, {&d.GoogleDirectory, "https://admin.googleapis.com/admin/directory/v1"},
		{&d.GoogleEvents, "https://workspaceevents.googleapis.com/v1"},
		{&d.Graph, "https://graph.microsoft.com/v1.0"}, {&d.MicrosoftLogin, "https://login.microsoftonline.com"},
	} {
		if *a.field == "" {
			*a.field = a.value
		}
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return d
}

// Providers returns all providers of meetings.
func Providers(d Deps) []event.Provider {
	return []event.Provider{Zoom(d), GoogleMeet(d), Teams(d)}
}

// collection returns the option with the collection of transcripts.
func collection() connectors.Option {
	return connectors.Option{
		Name: event.CollectionOption, Title: "Collection", Type: connectors.TypeString, Example: "018f2c4e-0000-8005-8000-000000000000",
		Help: "Id of the collection that gets the transcripts as documents. Only the attendees can find them. Empty: transcripts are not stored.",
	}
}

const (
	maxResponse = 8 << 20
	maxPages    = 200
	callTimeout = 30 * time.Second
)

// A request is one request to a platform.
type request struct {
	method, address, token string
	form                   url.Values
	object                 any // the body as JSON, instead of a form
}

// send makes a request with a bearer token and returns the status and the body. Its errors
// are a *event.Refusal, or passing ones.
func send(ctx context.Context, client *http.Client, q request) (status int, content []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var body io.Reader
	contentType := ""
	switch {
	case q.form != nil:
		body, contentType = strings.NewReader(q.form.Encode()), "application/x-www-form-urlencoded"
	case q.object != nil:
		text, err := json.Marshal(q.object)
		if err != nil {
			return 0, nil, fmt.Errorf("encode a request: %w", err)
		}
		body, contentType = bytes.NewReader(text), "application/json"
	}
	r, err := http.NewRequestWithContext(ctx, q.method, q.address, body)
	if err != nil {
		return 0, nil, event.Refuse("the address of the platform is malformed")
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if q.token != "" {
		r.Header.Set("Authorization", q.token)
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, fmt.Errorf("request to %s: %w", r.URL.Host, err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err = io.ReadAll(io.LimitReader(answer.Body, maxResponse+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("read the response of %s: %w", r.URL.Host, err)
	case len(content) > maxResponse:
		return 0, nil, event.Refuse("the response of %s is larger than 8 MiB", r.URL.Host)
	}
	return answer.StatusCode, content, nil
}

// refusal returns the error for a response that is no success.
func refusal(address string, status int, content []byte) error {
	host := address
	if u, err := url.Parse(address); err == nil {
		host = u.Host
	}
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return event.Refuse("%s answered %d: %s", host, status, problem(content))
	default:
		return fmt.Errorf("%s answered %d", host, status) //nolint:err113 // for the log
	}
}

// call makes a request with a bearer token and returns the body. A *event.Refusal is final;
// event.ErrNotReady says that it may be there later.
func call(ctx context.Context, client *http.Client, method, address, token string, form url.Values) ([]byte, error) {
	status, content, err := send(ctx, client, request{method: method, address: address, token: token, form: form})
	if err != nil {
		return nil, err
	}
	switch status {
	case http.StatusOK:
		return content, nil
	case http.StatusNotFound, http.StatusNoContent, http.StatusAccepted, http.StatusTooEarly, http.StatusConflict:
		return nil, event.ErrNotReady
	default:
		return nil, refusal(address, status, content)
	}
}

// exchange makes a request whose body and answer are JSON. found is false if the platform
// does not know the resource.
func exchange(ctx context.Context, client *http.Client, q request, into any) (found bool, err error) {
	status, content, err := send(ctx, client, q)
	switch {
	case err != nil:
		return false, err
	case status == http.StatusNotFound || status == http.StatusGone:
		return false, nil
	case status < 200 || status > 299:
		return false, refusal(q.address, status, content)
	case into == nil || len(content) == 0:
		return true, nil
	}
	if err := json.Unmarshal(content, into); err != nil {
		return false, fmt.Errorf("decode a response: %w", err)
	}
	return true, nil
}

// problem returns the message of an error response.
func problem(body []byte) string {
	var e struct {
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
		Message     string          `json:"message"`
		Reason      string          `json:"reason"`
	}
	if json.Unmarshal(body, &e) != nil {
		return "no reason"
	}
	var inner struct {
		Message string `json:"message"`
	}
	var text string
	_ = json.Unmarshal(e.Error, &inner)
	_ = json.Unmarshal(e.Error, &text)
	for _, candidate := range []string{e.Description, inner.Message, e.Message, e.Reason, text} {
		if candidate = safetext.TruncateBytes(safetext.Line(candidate), 200); candidate != "" {
			return candidate
		}
	}
	return "no reason"
}

// callJSON decodes the response of call.
func callJSON(ctx context.Context, client *http.Client, address, token string, into any) error {
	body, err := call(ctx, client, http.MethodGet, address, token, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decode a response: %w", err)
	}
	return nil
}

// requestToken asks an OAuth server for an access token, and returns the header.
func requestToken(ctx context.Context, client *http.Client, address, basic string, form url.Values) (string, error) {
	body, err := call(ctx, client, http.MethodPost, address, basic, form)
	if errors.Is(err, event.ErrNotReady) {
		return "", event.Refuse("the platform does not know the account")
	}
	if err != nil {
		return "", err
	}
	var token struct {
		Access string `json:"access_token"`
	}
	if json.Unmarshal(body, &token) != nil || token.Access == "" {
		return "", fmt.Errorf("decode a token: %w", event.ErrDelivery)
	}
	return "Bearer " + token.Access, nil
}

// addAttendee adds a person once. An address is known by its lower-case form.
func addAttendee(list []event.Attendee, a event.Attendee) []event.Attendee {
	a.Name, a.Email = safetext.TruncateBytes(safetext.Line(a.Name), 200), strings.ToLower(safetext.TruncateBytes(safetext.Line(a.Email), 320))
	if a.Name == "" && a.Email == "" {
		return list
	}
	if slices.ContainsFunc(list, func(b event.Attendee) bool {
		return a.Email != "" && a.Email == b.Email || a.Email == "" && b.Email == "" && a.Name == b.Name
	}) {
		return list
	}
	return append(list, a)
}

// summary returns one line.
func summary(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	return safetext.TruncateBytes(safetext.Line(strings.Join(parts, " ")), 300)
}

// number is a number or a text in JSON.
type number string

// UnmarshalJSON accepts a number or a text.
func (n *number) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*n = number(text)
		return nil
	}
	var value json.Number
	if err := json.Unmarshal(b, &value); err != nil {
		return err //nolint:wrapcheck // encoding/json adds the field
	}
	*n = number(value.String())
	return nil
}

// unixMilli returns a time of milliseconds; zero for none.
func unixMilli(n number) time.Time {
	ms, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
