package integrationtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

// A fault is a wrong answer and the error that it becomes.
type fault struct {
	name   string
	answer func(w http.ResponseWriter, r *http.Request)
	want   apierr.Code
	// unknown says that a change may have been made.
	unknown bool
}

// status answers with a status and a message that repeats the request's secrets.
func status(code int, want apierr.Code) fault {
	return fault{name: fmt.Sprint(code), want: want, unknown: code >= http.StatusInternalServerError, answer: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(code)
		leak := ""
		for name, values := range r.Header {
			leak += name + " " + strings.Join(values, " ") + " "
		}
		_, _ = fmt.Fprintf(w, `{"message": %q}`, "Not so. "+strings.TrimSpace(leak+r.URL.RawQuery)) //nolint:gosec // nobody views it
	}}
}

// body answers with the status 200 and a body.
func body(name, contentType, text string) fault {
	return fault{name: name, want: apierr.Unavailable, unknown: true, answer: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(text))
	}}
}

func allFaults() []fault {
	const huge = 1<<20 + 1000
	return []fault{
		status(400, apierr.InvalidRequest), status(401, apierr.Unauthorized), status(403, apierr.Forbidden), status(404, apierr.CodeNotFound),
		status(409, apierr.Conflict), status(422, apierr.InvalidRequest), status(429, apierr.RateLimited), status(500, apierr.Unavailable),
		status(503, apierr.Unavailable),
		body("a login page", "text/html; charset=utf-8", `<!DOCTYPE html><html><title>Sign in</title><form action="/login"><input type=password></form></html>`),
		body("a page of another type", "application/json", `<html><body>Welcome</body></html>`),
		body("garbage", "application/json", "\x00\xff{]"),
		body("JSON that is cut off", "application/json", `{"ok": true, "data": [1, 2`),
		body("a huge answer", "application/json", `{"text": "`+strings.Repeat("x", huge)+`"}`),
		{name: "a broken connection", want: apierr.Unavailable, unknown: true, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"ok": true`))
		}},
		{name: "no answer", want: apierr.Unavailable, unknown: true, answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	}
}

// faults replaces the answers to a tool's requests. For acting tools, they are the
// answers to changes.
func (f *Fixture) faults(t *testing.T, tool integration.Tool) {
	redirected := make(chan string, 100)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { redirected <- r.URL.String() }))
	t.Cleanup(elsewhere.Close)
	t.Cleanup(func() { f.setFault(nil) })
	all := append(allFaults(), fault{name: "a redirect to another host", want: apierr.Unavailable, unknown: true, answer: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect) //nolint:gosec // to the other server of the test
	}})
	for _, fault := range all {
		f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
			if tool.Risk.Acts() && !isChange(r.Method) {
				return false
			}
			fault.answer(w, r)
			return true
		})
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if fault.name == "no answer" {
			ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
		}
		result, err := f.call(ctx, tool, f.account(f.setup.Credentials), f.setup.Examples[tool.Name].Arguments)
		cancel()
		e, ok := errors.AsType[*apierr.Error](err)
		if !ok || e.Code != fault.want {
			t.Errorf("%s: got %v, %.200s; want %s", fault.name, err, result.Text, fault.want)
			continue
		}
		f.hasNoSecret(t, fault.name, err.Error()+e.Message)
		if !strings.Contains(e.Message, f.provider.Title) && !strings.HasPrefix(e.Message, "An answer") || strings.ContainsAny(e.Message, "\n\r\x00") || !strings.HasSuffix(e.Message, ".") {
			t.Errorf("%s: the message is %q", fault.name, e.Message)
		}
		if fault.name == "401" && !connectors.IsNeedsAuth(err) {
			t.Errorf("%s: nobody is told to renew the credentials: %v", fault.name, err)
		}
		if fault.name == "429" && (e.RetryAfter != 7*time.Second || !strings.Contains(e.Message, "7 seconds")) {
			t.Errorf("%s: the wait is %s, %q", fault.name, e.RetryAfter, e.Message)
		}
		if unknown := errors.Is(err, integration.ErrUnknownOutcome); unknown != (fault.unknown && tool.Risk.Acts()) || unknown && !strings.Contains(e.Message, CallKey) {
			t.Errorf("%s: the outcome is unknown: %v, %q", fault.name, unknown, e.Message)
		}
	}
	f.setFault(nil)
	if len(redirected) > 0 {
		t.Errorf("a redirect was followed: %s", <-redirected)
	}
}
