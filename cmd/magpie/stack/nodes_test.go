package stack_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// nodes are several whole `serve` processes, as far as one process can be, on
// one PostgreSQL and one Redis.
func nodes(t *testing.T, n int, further map[string]string) []*service {
	t.Helper()
	database, redis, blobs := testkit.Database(t), testkit.Redis(t), filepath.Join(t.TempDir(), "blobs")
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))
	all := make([]*service, n)
	for i := range all {
		settings := map[string]string{
			"DATABASE_URL": database.AppURL, "REDIS_URL": redis, "SESSION_KEY": key, "SECRET_KEYS": "test:" + key,
			"BLOB_URL": "file://" + blobs, "SHUTDOWN_TIMEOUT": "5s", "SECRET_RATE_LIMIT": "0",
		}
		for name, value := range further {
			settings[name] = value
		}
		c, err := config.Load(config.Source{Environment: []string{}, Flags: settings})
		if err != nil {
			t.Fatal(err)
		}
		app, err := wire.Open(t.Context(), c, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})))
		if err != nil {
			t.Fatal(err)
		}
		listener, err := web.Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served, err := stack.Serve(t.Context(), app, listener, "test", false)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{MaxIdleConnsPerHost: 100}
		t.Cleanup(func() {
			transport.CloseIdleConnections()
			if err := served.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			if err := app.Close(); err != nil {
				t.Error(err)
			}
		})
		all[i] = &service{t: t, app: app, url: "http://" + listener.Addr().String(), http: &http.Client{Transport: transport}}
	}
	if _, err := all[0].app.Accounts.CreateOwner(t.Context(), "Test", email, "Owner", password); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		s.token = s.signIn(email)
	}
	return all
}

// search asks one node with a key, and gives the status and the code of the error.
func (s *service) search(key string, headers ...string) (status int, code string) {
	s.t.Helper()
	return s.outcome("/v1/docs/search?query=anything", append(headers, "X-Service-Key", key)...)
}

func (s *service) dashboardSearch() (status int, code string) {
	s.t.Helper()
	return s.outcome("/api/v1/search?query=anything")
}

func (s *service) outcome(path string, headers ...string) (status int, code string) {
	s.t.Helper()
	response := s.request(http.MethodGet, path, "", nil, headers...)
	defer func() { _ = response.Body.Close() }()
	var body struct{ Error struct{ Code string } }
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		s.t.Error(err)
	}
	return response.StatusCode, body.Error.Code
}

// comes waits until something is so, and says how long that took.
func comes(t *testing.T, what string, so func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); !so(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it never came to this: %s", what)
		}
	}
	return time.Since(began)
}

type madeKey struct {
	PublishableKey, SecretKey string
	APIKey                    struct{ ID string } `json:"apiKey"`
}

func (s *service) createKey() madeKey {
	s.t.Helper()
	s.graphql(&struct{}{}, `mutation { createCollection(input: {name: "Docs"}) { id } }`, nil)
	var made struct{ CreateAPIKey madeKey }
	s.graphql(&made, `mutation { createAPIKey(input: {name: "Site", allowedHosts: ["example.com"], allowAllCollections: true}) { publishableKey secretKey apiKey { id } } }`, nil)
	return made.CreateAPIKey
}

