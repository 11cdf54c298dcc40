package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/webhook"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/httpx"
)

func at() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func account(address string, config map[string]any, credentials map[string]string) integration.Account {
	all := map[string]any{"url": address}
	for name, value := range config {
		all[name] = value
	}
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")})
	return integration.Account{Settings: connectors.Settings{ConnectorID: "w", Config: all, Credentials: credentials}, Dial: guard.DialContext, Now: at}
}

const schema = `{"type":"object","properties":{"id":{"type":"string"},"fields":{"type":"array"},"title":{"type":"string"},"big":{"type":"integer"}}}`

func tool(t *testing.T, e webhook.Endpoint, risk policy.Risk) integration.Tool {
	t.Helper()
	out, err := webhook.Tool(e, integration.Tool{Name: "ticket", Title: "Ticket", Description: "A ticket.", Risk: risk, Schema: json.RawMessage(schema)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// host is a server that notes its last request.
type host struct {
	*httptest.Server
	request *http.Request
	body    string
	answer  func(w http.ResponseWriter, r *http.Request)
}

func newHost(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *host {
	t.Helper()
	h := &host{answer: answer}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.request, h.body = r.Clone(context.WithoutCancel(r.Context())), string(body)
		h.answer(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func respond(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

func TestArgumentsAreEscapedIntoTheRequest(t *testing.T) {
	t.Parallel()
	h := newHost(t, respond(`{"data":{"items":[{"id":1},{"id":2}]}}`))
	read := tool(t, webhook.Endpoint{Method: "GET", Path: "/tickets/{id}", Query: []string{"fields"}, Result: "$.data.items[*].id"}, policy.Read)
	a := account(h.URL+"/v1", nil, map[string]string{"auth_secret": "s3cret-t0ken"})
	got, err := read.Call(t.Context(), a, json.RawMessage(`{"id":"a/../b?x=1&y#z","fields":["one two","a&b"],"title":"left over"}`))
	if err != nil || got.Text != "[1,2]" {
		t.Errorf("%q, %v", got.Text, err)
	}
	if uri := h.request.RequestURI; uri != "/v1/tickets/a%2F..%2Fb%3Fx=1&y%23z?fields=one+two&fields=a%26b&title=left+over" {
		t.Errorf("requested %s", uri)
	}
	if got := h.request.Header.Get("Authorization"); got != "Bearer s3cret-t0ken" {
		t.Errorf("authorization %q", got)
	}
	for _, arguments := range []string{`{"id":".."}`, `{"id":""}`, `{}`, `{"id":{"a":1}}`, `[]`, `{"id":"x","fields":[{}]}`} {
		if _, err := read.Call(t.Context(), a, json.RawMessage(arguments)); apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

func TestRequestsAreSignedAndCarryTheKeyOfTheCall(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	write := tool(t, webhook.Endpoint{Method: "POST", Path: "/tickets"}, policy.Write)
	a := account(h.URL, map[string]any{"auth_header": "X-Api-Key", "auth_prefix": "-"}, map[string]string{"auth_secret": "s3cret-t0ken", "signing_secret": "sign-with-me"})
	got, err := write.Call(t.Context(), a, json.RawMessage(`{"title":"<b>","big":1000000000000000001}`))
	if err != nil || got.Text != `{"status":202}` {
		t.Errorf("%q, %v", got.Text, err)
	}
	if h.body != `{"big":1000000000000000001,"title":"<b>"}` && h.body != `{"big":1000000000000000001,"title":"\u003cb\u003e"}` {
		t.Errorf("the body is %s", h.body)
	}
	head := h.request.Header
	if head.Get("X-Api-Key") != "s3cret-t0ken" || head.Get(webhook.TimestampHeader) != "1767323045" ||
		head.Get(webhook.SignatureHeader) != webhook.Sign("sign-with-me", "1767323045", []byte(h.body)) {
		t.Errorf("headers %v", head)
	}
	// By openssl dgst -sha256 -hmac secret.
	if got := webhook.Sign("secret", "1700000000", []byte(`{"a":1}`)); got != "v1=49f24e537407743fa4a0242bb63b94b9a47ee99cbbe071ccd8a22550ae411686" {
		t.Errorf("signature %s", got)
	}
	if preview, err := write.Preview(json.RawMessage(`{"title":"Hello"}`)); err != nil || !strings.Contains(preview.Text, "POST /tickets") || !strings.Contains(preview.Text, "Hello") || strings.Contains(preview.Text, "t0ken") {
		t.Errorf("preview %+v, %v", preview, err)
	}
}

func TestNoOtherHostIsReached(t *testing.T) {
	t.Parallel()
	other := newHost(t, respond(`{}`))
	h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/stolen", http.StatusTemporaryRedirect)
	})
	read := tool(t, webhook.Endpoint{Method: "GET", Path: "/"}, policy.Read)
	a := account(h.URL, nil, map[string]string{"auth_secret": "s3cret-t0ken"})
	if _, err := read.Call(t.Context(), a, json.RawMessage(`{}`)); err == nil || other.request != nil {
		t.Errorf("a redirect: %v, %v", err, other.request)
	}
	a.Dial = httpx.NewGuard(nil).DialContext
	h.request = nil
	if _, err := read.Call(t.Context(), a, json.RawMessage(`{}`)); err == nil || h.request != nil {
		t.Errorf("a private address: %v", err)
	}
}

func TestSecretsAndLongAnswersStayOut(t *testing.T) {
	t.Parallel()
	echo := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"you sent":"`+r.Header.Get("Authorization")+`","long":"`+strings.Repeat("x", 100_000)+`"}`)
	})
	read := tool(t, webhook.Endpoint{Method: "GET", Path: "/"}, policy.Read)
	got, err := read.Call(t.Context(), account(echo.URL, nil, map[string]string{"auth_secret": "s3cret-t0ken"}), json.RawMessage(`{}`))
	if err != nil || strings.Contains(got.Text, "s3cret") || len(got.Text) > 17_000 || !strings.Contains(got.Text, "you sent") {
		t.Errorf("%d bytes, %v: %.200s", len(got.Text), err, got.Text)
	}
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"forbidden": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, `{"message":"no `+r.Header.Get("Authorization")+`"}`, http.StatusForbidden)
		},
		"broken": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"huge":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, io.LimitReader(endless{}, 3<<20)) },
	} {
		h := newHost(t, answer)
		_, err := read.Call(t.Context(), account(h.URL, nil, map[string]string{"auth_secret": "s3cret-t0ken"}), json.RawMessage(`{}`))
		if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code == apierr.Internal || strings.Contains(e.Message, "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestWrongEndpointsAreRefusedWithTheirField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		endpoint webhook.Endpoint
		field    string
	}{
		"method":               {webhook.Endpoint{Method: "TRACE", Path: "/"}, "method"},
		"another host":         {webhook.Endpoint{Method: "GET", Path: "https://evil.example/"}, "path"},
		"another host by //":   {webhook.Endpoint{Method: "GET", Path: "//evil.example/"}, "path"},
		"up":                   {webhook.Endpoint{Method: "GET", Path: "/a/../b"}, "path"},
		"a query":              {webhook.Endpoint{Method: "GET", Path: "/a?b=c"}, "path"},
		"an escape":            {webhook.Endpoint{Method: "GET", Path: "/a%2fb"}, "path"},
		"open brace":           {webhook.Endpoint{Method: "GET", Path: "/{id"}, "path"},
		"closed brace":         {webhook.Endpoint{Method: "GET", Path: "/id}"}, "path"},
		"unknown argument":     {webhook.Endpoint{Method: "GET", Path: "/{name}"}, "path"},
		"unknown parameter":    {webhook.Endpoint{Method: "GET", Path: "/", Query: []string{"name"}}, "query"},
		"an argument twice":    {webhook.Endpoint{Method: "POST", Path: "/{id}", Body: []string{"id"}}, "body"},
		"a body of a GET":      {webhook.Endpoint{Method: "GET", Path: "/", Body: []string{"id"}}, "body"},
		"no path of an answer": {webhook.Endpoint{Method: "GET", Path: "/", Result: "data.items"}, "result"},
		"a filter":             {webhook.Endpoint{Method: "GET", Path: "/", Result: "$.items[?(@.id)]"}, "result"},
	} {
		err := c.endpoint.Check(json.RawMessage(schema))
		if err == nil || !strings.HasPrefix(apierr.From(err).Message, c.field+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheAddressIsTested(t *testing.T) {
	t.Parallel()
	p := webhook.AnyHost()
	for status, works := range map[int]bool{200: true, 204: true, 404: true, 405: true, 401: false, 403: false, 500: false} {
		h := newHost(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if err := p.Check(t.Context(), account(h.URL, nil, nil)); (err == nil) != works {
			t.Errorf("%d: %v", status, err)
		}
	}
}
