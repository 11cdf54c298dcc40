package restapi_test

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

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/httpx"
)

func newClient(t *testing.T, o restapi.Options, handler http.HandlerFunc) *restapi.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.Platform = "Platform"
	c, err := restapi.New(server.URL+"/api/", new(net.Dialer).DialContext, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestResponseIsDecoded(t *testing.T) {
	t.Parallel()
	waits := 0
	c := newClient(t, restapi.Options{
		Header: http.Header{"X-Version": {"7"}},
		Wait:   func(context.Context) error { waits++; return nil },
	}, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		w.Header().Set("Link", "next")
		_, _ = fmt.Fprintf(w, `{"path":%q,"version":%q,"q":%q}`, r.URL.Path, r.Header.Get("X-Version"), r.Form.Get("q"))
	})
	for _, r := range []restapi.Request{
		{Path: "things", Query: url.Values{"q": {"a b"}}},
		{Path: "/things?q=a+b"},
		{Method: http.MethodPost, Path: "things", Form: url.Values{"q": {"a b"}}},
	} {
		var out struct{ Path, Version, Q string }
		header, err := c.JSON(t.Context(), r, &out)
		if err != nil || out.Path != "/api/things" || out.Version != "7" || out.Q != "a b" || header.Get("Link") != "next" {
			t.Errorf("%+v: %+v %v %v", r, out, header, err)
		}
	}
	if waits != 3 {
		t.Errorf("waited %d times for 3 requests", waits)
	}
}

func TestStatusErrorsAreClassified(t *testing.T) {
	t.Parallel()
	c := newClient(t, restapi.Options{
		ErrorMessage: func(body []byte) string { return string(body) },
		RateLimited: func(r *http.Response) (time.Duration, bool) {
			return time.Minute, r.StatusCode == http.StatusForbidden && r.Header.Get("X-Remaining") == "0"
		},
	}, func(w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/api/%d", &status); err != nil {
			t.Error(err)
		}
		for name, values := range r.URL.Query() {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, "because")
	})
	for path, want := range map[string]func(error) bool{
		"401":                  connectors.IsNeedsAuth,
		"403":                  connectors.IsNeedsAuth,
		"403?X-Remaining=0":    func(err error) bool { after, ok := connectors.RetryAfterOf(err); return ok && after == time.Minute },
		"404":                  func(err error) bool { return errors.Is(err, connectors.ErrNotFound) },
		"410":                  func(err error) bool { return errors.Is(err, connectors.ErrNotFound) },
		"422":                  connectors.IsFatal,
		"429":                  func(err error) bool { after, ok := connectors.RetryAfterOf(err); return ok && after == 0 },
		"429?Retry-After=7":    func(err error) bool { after, _ := connectors.RetryAfterOf(err); return after == 7*time.Second },
		"503?Retry-After=7":    func(err error) bool { after, _ := connectors.RetryAfterOf(err); return after == 7*time.Second },
		"500":                  func(err error) bool { _, ok := connectors.RetryAfterOf(err); return ok },
		"429?Retry-After=junk": func(err error) bool { _, ok := connectors.RetryAfterOf(err); return ok },
	} {
		_, err := c.JSON(t.Context(), restapi.Request{Path: path}, nil)
		if err == nil || !want(err) || !strings.Contains(err.Error(), "because") || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: %v", path, err)
		}
		if status := restapi.StatusOf(err); !strings.HasPrefix(path, fmt.Sprint(status)) {
			t.Errorf("%s: the status is %d", path, status)
		}
	}
}

func TestRejectedAuthorizationIsRenewedOnce(t *testing.T) {
	t.Parallel()
	good, renewals := "new", 0
	token := "old"
	c := newClient(t, restapi.Options{Authorize: func(r *http.Request, refused bool) (bool, error) {
		if refused {
			renewals++
			if token == "new" {
				return false, nil
			}
			token = "new"
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return true, nil
	}}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+good {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	if _, err := c.JSON(t.Context(), restapi.Request{}, nil); err != nil || renewals != 1 {
		t.Errorf("after %d renewals: %v", renewals, err)
	}
	good = "other"
	if _, err := c.JSON(t.Context(), restapi.Request{}, nil); !connectors.IsNeedsAuth(err) || renewals != 2 {
		t.Errorf("after %d renewals: %v", renewals, err)
	}
}

func TestAuthorizationIsOnlySentToThePlatform(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Key") != "" {
			t.Error("another host got the credentials")
		}
	}))
	t.Cleanup(other.Close)
	c := newClient(t, restapi.Options{
		Header: http.Header{"X-Key": {"secret"}},
		Authorize: func(r *http.Request, _ bool) (bool, error) {
			r.Header.Set("Authorization", "Bearer secret")
			return true, nil
		},
	}, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/file", http.StatusFound) })
	if _, err := c.JSON(t.Context(), restapi.Request{Path: "file"}, nil); err != nil {
		t.Error(err)
	}
	for _, path := range []string{other.URL + "/x", "ftp://elsewhere/x"} {
		if _, err := c.JSON(t.Context(), restapi.Request{Path: path}, nil); !connectors.IsFatal(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestUnreachablePlatforms(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "example.com", "ftp://example.com", "https://", "::"} {
		if _, err := restapi.New(base, nil, restapi.Options{}); !connectors.IsFatal(err) {
			t.Errorf("%q: %v", base, err)
		}
	}
	refusing, err := restapi.New("https://example.com", func(context.Context, string, string) (net.Conn, error) { return nil, httpx.ErrRefused }, restapi.Options{Platform: "Platform"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := refusing.JSON(t.Context(), restapi.Request{}, nil); !connectors.IsFatal(err) {
		t.Error(err)
	}
	html := newClient(t, restapi.Options{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") })
	var out map[string]any
	if _, err := html.JSON(t.Context(), restapi.Request{}, &out); err == nil || !strings.Contains(err.Error(), "not the JSON") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := html.JSON(ctx, restapi.Request{}, &out); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRawBodiesAndRateLimitsInBodies(t *testing.T) {
	t.Parallel()
	c := newClient(t, restapi.Options{RateLimited: func(r *http.Response) (time.Duration, bool) {
		body, err := io.ReadAll(r.Body)
		return time.Minute, err == nil && strings.Contains(string(body), "too much")
	}, ErrorMessage: func(body []byte) string { return string(body) }}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "0009done\n" || r.Header.Get("Content-Type") != "application/x-git" {
			t.Errorf("got %q as %s", body, r.Header.Get("Content-Type"))
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, "too much")
	})
	_, err := c.JSON(t.Context(), restapi.Request{Method: http.MethodPost, RawBody: []byte("0009done\n"), Header: http.Header{"Content-Type": {"application/x-git"}}}, nil)
	if after, ok := connectors.RetryAfterOf(err); !ok || after != time.Minute || !strings.Contains(err.Error(), "too much") {
		t.Errorf("got %v after %v", err, after)
	}
}