func TestAChangeOfAKeyOnOneNodeBindsOnTheOther(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, nil)
	here, there := all[0], all[1]
	key := here.createKey()
	is := func(s *service, presented string, want int, headers ...string) func() bool {
		return func() bool { status, _ := s.search(presented, headers...); return status == want }
	}
	for _, s := range all { // a new key works at once
		if status, code := s.search(key.SecretKey); status != 200 {
			t.Fatalf("%d %s", status, code)
		}
	}
	id := map[string]any{"i": key.APIKey.ID}
	page := []string{"Origin", "https://other.example"}
	if status, _ := there.search(key.PublishableKey, page...); status != 403 {
		t.Errorf("from another host: %d", status)
	}
	here.graphql(&struct{}{}, `mutation($i: ID!) { updateAPIKey(id: $i, input: {allowedHosts: ["other.example"]}) { id } }`, id)
	t.Logf("a change of hosts bound after %s", comes(t, "the new host is allowed", is(there, key.PublishableKey, 200, page...)))
	var rotated struct{ RotateAPIKey madeKey }
	here.graphql(&rotated, `mutation($i: ID!) { rotateAPIKey(id: $i, overlapMinutes: 60) { publishableKey secretKey } }`, id)
	for _, s := range all {
		for _, presented := range []string{key.SecretKey, rotated.RotateAPIKey.SecretKey} {
			if status, code := s.search(presented); status != 200 {
				t.Errorf("during the overlap: %d %s", status, code)
			}
		}
	}
	here.graphql(&rotated, `mutation($i: ID!) { rotateAPIKey(id: $i, overlapMinutes: 0) { publishableKey secretKey } }`, id)
	t.Logf("a rotation bound after %s", comes(t, "the first pair has ended", is(there, key.SecretKey, 401)))
	if status, code := there.search(rotated.RotateAPIKey.SecretKey); status != 200 {
		t.Errorf("the newest pair: %d %s", status, code)
	}
	// A leak seen there is shown here.
	there.search(rotated.RotateAPIKey.SecretKey, "Origin", "https://leaky.example")
	comes(t, "the leak is flagged", func() bool {
		var got struct {
			APIKey struct{ LeakedOrigin *string }
		}
		here.graphql(&got, `query($i: ID!) { apiKey(id: $i) { leakedOrigin } }`, id)
		return got.APIKey.LeakedOrigin != nil && *got.APIKey.LeakedOrigin == "https://leaky.example"
	})
	here.graphql(&struct{}{}, `mutation($i: ID!) { revokeAPIKey(id: $i) { id } }`, id)
	if status, code := here.search(rotated.RotateAPIKey.SecretKey); status != 401 || code != "invalid_key" {
		t.Errorf("revoked, where it was revoked: %d %s", status, code)
	}
	t.Logf("a revocation bound after %s", comes(t, "the key is revoked there", is(there, rotated.RotateAPIKey.SecretKey, 401)))
	if status, code := there.search(rotated.RotateAPIKey.SecretKey); status != 401 || code != "invalid_key" {
		t.Errorf("%d %s", status, code)
	}
}

func TestTheQuotaIsSharedByNodesAndSurfaces(t *testing.T) {
	t.Parallel()
	const limit = 60
	all := nodes(t, 2, map[string]string{"QUERY_LIMIT": "60"})
	key := all[0].createKey()
	var through, refused atomic.Int64
	var asking sync.WaitGroup
	for i := range 2 * limit {
		asking.Go(func() {
			s := all[i%2]
			var status int
			var code string
			switch i / 2 % 3 {
			case 0:
				status, code = s.search(key.SecretKey)
			case 1:
				status, code = s.dashboardSearch()
			default:
				response := s.request(http.MethodPost, "/graphql", "application/json", encode(t, map[string]any{"query": `{ search(input: {query: "anything"}) { total } }`}))
				var a answer
				if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
					t.Error(err)
				}
				if status = response.StatusCode; len(a.Errors) > 0 {
					status, code = http.StatusPaymentRequired, a.Errors[0].Extensions.Code
				}
			}
			switch {
			case status == http.StatusOK:
				through.Add(1)
			case status == http.StatusPaymentRequired && code == "quota_exceeded":
				refused.Add(1)
			default:
				t.Errorf("%d %s", status, code)
			}
		})
	}
	asking.Wait()
	if through.Load() != limit || refused.Load() != limit {
		t.Errorf("%d were let through and %d refused, of a limit of %d", through.Load(), refused.Load(), limit)
	}
	for _, s := range all {
		var got struct {
			Usage struct{ Queries, Limit, Remaining int }
		}
		if s.graphql(&got, `{ usage { queries limit remaining } }`, nil); got.Usage.Queries != limit || got.Usage.Limit != limit || got.Usage.Remaining != 0 {
			t.Errorf("%+v", got)
		}
	}
	chat := all[1].request(http.MethodPost, "/v1/chat/stream", "application/json", encode(t, map[string]any{"message": "Where?"}), "X-Service-Key", key.SecretKey)
	if chat.StatusCode != http.StatusPaymentRequired {
		t.Errorf("a message over the limit is answered %d", chat.StatusCode)
	}
	// The operator lifts the limit on one node; the other learns of it.
	rows, err := all[0].app.DB.Ent.Workspace.Query().All(viewer.With(t.Context(), viewer.System(uuid.Nil)))
	if err != nil {
		t.Fatal(err)
	}
	scope, err := viewer.System(rows[0].ID).Scope()
	if err != nil {
		t.Fatal(err)
	}
	none := int64(0)
	if err := all[0].app.Quota.SetLimit(t.Context(), scope, &none); err != nil {
		t.Fatal(err)
	}
	comes(t, "there is no limit any more", func() bool { status, _ := all[1].search(key.SecretKey); return status == http.StatusOK })
}
