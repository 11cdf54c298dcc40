package graph_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/storedop"
	"github.com/magpie-search/magpie/internal/viewer"
)

func anonymous() viewer.Viewer {
	return viewer.Viewer{Kind: viewer.KindAnonymous, Surface: viewer.SurfaceDashboard}
}

func TestSigningInIsLimitedForGuessersOnly(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	const query = "mutation($e: String!, $p: String!) { signIn(input: {email: $e, password: $p}) { accessToken } }"
	try := func(email, secret string) answer {
		return h.ask(t, anonymous(), query, map[string]any{"e": email, "p": secret})
	}
	for range 12 {
		if got := try(ada.email, password); got.code() != "" {
			t.Fatalf("the right password: %s", got.body)
		}
	}
	for range 10 {
		if got := try(strings.ToUpper(ada.email), "guess"); got.code() != "invalid_credentials" {
			t.Fatalf("a wrong password: %s", got.body)
		}
	}
	got := try(" "+ada.email, password)
	if got.code() != "rate_limited" || got.Errors[0].Extensions["retryAfter"] == nil {
		t.Errorf("after ten guesses: %s", got.body)
	}
	if got := try("grace@example.com", "guess"); got.code() != "invalid_credentials" {
		t.Errorf("another address: %s", got.body)
	}
}

func TestAnIDDoesNotBypassARole(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	for role, want := range map[membership.Role]string{membership.RoleViewer: "forbidden", membership.RoleEditor: "forbidden", membership.RoleAdmin: ""} {
		v := h.member(t, ada, strings.ToLower(string(role))+"@example.com", role)
		for _, query := range []string{"query($i: ID!) { node(id: $i) { id } }", "query($i: ID!) { nodes(ids: [$i]) { id } }"} {
			if got := h.ask(t, v, query, map[string]any{"i": ada.key}); got.code() != want {
				t.Errorf("%s as %s: %s", query, role, got.body)
			}
			if got := h.ask(t, v, query, map[string]any{"i": ada.collection}); got.code() != "" {
				t.Errorf("a collection as %s: %s", role, got.body)
			}
		}
	}
	for _, query := range []string{"query($i: ID!) { node(id: $i) { id } }", "query($i: ID!) { nodes(ids: [$i]) { id } }"} {
		if got := h.ask(t, ada.viewer, query, map[string]any{"i": uuid.Max}); got.code() != "not_found" {
			t.Errorf("an id of no kind: %s", got.body)
		}
	}
}

func TestErrorsNameTheFieldAndStayShort(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	got := h.ask(t, ada.viewer, `mutation { createAPIKey(input: {name: "x", allowedHosts: ["*"], allowedCollections: ["zz"]}) { secretKey } }`, nil)
	if got.code() != "invalid_request" || got.Errors[0].Message != "allowedCollections: must be a UUID" {
		t.Errorf("an item of a list: %s", got.body)
	}
	got = h.ask(t, ada.viewer, "{ nodes(ids: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+") { id } }", nil)
	if got.code() != "invalid_request" || len(got.body) > 1500 {
		t.Errorf("%d bytes: %.200s", len(got.body), got.body)
	}
}

func TestAnInternalErrorIsLoggedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for name, c := range map[string]struct {
		ctx   func(context.Context) context.Context
		fault func() error
		lines int
	}{
		"an error":         {func(ctx context.Context) context.Context { return ctx }, func() error { return errors.New("disk on fire") }, 1},
		"a panic":          {func(ctx context.Context) context.Context { return ctx }, func() error { panic("disk on fire") }, 1},
		"a stored one":     {storedop.With, func() error { return errors.New("disk on fire") }, 0},
		"a client's leave": {canceled, func() error { return context.Canceled }, 0},
	} {
		var lines bytes.Buffer
		r := *h.resolver
		r.Log = slog.New(slog.NewTextHandler(&lines, nil))
		r.People = people.New(r.Ent, r.Accounts, people.Options{Attempts: faulty{c.fault}})
		house := &fixture{db: h.db, resolver: &r, queue: h.queue}
		server := graph.NewServer(&r, graph.NewSchema(&r), graph.Options{})
		addTransports(server)
		house.server = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { server.ServeHTTP(w, q.WithContext(c.ctx(q.Context()))) })
		got := house.ask(t, anonymous(), `mutation { signIn(input: {email: "a@b.c", password: "x"}) { accessToken } }`, nil)
		if n := strings.Count(lines.String(), "\n"); n != c.lines || strings.Contains(got.body, "disk") || c.lines == 1 && !strings.Contains(lines.String(), "disk on fire") {
			t.Errorf("%s: %d lines: %s\nanswer: %s", name, n, lines.String(), got.body)
		}
	}
}

func canceled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// faulty fails with its error.
type faulty struct{ fault func() error }

func (f faulty) AllowIn(context.Context, string, int, time.Duration) (ratelimit.Result, error) {
	return ratelimit.Result{}, f.fault()
}

func (f faulty) PeekIn(context.Context, string, int, time.Duration) (ratelimit.Result, error) {
	return ratelimit.Result{}, f.fault()
}

func (faulty) RefundIn(context.Context, string, int, time.Duration) {}
func (faulty) Reset(context.Context, string)                        {}

func TestRowsReadTheSameWhenMadeAndLater(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	made := h.ask(t, ada.viewer, `mutation { createCollection(input: {name: "New"}) { id createdAt updatedAt } }`, nil)
	read := h.ask(t, ada.viewer, "query($i: ID!) { collection(id: $i) { createdAt updatedAt } }", map[string]any{"i": made.at("createCollection.id")})
	for _, name := range []string{"createdAt", "updatedAt"} {
		if a, b := made.at("createCollection."+name), read.at("collection."+name); a != b || a == nil {
			t.Errorf("%s: %v when made, %v later", name, a, b)
		}
	}
	if got := h.ask(t, ada.viewer, "query($i: ID!) { document(id: $i) { tags } }", map[string]any{"i": ada.document}); !strings.Contains(got.body, `"tags":[]`) {
		t.Errorf("a document without tags: %s", got.body)
	}
}

func TestLanguageTagsAreNormalized(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	for language, want := range map[string]any{"en": 1.0, "EN": 1.0, "en-US": 1.0, "de": 0.0, "e": 0.0} {
		got := h.ask(t, ada.viewer, `query($l: String) { search(input: {query: "xylophone", minScore: 0, filters: {language: $l}}) { total } }`, map[string]any{"l": language})
		if got.at("search.total") != want {
			t.Errorf("%s: %s", language, got.body)
		}
	}
}
