package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Inbox finds integrations; [inbox.Inbox] implements it.
type Inbox interface {
	// Verify returns the integrations that a request is genuine for.
	Verify(ctx context.Context, provider string, integration uuid.UUID, r *event.Request) ([]inbox.Verified, error)
	// Settings returns the opened settings of an integration.
	Settings(row *ent.InboundIntegration) (connectors.Settings, error)
}

// Options configure an App. Zero means the default in the comment.
type Options struct {
	Ent   *ent.Client
	Store *approval.Store
	Dial  connectors.Dial // refuses addresses that must not be reached
	// Dashboard is the address of the dashboard, without a trailing slash.
	Dashboard string
	// API is the address of Slack's methods: https://slack.com/api/. ResponseHosts are
	// the hosts of response addresses: hooks.slack.com. Transport replaces the
	// connections of the process, for tests.
	API           string
	ResponseHosts []string
	Transport     http.RoundTripper
	Now           func() time.Time
	Log           *slog.Logger // nil discards
}

// App is the Slack side of approvals. It is safe for concurrent use and has no
// goroutines.
type App struct {
	opt    Options
	client *http.Client
	inbox  Inbox

	mu    sync.Mutex
	mails map[mailKey]mail
}

// New returns an App. Use sets its inbox, which needs the App's provider first.
func New(o Options) *App {
	o.API = cmp.Or(o.API, "https://slack.com/api/")
	if o.ResponseHosts == nil {
		o.ResponseHosts = []string{"hooks.slack.com"}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	client := &http.Client{
		Timeout: callTimeout, Transport: o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if client.Transport == nil {
		client.Transport = &http.Transport{
			DialContext: o.Dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: callTimeout, ResponseHeaderTimeout: callTimeout,
		}
	}
	return &App{opt: o, client: client, mails: map[mailKey]mail{}}
}

// Use sets the inbox of the integrations.
func (a *App) Use(in Inbox) { a.inbox = in }

const (
	// callTimeout bounds a request to Slack, which itself waits three seconds for the
	// answer to an interaction.
	callTimeout = 10 * time.Second
	maxResponse = 1 << 20 // bytes
)

// errLater says that Slack takes no requests for a while.
type errLater struct{ after time.Duration }

func (e *errLater) Error() string { return "Slack asks to wait for " + e.after.String() }

// errRefused is an error code of Slack's.
type errRefused struct{ method, code string }

func (e *errRefused) Error() string { return e.method + ": Slack answered " + e.code }

// call calls a method of Slack's API with JSON, or with a form if query is given, and
// decodes the answer into out, which may be nil.
func (a *App) call(ctx context.Context, token, method string, body any, out any) error {
	var content io.Reader
	kind := "application/json; charset=utf-8"
	switch body := body.(type) {
	case nil:
	case url.Values:
		content, kind = strings.NewReader(body.Encode()), "application/x-www-form-urlencoded"
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode a request to Slack: %w", err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.opt.API+method, content)
	if err != nil {
		return fmt.Errorf("make a request to Slack: %w", err)
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Authorization", "Bearer "+token)
	text, err := a.send(request, method)
	if err != nil {
		return err
	}
	var result struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &result) != nil {
		return fmt.Errorf("%s: Slack's answer is no JSON", method)
	}
	if !result.OK {
		return &errRefused{method, clean(result.Error)}
	}
	if out != nil && json.Unmarshal(text, out) != nil {
		return fmt.Errorf("%s: Slack's answer has another form", method)
	}
	return nil
}

// clean returns an error code of Slack's without anything else.
func clean(code string) string {
	if code == "" || len(code) > 100 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "an unknown error"
	}
	return code
}

func (a *App) send(request *http.Request, what string) ([]byte, error) {
	response, err := a.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, withoutAddress(err))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusTooManyRequests {
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			seconds = 30
		}
		return nil, &errLater{min(time.Duration(seconds)*time.Second, time.Hour)}
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return nil, fmt.Errorf("%s: read Slack's answer: %w", what, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: Slack answered with the status %d", what, response.StatusCode)
	}
	return text, nil
}

// withoutAddress removes the address of a failed request, which may hold a secret.
func withoutAddress(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// respond sends a text that only the person who used a button sees. Slack's address for
// it is part of the signed request; it is used for nothing else.
func (a *App) respond(ctx context.Context, address, text string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || !contains(a.opt.ResponseHosts, u.Host) {
		return
	}
	body, err := json.Marshal(map[string]any{"response_type": "ephemeral", "replace_original": false, "text": escape(text)})
	if err != nil {
		return
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	if _, err := a.send(request, "response"); err != nil {
		a.opt.Log.WarnContext(ctx, "response not sent to Slack", slog.Any("error", err))
	}
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// system returns the context of Magpie itself in a workspace.
func system(ctx context.Context, workspace uuid.UUID) context.Context {
	return viewer.With(ctx, viewer.System(workspace))
}
