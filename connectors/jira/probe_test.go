package jira_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/jira"
)

// A server with searches, issues, and a permission scheme without permissions is
// read: it has no account, list of projects, count, bulkfetch or list of comments.
// Who may not be looked up reads nothing.
func TestAServerWithoutPartsOfTheAPIIsRead(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	const issue = `{"expand":"","id":"10002","self":"https://your-domain.atlassian.net/rest/api/3/issue/10002","key":"ED-1","fields":{"updated":"2021-01-17T12:34:00.000+0000",
		"created":"2021-01-17T12:34:00.000+0000","project":{"id":"10000","key":"ED","name":"Example"},"summary":"Main order flow broken","description":null,"parent":null,
		"comment":{"comments":[{"id":"10000","body":"Plain words","created":"2021-01-17T12:34:00.000+0000"}],"maxResults":1,"startAt":0,"total":2},"reporter":{"accountId":"5b10a2844c20165700ede21g"}}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, _ := io.ReadAll(r.Body)
		answer, status := `{"errorMessages":["not here"],"errors":{}}`, http.StatusNotFound
		ok := func(text string) { answer, status = text, http.StatusOK }
		switch r.URL.Path {
		case "/rest/api/3/search/jql":
			if ok(`{"issues":[` + issue + `]}`); gone.Load() || !strings.Contains(string(body), `project in (\"ED\")`) {
				ok(`{"isLast":true,"issues":[]}`)
			}
		case "/rest/api/3/issue/10002":
			if !gone.Load() {
				ok(issue)
			}
		case "/rest/api/3/project/10000/permissionscheme":
			ok(`{"description":"description","id":10000,"name":"Example permission scheme"}`)
		case "/rest/api/3/permissionscheme/10000/permission":
			ok(`{"permissions":[{"id":1,"holder":{"type":"group","parameter":"staff"},"permission":"BROWSE_PROJECTS"},
				{"id":2,"holder":{"type":"projectRole","parameter":"10360"},"permission":"BROWSE_PROJECTS"},
				{"id":3,"holder":{"type":"user","parameter":"5b10a2844c20165700ede21g"},"permission":"BROWSE_PROJECTS"}]}`)
		case "/rest/api/3/user/bulk":
			ok(`{"isLast":true,"values":[{"accountId":"5b10a2844c20165700ede21g","accountType":"atlassian","active":true,"emailAddress":"mia@example.com"}]}`)
		case "/rest/api/3/group/bulk":
			answer, status = `{"code":401,"message":"Unauthorized; scope does not match"}`, http.StatusUnauthorized
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	source, err := jira.Kind(new(net.Dialer).DialContext).New(t.Context(), connectors.Settings{
		Config:      map[string]any{"instanceUrl": server.URL, "projectKeys": []any{"ED"}, "includeComments": true, "deployment": "auto", "include_permissions": true},
		Credentials: map[string]string{"email": "reader@example.com", "apiToken": "secret"}, State: &connectors.MemoryState{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	found, err := source.Walk(t.Context(), "")
	if err != nil || len(found.Items) != 1 || !found.Done {
		t.Fatalf("the walk is %+v, %v", found, err)
	}
	if text, err := readContent(t.Context(), source, found.Items[0]); err != nil || !strings.Contains(text, "Plain words") {
		t.Errorf("the issue is %q, %v", text, err)
	}
	lister, _ := source.(connectors.PermissionLister)
	readers, err := lister.Readers(t.Context(), found.Items)
	if got := readers["issue:10002"]; err != nil || got.Everyone || len(got.Principals) != 1 || got.Principals[0] != "user:mia@example.com" {
		t.Errorf("the readers are %+v, %v", readers, err)
	}
	groups, _ := source.(connectors.GroupLister)
	if page, err := groups.Groups(t.Context(), ""); err != nil || len(page.Groups) > 0 || !strings.Contains(strings.Join(page.Warnings, " "), "Browse users and groups") {
		t.Errorf("the groups are %+v, %v", page, err)
	}
	feeder, _ := source.(connectors.Feeder)
	start, err := feeder.Changes(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	unchanged, err := feeder.Changes(t.Context(), start.Next)
	if err != nil || len(unchanged.Gone) > 0 {
		t.Fatalf("without changes, Changes is %+v, %v", unchanged, err)
	}
	gone.Store(true)
	if changed, err := feeder.Changes(t.Context(), unchanged.Next); err != nil || len(changed.Gone) != 1 || changed.Gone[0] != "issue:10002" {
		t.Errorf("after a deletion, Changes is %+v, %v", changed, err)
	}
}

// A site may have pages that are shorter than the overlap of two pages, tell null for
// no issues, and let only reading requests through.
func TestShortPagesAndReadingRequestsSuffice(t *testing.T) {
	t.Parallel()
	const count = 30
	for name, cloud := range map[string]bool{"Cloud": true, "DataCenter": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				query := r.URL.Query()
				if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/search") || strings.Contains(r.URL.Path, "/project") {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				from, _ := strconv.Atoi(query.Get("startAt") + query.Get("nextPageToken"))
				var issues []string
				for n := from; n < min(from+3, count); n++ {
					issues = append(issues, fmt.Sprintf(`{"id":"%d","key":"ED-%d","fields":{"updated":"2021-01-17T12:34:00.000+0000","project":{"id":"10000","key":"ED"},"summary":"s","description":null}}`, 10000+n, n))
				}
				list := "[" + strings.Join(issues, ",") + "]"
				if strings.Contains(query.Get("jql"), "empty") {
					list, from = "null", count
				}
				_, _ = fmt.Fprintf(w, `{"startAt":%d,"maxResults":3,"total":%d,"isLast":%v,"nextPageToken":"%d","issues":%s}`, from, count, from+3 >= count, from+3, list)
			}))
			t.Cleanup(server.Close)
			for jql, want := range map[string]int{"": count, "labels = empty": 0} {
				settings := connectors.Settings{
					Config:      map[string]any{"instanceUrl": server.URL, "projectKeys": []any{"ED"}, "includeComments": false, "jql": jql},
					Credentials: map[string]string{"email": "reader@example.com", "apiToken": "secret"}, State: &connectors.MemoryState{},
				}
				if !cloud {
					settings.Credentials = map[string]string{"personalAccessToken": "secret"}
				}
				if jql == "" {
					delete(settings.Config, "jql")
				} else if !cloud {
					continue // the total is not 0
				}
				items, _ := walk(t, connectortest.Open(t, jira.Kind(new(net.Dialer).DialContext), settings))
				if len(items) != want {
					t.Errorf("with %q, the walk lists %d issues, want %d", jql, len(items), want)
				}
			}
		})
	}
}

func TestASiteWithoutGroupsPassesTheConnectionTest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/rest/api/3/project/ED":
			_, _ = io.WriteString(w, `{"id":"10000","key":"ED","name":"Editor"}`)
		case "/rest/api/3/search/jql":
			_, _ = io.WriteString(w, `{"isLast":true,"issues":[]}`)
		case "/rest/api/3/project/10000/permissionscheme":
			_, _ = io.WriteString(w, `{"id":10000,"name":"Default","permissions":[]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"errorMessages":["not here"],"errors":{}}`)
		}
	}))
	t.Cleanup(server.Close)
	source := connectortest.Open(t, jira.Kind(new(net.Dialer).DialContext), connectors.Settings{
		Config:      map[string]any{"instanceUrl": server.URL, "projectKeys": []any{"ED"}, "include_permissions": true},
		Credentials: map[string]string{"email": "reader@example.com", "apiToken": "secret"}, State: &connectors.MemoryState{},
	})
	if err := source.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
