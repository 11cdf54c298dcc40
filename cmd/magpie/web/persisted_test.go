package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// persisted returns the extension of a document, as Apollo Client and urql send it.
func persisted(document string) string {
	hash := sha256.Sum256([]byte(document))
	return `{"persistedQuery":{"version":1,"sha256Hash":"` + hex.EncodeToString(hash[:]) + `"}}`
}

func byGET(parameters ...string) string {
	values := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	return "/graphql?" + values.Encode()
}

func postBody(t *testing.T, fields map[string]any) string {
	t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The requests of urql's persistedExchange and of Apollo's persisted query link with
// their defaults: the hash by GET, and after PersistedQueryNotFound both.
func TestPersistedQueriesByGETAndPOST(t *testing.T) {
	t.Parallel()
	h := graphQLHandler(t)
	const document = "query Named { name }"
	hashOnly := byGET("operationName", "Named", "variables", "{}", "extensions", persisted(document))
	signedIn := []string{"Authorization", "Bearer good", "Accept", "application/graphql-response+json, application/json"}
	get := func(path string, headers ...string) answer { return ask(t, h, http.MethodGet, path, "", headers...) }

	missing := get(hashOnly, signedIn...)
	if missing.status != http.StatusBadRequest || !strings.Contains(missing.body, `"message":"PersistedQueryNotFound"`) || !strings.Contains(missing.body, `"code":"PERSISTED_QUERY_NOT_FOUND"`) || strings.Contains(missing.body, `"data"`) {
		t.Errorf("an unknown hash: %d %s", missing.status, missing.body)
	}
	if plain := get(hashOnly, "Authorization", "Bearer good", "Accept", "application/json"); plain.status != http.StatusOK || !strings.Contains(plain.body, "PERSISTED_QUERY_NOT_FOUND") {
		t.Errorf("an unknown hash as JSON: %d %s", plain.status, plain.body)
	}
	both := postBody(t, map[string]any{"query": document, "operationName": "Named", "variables": map[string]any{}, "extensions": json.RawMessage(persisted(document))})
	stored := ask(t, h, http.MethodPost, "/graphql", both, append(signedIn, "Content-Type", "application/json")...)
	if stored.status != http.StatusOK || !strings.Contains(stored.body, `"name":"test"`) {
		t.Fatalf("with the document: %d %s", stored.status, stored.body)
	}
	if found := get(hashOnly, signedIn...); found.status != http.StatusOK || found.body != stored.body {
		t.Errorf("a known hash by GET: %d %s", found.status, found.body)
	}
	onlyHash := postBody(t, map[string]any{"extensions": json.RawMessage(persisted(document))})
	if found := ask(t, h, http.MethodPost, "/graphql", onlyHash, append(signedIn, "Content-Type", "application/json")...); found.status != http.StatusOK || found.body != stored.body {
		t.Errorf("a known hash by POST: %d %s", found.status, found.body)
	}
	// Others have neither the documents nor the method.
	if other := get(hashOnly); other.status != http.StatusMethodNotAllowed {
		t.Errorf("without a session by GET: %d %s", other.status, other.body)
	}
	if other := ask(t, h, http.MethodPost, "/graphql", onlyHash, "Content-Type", "application/json"); other.status != http.StatusBadRequest || !strings.Contains(other.body, "PersistedQueryNotSupported") {
		t.Errorf("without a session by POST: %d %s", other.status, other.body)
	}
	const foreign = "query Foreign { name }"
	text := postBody(t, map[string]any{"query": foreign, "extensions": json.RawMessage(persisted(foreign))})
	if other := ask(t, h, http.MethodPost, "/graphql", text, "Content-Type", "application/json"); other.status != http.StatusOK || !strings.Contains(other.body, `"name"`) {
		t.Errorf("without a session with the document: %d %s", other.status, other.body)
	}
	if kept := get(byGET("extensions", persisted(foreign)), signedIn...); !strings.Contains(kept.body, "PERSISTED_QUERY_NOT_FOUND") {
		t.Errorf("a document without a session was kept: %s", kept.body)
	}
	// A document by GET, as urql's preferGetForPersistedQueries: "force" sends it.
	const forced = "query Forced { name }"
	if sent := get(byGET("query", forced, "extensions", persisted(forced)), signedIn...); sent.status != http.StatusOK || !strings.Contains(sent.body, `"name":"test"`) {
		t.Errorf("the document by GET: %d %s", sent.status, sent.body)
	}
	if again := get(byGET("extensions", persisted(forced)), signedIn...); again.status != http.StatusOK {
		t.Errorf("its hash by GET: %d %s", again.status, again.body)
	}
}

func TestGETIsForQueriesOfSignedInCallers(t *testing.T) {
	t.Parallel()
	h := graphQLHandler(t)
	const wrong = `{"persistedQuery":{"version":1,"sha256Hash":"0000000000000000000000000000000000000000000000000000000000000000"}}`
	for name, c := range map[string]struct {
		path   string
		status int
		want   string
	}{
		"a query":                      {byGET("query", "{ name }"), 200, `"name":"test"`},
		"a mutation":                   {byGET("query", "mutation { name }"), 405, "method_not_allowed"},
		"a subscription":               {byGET("query", "subscription { name }"), 405, "method_not_allowed"},
		"nothing":                      {"/graphql", 400, "invalid_request"},
		"variables of no JSON":         {byGET("query", "{ name }", "variables", "{"), 400, "variables"},
		"variables that are a list":    {byGET("query", "{ name }", "variables", "[]"), 400, "invalid_request"},
		"nested variables":             {byGET("query", "{ name }", "variables", strings.Repeat("[", 200)+strings.Repeat("]", 200)), 400, "nested"},
		"the hash of another document": {byGET("query", "{ name }", "extensions", wrong), 400, "SHA-256"},
		"another version":              {byGET("extensions", strings.Replace(persisted("{ name }"), `"version":1`, `"version":2`, 1)), 400, "version 1"},
		"a hash that is none":          {byGET("extensions", `{"persistedQuery":{"version":1,"sha256Hash":"x"}}`), 400, "64 hexadecimal"},
		"an extension that is none":    {byGET("extensions", `{"persistedQuery":7}`), 400, "version 1"},
	} {
		got := ask(t, h, http.MethodGet, c.path, "", "Authorization", "Bearer good", "Accept", "text/event-stream, application/json")
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := ask(t, h, http.MethodGet, byGET("query", "{ name }"), ""); got.status != http.StatusMethodNotAllowed {
		t.Errorf("without a session: %d %s", got.status, got.body)
	}
}

// What is kept is bounded: the documents that were used last stay.
func TestKeptDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	h := graphQLHandler(t)
	document := func(n int) string { return fmt.Sprintf("{ name } # %d %s", n, strings.Repeat("x", 500_000)) }
	signedIn := []string{"Authorization", "Bearer good", "Content-Type", "application/json"}
	for n := range 20 {
		text := postBody(t, map[string]any{"query": document(n), "extensions": json.RawMessage(persisted(document(n)))})
		if got := ask(t, h, http.MethodPost, "/graphql", text, signedIn...); got.status != http.StatusOK {
			t.Fatalf("%d %.200s", got.status, got.body)
		}
		if got := ask(t, h, http.MethodGet, byGET("extensions", persisted(document(0))), "", signedIn...); strings.Contains(got.body, "NOT_FOUND") {
			t.Fatalf("the document in use is gone after %d others", n)
		}
	}
	kept := 0
	for n := range 20 {
		if got := ask(t, h, http.MethodGet, byGET("extensions", persisted(document(n))), "", signedIn...); !strings.Contains(got.body, "NOT_FOUND") {
			kept++
		}
	}
	if kept < 14 || kept > 16 {
		t.Errorf("%d documents of 500 kB are kept in 8 MiB", kept)
	}
}
