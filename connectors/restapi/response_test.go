package restapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// newClientWithResponses returns a client of a platform with a handler at each path.
func newClientWithResponses(t *testing.T, answers map[string]http.HandlerFunc) *restapi.Client {
	t.Helper()
	return newClient(t, restapi.Options{Advice: "config.apiUrl"}, func(w http.ResponseWriter, r *http.Request) {
		name, _ := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/api/"))
		answers[name](w, r)
	})
}

func respondWith(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestUnexpectedResponsesAreRefused(t *testing.T) {
	t.Parallel()
	const page, login = "<!doctype html><p>Please wait</p>", `<html><form action="/x"><input type="password"></form></html>`
	answers := map[string]http.HandlerFunc{
		"good":             respondWith(200, "application/json", `{"list":[],"paging":{"page":1}}`),
		"made":             respondWith(201, "application/vnd.platform+json", `{"list":[],"paging":{"page":1}}`),
		"a page":           respondWith(200, "text/html; charset=utf-8", page),
		"a page as JSON":   respondWith(200, "application/json", page),
		"JSON as a page":   respondWith(200, "text/html", `{"list":[],"paging":{"page":1}}`),
		"a login":          respondWith(200, "text/html", login),
		"nothing":          respondWith(200, "application/json", " \n"),
		"no content":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"accepted":         respondWith(202, "application/json", `{"list":[],"paging":{"page":1}}`),
		"a part":           respondWith(206, "application/json", `{"list":[],"paging":{"page":1}}`),
		"cut off":          respondWith(200, "application/json", `{"list":[],"pag`),
		"two":              respondWith(200, "application/json", `{"list":[],"paging":{"page":1}}{}`),
		"an empty object":  respondWith(200, "application/json", `{}`),
		"an error":         respondWith(200, "application/json", `{"error":"internal"}`),
		"a null":           respondWith(200, "application/json", `{"list":null,"paging":{"page":1}}`),
		"without a number": respondWith(200, "application/json", `{"list":[],"paging":{}}`),
		"a list":           respondWith(200, "application/json", `[]`),
		"null":             respondWith(200, "application/json", `null`),
		"a text":           respondWith(200, "application/json", `"ok"`),
		"another type":     respondWith(200, "application/json", `{"list":{"a":1},"paging":{"page":1}}`),
	}
	c := newClientWithResponses(t, answers)
	for name := range answers {
		var out struct {
			List   []string
			Paging struct{ Page int }
		}
		_, err := c.JSON(t.Context(), restapi.Request{Path: url.PathEscape(name), RequiredFields: []string{"list", "paging.page"}}, &out)
		if name == "good" || name == "made" {
			if err != nil || out.Paging.Page != 1 {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
			continue
		}
		mismatch, ok := errors.AsType[*restapi.UnexpectedResponseError](err)
		if _, again := connectors.RetryAfterOf(err); !ok || !again {
			t.Errorf("%s: %v, want a retryable mismatch", name, err)
			continue
		}
		text := err.Error()
		if !strings.Contains(text, "Platform answered GET /api/") || !strings.Contains(text, "check config.apiUrl") || strings.Contains(text, "127.0.0.1") {
			t.Errorf("%s: %v", name, err)
		}
		if isPage := strings.Contains(name, "page") || name == "a login"; mismatch.IsHTML != isPage || mismatch.IsLogin != (name == "a login") {
			t.Errorf("%s: page %v, login %v", name, mismatch.IsHTML, mismatch.IsLogin)
		}
	}
	var list []string
	for name, good := range map[string]bool{"a list": true, "good": false, "null": false, "a text": false} {
		if _, err := c.JSON(t.Context(), restapi.Request{Path: url.PathEscape(name)}, &list); (err == nil) != good {
			t.Errorf("%s as a list: %v", name, err)
		}
	}
}

func TestDownloadsAreComplete(t *testing.T) {
	t.Parallel()
	const text = "what is in the file"
	c := newClientWithResponses(t, map[string]http.HandlerFunc{
		"file":    respondWith(200, "application/octet-stream", text),
		"page":    respondWith(200, "text/html", text),
		"nothing": respondWith(200, "application/octet-stream", ""),
		"part":    respondWith(206, "application/octet-stream", text),
		"chunks": func(w http.ResponseWriter, _ *http.Request) {
			for _, part := range []string{text[:5], text[5:]} {
				_, _ = io.WriteString(w, part)
				_ = http.NewResponseController(w).Flush()
			}
		},
		"short": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, text[:5])
			_ = http.NewResponseController(w).Flush()
		},
		"broken": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			_, _ = io.WriteString(w, text[:5])
		},
	})
	whole := int64(len(text))
	for name, c2 := range map[string]struct {
		path string
		want restapi.Expected
		good bool
	}{
		"whole": {"file", restapi.Expected{Size: whole}, true}, "in chunks": {"chunks", restapi.Expected{Size: whole}, true},
		"of unknown size": {"file", restapi.Expected{Size: -1}, true}, "a page": {"page", restapi.Expected{Size: whole, AllowHTML: true}, true},
		"empty": {"nothing", restapi.Expected{Size: -1}, true}, "empty, as told": {"nothing", restapi.Expected{}, true},
		"a page in its place": {"page", restapi.Expected{Size: whole}, false}, "a part": {"part", restapi.Expected{Size: whole}, false},
		"nothing": {"nothing", restapi.Expected{Size: whole}, false}, "nothing, filled": {"nothing", restapi.Expected{Size: -1, NonEmpty: true}, false},
		"longer": {"file", restapi.Expected{Size: whole - 1}, false}, "longer, in chunks": {"chunks", restapi.Expected{Size: whole - 1}, false},
		"shorter": {"short", restapi.Expected{Size: whole}, false}, "broken off": {"broken", restapi.Expected{Size: whole}, false},
	} {
		body, err := c.Download(t.Context(), restapi.Request{Path: c2.path}, c2.want)
		if err == nil {
			_, err = io.ReadAll(body)
			_ = body.Close()
		}
		_, again := connectors.RetryAfterOf(err)
		if (err == nil) != c2.good || !c2.good && !again {
			t.Errorf("%s: %v (retryable %v)", name, err, again)
		}
	}
}

func TestLoopDetectorFindsEveryLoop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, circle int }{{0, 1}, {0, 2}, {1, 1}, {1, 2}, {3, 5}, {10, 1}, {100, 7}, {0, 50}} {
		var trail restapi.LoopDetector
		page := func(n int) string {
			if n >= c.before {
				n = c.before + (n-c.before)%c.circle
			}
			return fmt.Sprintf("page %d", n)
		}
		var err error
		steps := 0
		for ; err == nil && steps < 1000; steps++ {
			err = trail.Visit("Platform", "the list", page(steps))
			kept, ok := restapi.ParseLoopDetector(trail.String())
			if !ok {
				t.Fatalf("%q is no trail", trail.String())
			}
			trail = kept // as in a cursor
		}
		if _, again := connectors.RetryAfterOf(err); !again || steps > 3*(c.before+c.circle)+2 || !strings.Contains(err.Error(), "page ") {
			t.Errorf("%d pages before a circle of %d: after %d steps: %v", c.before, c.circle, steps, err)
		}
	}
	var trail restapi.LoopDetector
	for n := range 10_000 {
		if err := trail.Visit("Platform", "the list", strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"", "x", "0123456789abcdef-1", "0123456789abcdeg-1-1", "0123456789abcdef--1-1"} {
		if _, ok := restapi.ParseLoopDetector(text); ok {
			t.Errorf("%q is a trail", text)
		}
	}
}
