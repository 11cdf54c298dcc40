package main_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/testkit"
)

// execute runs statements as a superuser.
func (i *installation) execute(statements ...string) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), 20*time.Second)
	defer cancel()
	connection, err := pgx.Connect(ctx, i.admin)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = connection.Close(ctx) }()
	for _, statement := range statements {
		if _, err := connection.Exec(ctx, statement); err != nil {
			i.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// send sends a request and returns the response and its body.
func send(t *testing.T, method, address, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(read)
}

// During a failover the database is read-only: writes fail with Retry-After, and
// searches succeed. Connections to a read-only server are closed.
func TestSearchesWorkWithAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t))
	connector := i.uploadFiles(3)
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	var admin struct{ Password string }
	i.runJSON(&admin, "users", "create", "second@example.com", "--role", "admin")
	worker := i.start("worker")
	if j := i.startSync(connector); i.waitJob(j.ID, time.Minute, finished).Status != "COMPLETED" {
		t.Fatal("the sync failed")
	}
	worker.kill()
	_, address := i.serve()
	signIn, in := `mutation($in: SignInInput!) { signIn(input: $in) { accessToken } }`, map[string]any{"in": map[string]any{"email": "second@example.com", "password": admin.Password}}
	data, _ := graphQL(t, address, "", signIn, in)
	token, _ := data["signIn"].(map[string]any)["accessToken"].(string)
	bearer := []string{"Authorization", "Bearer " + token}

	i.execute(
		`do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
		`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
	)
	create := func() (*http.Response, string) {
		return send(t, http.MethodPost, address+"/api/v1/collections", `{"name":"Late"}`, bearer...)
	}
	for range 3 { // on every connection of the pool
		response, body := create()
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); response.StatusCode != http.StatusServiceUnavailable ||
			!strings.Contains(body, `"code":"unavailable"`) || strings.Contains(body, "read-only") || err != nil || seconds < 1 {
			t.Errorf("a write by REST: %d %v %s", response.StatusCode, response.Header, body)
		}
	}
	for name, operation := range map[string]map[string]any{
		"a write by GraphQL": {"query": `mutation { createCollection(input: {name: "Later"}) { id } }`},
		"a sign-in":          {"query": signIn, "variables": in},
	} {
		sent, err := json.Marshal(operation)
		if err != nil {
			t.Fatal(err)
		}
		_, body := send(t, http.MethodPost, address+"/graphql", string(sent), bearer...)
		var answer struct {
			Errors []struct {
				Extensions struct {
					Code       string
					RetryAfter int
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Errors) != 1 || answer.Errors[0].Extensions.Code != "unavailable" || answer.Errors[0].Extensions.RetryAfter < 1 {
			t.Errorf("%s: %s", name, body)
		}
	}
	for range 5 {
		if status, body := get(t, address+"/v1/docs/search?query=page&min_score=0&highlight=true", keys.SecretKey); status != http.StatusOK || !strings.Contains(body, `"document_id"`) {
			t.Errorf("a search: %d %s", status, body)
		}
		if response, body := send(t, http.MethodGet, address+"/api/v1/collections", "", bearer...); response.StatusCode != http.StatusOK || !strings.Contains(body, `"Docs"`) {
			t.Errorf("a list: %d %s", response.StatusCode, body)
		}
		if data, _ := graphQL(t, address, token, `{ collections(first: 5) { totalCount } }`, nil); data["collections"] == nil {
			t.Errorf("a list by GraphQL: %v", data)
		}
	}
	if status, body := get(t, address+"/readyz", ""); status != http.StatusOK {
		t.Errorf("/readyz: %d %s", status, body)
	}
	// A chat begins by storing the question.
	if response, body := send(t, http.MethodPost, address+"/v1/chat/stream", `{"message":"What does page 1 say?"}`, "X-Service-Key", keys.SecretKey); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("a chat: %d %v %s", response.StatusCode, response.Header, body)
	}
	// With a query limit, each query is counted before its search.
	i.execute(`set default_transaction_read_only = off`, `update workspaces set query_limit = 1000`)
	waitFor(t, func() (bool, string) {
		response, body := send(t, http.MethodGet, address+"/v1/docs/search?query=page", "", "X-Service-Key", keys.SecretKey)
		return response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "" && strings.Contains(body, `"code":"unavailable"`), body
	})
	// Open connections stay read-only; new ones can write again.
	i.execute(`set default_transaction_read_only = off`, `do $$ begin execute format('alter database %I reset default_transaction_read_only', current_database()); end $$`)
	waitFor(t, func() (bool, string) {
		response, body := create()
		return response.StatusCode == http.StatusCreated, body
	})
}
