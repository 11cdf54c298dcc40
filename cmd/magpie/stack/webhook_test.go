package stack_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
)

const hookSecret = "It's a Secret to Everybody"

// push tells Magpie of a push as GitHub does.
func (s *service) push(repository int64, path, delivery string, added, removed []string) (status int, took time.Duration) {
	s.t.Helper()
	commit := map[string]any{"id": "1", "added": added, "removed": removed, "modified": []string{}}
	body, err := json.Marshal(map[string]any{
		"ref": "refs/heads/main", "before": strings.Repeat("1", 40), "after": strings.Repeat("2", 40), "forced": false, "commits": []any{commit}, "head_commit": commit,
		"repository": map[string]any{"id": repository, "name": "handbook", "full_name": "acme/handbook", "default_branch": "main", "owner": map[string]any{"login": "acme"}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write(body)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(string(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": "push", "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		request.Header.Set(name, value)
	}
	began := time.Now()
	response, err := s.http.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	took = time.Since(began)
	_ = response.Body.Close()
	return response.StatusCode, took
}

func TestAPushIsSearchableWithinSeconds(t *testing.T) {
	t.Parallel()
	platform := githubserver.New()
	t.Cleanup(platform.Close)
	platform.AddToken("token", githubserver.Token{Login: "reader"})
	id := platform.AddRepo("acme/handbook", githubserver.RepoOptions{NoIssues: true})
	platform.Put("acme/handbook", "", "start.md", []byte("# Start\n\nThe walrus sleeps on the ice."))
	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128"})
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	s.graphql(&made, `mutation { createCollection(input: {name: "Docs"}) { id } }`, nil)
	collection := made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "Handbook", "type": "github", "collection": collection, "config": map[string]any{"repos": []string{"acme/handbook"}, "apiUrl": platform.API, "content": []string{"files"}},
		"credentials": map[string]any{"token": "token", "webhookSecret": hookSecret},
	}})
	connector := made.CreateConnector.ID
	s.graphql(&struct{}{}, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	finds := func(word string) bool {
		var found struct {
			Search struct{ Results []struct{ Title string } }
		}
		s.graphql(&found, `query($c: ID!, $q: String!) { search(input: {query: $q, collection: $c, minScore: 0}) { results { title } } }`, map[string]any{"c": collection, "q": `"` + word + `"`})
		return len(found.Search.Results) > 0
	}
	until := func(what string, holds func() bool) time.Duration {
		t.Helper()
		began := time.Now()
		testkit.WaitFor(t, what, holds)
		return time.Since(began)
	}
	until("the first sync", func() bool { return finds("walrus") })
	const anyone, one = "/webhooks/connectors/github", "/webhooks/connectors/github/"
	platform.Put("acme/handbook", "", "news.md", []byte("# News\n\nThe narwhal came back."))
	if status, _ := s.push(id, anyone, "d1", []string{"news.md"}, nil); status != http.StatusOK {
		t.Fatalf("the delivery was answered %d", status)
	}
	t.Logf("searchable after %s", until("the new file in results", func() bool { return finds("narwhal") }))
	platform.Delete("acme/handbook", "", "news.md")
	if status, _ := s.push(id, one+connector, "d2", nil, []string{"news.md"}); status != http.StatusOK {
		t.Fatalf("the delivery was answered %d", status)
	}
	t.Logf("gone after %s", until("the deleted file to leave the results", func() bool { return !finds("narwhal") }))

	var senders sync.WaitGroup
	var sent atomic.Int64
	var mu sync.Mutex
	var all []time.Duration
	began := time.Now()
	for worker := range 4 {
		senders.Go(func() {
			for i := range 250 {
				path := fmt.Sprintf("storm/%d.md", i%40)
				platform.Put("acme/handbook", "", path, fmt.Appendf(nil, "# Storm %d\n\nA petrel of worker %d.", i, worker))
				status, took := s.push(id, anyone, fmt.Sprintf("storm-%d-%d", worker, i), []string{path}, nil)
				if status == http.StatusOK {
					sent.Add(1)
				}
				mu.Lock()
				all = append(all, took)
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	took := time.Since(began)
	var state struct {
		Connector struct {
			Webhook        struct{ Waiting int }
			DocumentCounts struct{ Indexed int }
		}
		SyncJobs struct{ TotalCount int }
	}
	settled := until("settled", func() bool {
		s.graphql(&state, `query($c: ID!) { connector(id: $c) { webhook { waiting } documentCounts { indexed } } syncJobs(connectorId: $c) { totalCount } }`, map[string]any{"c": connector})
		return state.Connector.Webhook.Waiting == 0
	})
	slices.Sort(all)
	t.Logf("1,000 deliveries in %s (p50 %s, p99 %s), settled %s later by %d jobs in all", took, all[len(all)/2], all[len(all)*99/100], settled, state.SyncJobs.TotalCount)
	if sent.Load() != 1000 || state.Connector.DocumentCounts.Indexed != 41 {
		t.Errorf("%d deliveries were taken, %d documents are there", sent.Load(), state.Connector.DocumentCounts.Indexed)
	}
	if most := 3 + int(took/(5*time.Second)) + 3; state.SyncJobs.TotalCount > most {
		t.Errorf("%d jobs, want at most %d", state.SyncJobs.TotalCount, most)
	}
	if status, _ := s.push(id, one+connector, "storm-0-0", []string{"start.md"}, nil); status != http.StatusOK {
		t.Errorf("a delivery that comes again was answered %d", status)
	}
}
