package github_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/github"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
)

// newServerWithLists returns a server in which every list has three entries.
func newServerWithLists(t *testing.T) testServer {
	t.Helper()
	p := newTestServer(t)
	const r = "acme/handbook"
	p.AddRepo("acme/second", githubserver.RepoOptions{Private: true, NoIssues: true})
	p.AddRepo("acme/third", githubserver.RepoOptions{Private: true, NoIssues: true})
	p.Put("acme/second", "", "only.md", []byte("# The only one"))
	p.Put(r, "", "docs/guide.md", []byte("# Guide\n\nwhat is in it, and some more of it"))
	p.Put(r, "", "page.html", []byte("<html><body><p>a page of its own</p></body></html>"))
	p.Put(r, "", "empty.txt", nil)
	p.PutPage(r, "Home.md", []byte("# Home"))
	p.PutPage(r, "On-call.md", []byte("# On call"))
	at := time.Date(2024, 5, 1, 9, 0, 0, 0, time.UTC)
	var comments []githubserver.Comment
	for n := range 3 {
		comments = append(comments, githubserver.Comment{ID: int64(n + 1), Author: "ada", Body: fmt.Sprintf("Comment %d", n), Path: "a.go", State: "APPROVED", At: at.Add(time.Duration(n) * time.Hour)})
	}
	p.OpenThread(r, githubserver.Thread{Title: "Silent", Body: "nothing more", Author: "ada"})
	p.OpenThread(r, githubserver.Thread{Title: "Talkative", Body: "it fails", Author: "ada", Comments: comments})
	p.OpenThread(r, githubserver.Thread{Pull: true, Title: "A change", Body: "mends it", Author: "bo", Comments: comments, Reviews: comments, ReviewComments: comments})
	answered := slices.Clone(comments)
	answered[0].Replies = append(slices.Clone(comments), comments[0])
	for n := range 3 {
		p.OpenDiscussion(r, githubserver.Discussion{Title: fmt.Sprintf("Talk %d", n), Body: "what do you think", Author: "ada", Category: "Ideas", CreatedAt: at, UpdatedAt: at, Comments: answered})
	}
	return p
}

var firstPattern = regexp.MustCompile(`first:\d+`)

// shrinkPages requests one entry a page, also of GraphQL.
func shrinkPages(r *http.Request) {
	connectortest.OneItemPages(r)
	if !strings.HasSuffix(r.URL.Path, "/graphql") {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	body = firstPattern.ReplaceAll(body, []byte("first:1"))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}

// pagedList returns the name of the list that a request is for.
func pagedList(r *http.Request) string {
	if strings.HasSuffix(r.URL.Path, "/graphql") {
		var asked struct {
			Query     string
			Variables struct{ Number int }
		}
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			return ""
		}
		switch {
		case strings.Contains(asked.Query, "node(id:$id)"):
			return "replies"
		case strings.Contains(asked.Query, "body\ncomments") && asked.Variables.Number == 4:
			return "comments of a discussion"
		case strings.Contains(asked.Query, "{discussions") || strings.Contains(asked.Query, "\ndiscussions"):
			return "discussions"
		}
		return ""
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/v3")
	query := r.URL.Query()
	if strings.Contains(path, "/second/") || strings.Contains(path, "/third/") {
		return ""
	}
	if !query.Has("per_page") || strings.HasSuffix(path, "/commits") || query.Get("per_page") == "1" && !query.Has("page") {
		return ""
	}
	return strings.ReplaceAll(strings.Trim(path, "/"), "/", ".")
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]func(p testServer) connectors.Settings{
		"an organisation": func(p testServer) connectors.Settings { return p.settings(map[string]any{"repos": []any{"acme/*"}}) },
		"an app": func(p testServer) connectors.Settings {
			s := p.asApp(t, time.Hour)
			s.Config["repos"], s.Config["content"] = []any{"acme/handbook"}, []any{"files"}
			return s
		},
		"a person": func(p testServer) connectors.Settings {
			p.AddOwner("ada", "User")
			for n := range 3 {
				repo := fmt.Sprintf("ada/notes%d", n)
				p.AddRepo(repo, githubserver.RepoOptions{NoIssues: true})
				p.Put(repo, "", "a.md", []byte("# A"))
			}
			return p.settings(map[string]any{"repos": []any{"ada/*"}, "content": []any{"files"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
				p := newServerWithLists(t)
				return connectortest.FaultInjection{
					Kind: github.Kind, Dial: dial, Settings: settings(p),
					AbsentNames: []string{"acme/handbook/never.md"}, ShrinkPages: shrinkPages, PagedList: pagedList,
				}
			})
		})
	}
}
