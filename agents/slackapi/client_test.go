package slackapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/slackapi"
)

// serve returns a client of a server with one handler.
func serve(t *testing.T, handler http.HandlerFunc) *slackapi.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	return slackapi.New(slackapi.Options{API: server.URL + "/api/", Transport: transport})
}

func TestAMethodGetsTheTokenAndItsArguments(t *testing.T) {
	t.Parallel()
	var got []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body)}, " "))
		_, _ = io.WriteString(w, `{"ok":true,"ts":"1.2"}`)
	})
	var out struct {
		TS string `json:"ts"`
	}
	if err := c.Call(t.Context(), "xoxb-1", "chat.postMessage", map[string]any{"channel": "C1"}, &out); err != nil || out.TS != "1.2" {
		t.Errorf("%+v, %v", out, err)
	}
	if err := c.Call(t.Context(), "xoxb-1", "users.info", url.Values{"user": {"U 1"}}, nil); err != nil {
		t.Error(err)
	}
	want := []string{
		`POST /api/chat.postMessage Bearer xoxb-1 application/json; charset=utf-8 {"channel":"C1"}`,
		`POST /api/users.info Bearer xoxb-1 application/x-www-form-urlencoded user=U+1`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v", got)
	}
}

// Whoever repeats a message must know whether it may have been posted.
func TestTheErrorTellsWhetherACallMayHaveHadAnEffect(t *testing.T) {
	t.Parallel()
	const unknown = "unknown"
	say := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		code    string
		later   bool
		after   time.Duration
	}{
		"a code":              {say(200, `{"ok":false,"error":"channel_not_found"}`), "channel_not_found", false, 0},
		"a limit in the body": {say(200, `{"ok":false,"error":"ratelimited"}`), "ratelimited", true, 0},
		"no service":          {say(200, `{"ok":false,"error":"service_unavailable"}`), "service_unavailable", true, 0},
		"a limit": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "40")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "ratelimited", true, 40 * time.Second},
		"a limit of days": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "9223372036854775807")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "ratelimited", true, time.Hour},
		"a limit without a time": {say(429, ""), "ratelimited", true, 30 * time.Second},
		"a wrong address":        {say(404, "nothing here"), "the status 404", false, 0},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "the status 307", false, 0},
		"an inner error":    {say(200, `{"ok":false,"error":"internal_error"}`), unknown, false, 0},
		"a fatal error":     {say(200, `{"ok":false,"error":"fatal_error"}`), unknown, false, 0},
		"a strange code":    {say(200, `{"ok":false,"error":"<script> xoxb-1"}`), unknown, false, 0},
		"a broken server":   {say(500, `{"ok":false,"error":"channel_not_found"}`), unknown, false, 0},
		"a web page":        {say(200, "<html>"), unknown, false, 0},
		"another form":      {say(200, `{"error":"channel_not_found"}`), unknown, false, 0},
		"an endless answer": {say(200, `{"ok":true,"x":"`+strings.Repeat("x", 1<<20)+`"}`), unknown, false, 0},
		"a lost connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, unknown, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := serve(t, c.handler).Call(t.Context(), "xoxb-1", "chat.postMessage", map[string]any{"text": "x"}, nil)
			check(t, err, c.code, c.later, c.after)
		})
	}
}

func check(t *testing.T, err error, code string, later bool, after time.Duration) {
	t.Helper()
	refused, ok := errors.AsType[*slackapi.Refused](err)
	switch {
	case err == nil || ok == (code == "unknown"):
		t.Errorf("got %v", err)
	case ok && (refused.Code != code || refused.Later != later || refused.After != after):
		t.Errorf("got %+v", refused)
	case strings.Contains(err.Error(), "xoxb"):
		t.Errorf("the error has the token: %v", err)
	}
}

// What did not reach Slack was not done.
func TestACallThatDoesNotReachSlackIsRefused(t *testing.T) {
	t.Parallel()
	refusal := errors.New("private address")
	c := slackapi.New(slackapi.Options{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refusal }})
	err := c.Call(t.Context(), "xoxb-1", "chat.postMessage", map[string]any{}, nil)
	check(t, err, "Slack could not be reached", true, 0)
	if !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	check(t, c.Call(t.Context(), "xoxb-1", "chat.postMessage", map[string]any{"f": func() {}}, nil), "the request cannot be encoded", false, 0)
	check(t, c.Call(t.Context(), "xoxb-1", "chat.postMessage", map[string]any{"text": strings.Repeat("x", 1<<20)}, nil), "the request is too long", false, 0)
}

// A response address leads to Slack, without the token, or is not used.
func TestResponsesGoToSlackOnly(t *testing.T) {
	t.Parallel()
	var got []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization")+string(body))
		_, _ = io.WriteString(w, "ok")
	}))
	transport := server.Client().Transport
	t.Cleanup(func() { server.Client().CloseIdleConnections(); server.Close() })
	host := strings.TrimPrefix(server.URL, "https://")
	c := slackapi.New(slackapi.Options{Transport: transport, ResponseHosts: []string{host}})
	for _, address := range []string{"https://127.0.0.1:1/x", "http://" + host + "/plain", "://", "https://" + host + "@evil.example/x", server.URL + "/actions/1"} {
		if err := c.Respond(t.Context(), address, map[string]string{"text": "hi"}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if fmt.Sprint(got) != `[/actions/1 {"text":"hi"}]` {
		t.Errorf("got %q", got)
	}
}
