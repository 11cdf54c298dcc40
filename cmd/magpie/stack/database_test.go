package stack_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// databaseIntrusions has one case for each route of attached databases, of groups of
// the sources, and of the system.
// TestPeopleQueryAttachedDatabasesOverREST has cases with a database.
func databaseIntrusions(ada belongings) map[string]intrusion {
	const all = "/api/v1/databases"
	one := all + "/" + ada.connector
	return map[string]intrusion{
		"GET /api/v1/system":                           {"/api/v1/system", nil, 200},
		"GET /api/v1/connectors/{id}/groups":           {"/api/v1/connectors/" + ada.connector + "/groups", nil, 404},
		"GET /api/v1/connectors/{id}/groups/{groupId}": {"/api/v1/connectors/" + ada.connector + "/groups/staff", nil, 404},
		"GET " + all:                          {all + "?collection=" + ada.collection, nil, 404},
		"GET " + all + "/search":              {all + "/search?query=orders&collection=" + ada.collection, nil, 404},
		"GET " + all + "/{id}/tables":         {one + "/tables", nil, 404},
		"GET " + all + "/{id}/tables/{table}": {one + "/tables/orders", nil, 404},
		"POST " + all + "/{id}/query":         {one + "/query", map[string]any{"sql": "select 1"}, 404},
	}
}

func TestPeopleQueryAttachedDatabasesOverREST(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": privateNetworks})
	_, database := s.attach("Ada")
	ask := func(who *service, method, path string, body any) (int, string) {
		t.Helper()
		var content io.Reader
		if body != nil {
			content = encode(t, body)
		}
		response := who.request(method, path, "application/json", content)
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, strings.ReplaceAll(string(text), "\n", "") // values end with a line break
	}
	one := "/api/v1/databases/" + database
	for _, c := range []struct {
		method, path string
		body         any
		status       int
		part         string
	}{
		{"GET", "/api/v1/databases", nil, 200, `"name":"Shop of Ada","dialect":"PostgreSQL"`},
		{"GET", "/api/v1/databases/search?query=people+who+buy+things&limit=1", nil, 200, `"table":"public.customers"`},
		{"GET", one + "/tables?q=ORDER_LINE", nil, 200, `"table":"public.order_line"`},
		{"GET", one + "/tables/public.order_line", nil, 200, `"joins":["public.order_line.`},
		{"GET", one + "/tables/nothing", nil, 404, "no such table"},
		{"GET", "/api/v1/system", nil, 200, `"status":"active","concurrency":`},
		{"POST", one + "/query", map[string]any{"sql": "select name, mood from customers order by 1", "limit": 1}, 200, `"rows":[["Ada","good"]],"truncated":"rows","leftOut":1`},
		{"POST", one + "/query", map[string]any{"sql": "select quantity from order_line where line_no = 2 limit 1"}, 200, "[[9007199254740993]]"},
		{"POST", one + "/query", map[string]any{"sql": "delete from customers"}, 400, "Refused"},
		{"POST", one + "/query", map[string]any{"sql": "select nme from customers"}, 400, "does not exist"},
		{"POST", one + "/query", map[string]any{"sql": "select 1", "limit": 1001}, 400, "limit"},
	} {
		if status, body := ask(s, c.method, c.path, c.body); status != c.status || !strings.Contains(body, c.part) {
			t.Errorf("%s %s %v: %d %s", c.method, c.path, c.body, status, body)
		}
	}
	var used struct{ Usage struct{ Queries int } }
	if s.graphql(&used, `{ usage { queries } }`, nil); used.Usage.Queries != 4 {
		t.Errorf("%d queries were counted", used.Usage.Queries)
	}
	if status, body := ask(s, http.MethodGet, "/api/v1/audit-log?action=database.query", nil); status != 200 || strings.Count(body, `"action":"database.query"`) != 4 || !strings.Contains(body, "delete from customers") {
		t.Errorf("the audit log: %d %s", status, body)
	}
	if _, err := s.app.Accounts.CreateOwner(t.Context(), "Other", "bob@example.com", "Bob", password); err != nil {
		t.Fatal(err)
	}
	stranger := *s
	stranger.token = s.signIn("bob@example.com")
	stranger.attach("Bob") // so that there is another one to confuse it with
	for _, path := range []string{one + "/tables", one + "/tables/orders", "/api/v1/databases/search?query=orders&database=" + database} {
		if status, body := ask(&stranger, http.MethodGet, path, nil); status != 404 || strings.Contains(body, "Ada") {
			t.Errorf("another workspace's %s: %d %s", path, status, body)
		}
	}
	if status, body := ask(&stranger, http.MethodPost, one+"/query", map[string]any{"sql": "select name from customers"}); status != 404 || strings.Contains(body, "Ada") {
		t.Errorf("another workspace's query: %d %s", status, body)
	}
	if status, body := ask(&stranger, http.MethodGet, "/api/v1/databases", nil); status != 200 || strings.Contains(body, "Ada") || !strings.Contains(body, "Shop of Bob") {
		t.Errorf("another workspace's list: %d %s", status, body)
	}
}
