package github_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/github"
	"github.com/magpie-search/magpie/agents/integration/integrationtest"
)

type object = integrationtest.Object

// setup returns a GitHub with the repositories octo/hello and octo/hidden, which only
// Ada sees.
func setup(t *testing.T) integrationtest.Setup {
	t.Helper()
	issues := []object{{"number": 1, "title": "A crash", "state": "open", "html_url": "https://github.example/octo/hello/issues/1", "body": "It crashes.", "user": object{"login": "ada"}}}
	comments := []object{}
	stub := &integrationtest.Stub{Authorized: func(r *http.Request) string {
		if r.Header.Get("X-GitHub-Api-Version") != "2022-11-28" || !strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.github") {
			return ""
		}
		return integrationtest.Bearer(map[string]string{"ghp-ada-token": "ada", "ghp-eve-token": "eve", "gho-granted-token": "ada"})(r)
	}}
	missing := integrationtest.Refused(http.StatusNotFound, "Not Found")
	sees := func(c *integrationtest.Call) bool {
		return c.PathValue("owner") == "octo" && (c.PathValue("repo") == "hello" || c.PathValue("repo") == "hidden" && c.Person == "ada")
	}
	stub.Handle("GET /user", func(c *integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"login": c.Person}}
	})
	stub.Handle("GET /search/code q per_page", func(c *integrationtest.Call) integrationtest.Answer {
		items := []object{{"path": "main.go", "html_url": "https://github.example/octo/hello/main.go", "repository": object{"full_name": "octo/hello"}, "text_matches": []object{{"fragment": "func parse()"}}}}
		if c.Person == "ada" {
			items = append(items, object{"path": "plan.md", "html_url": "https://github.example/octo/hidden/plan.md", "repository": object{"full_name": "octo/hidden"}})
		}
		return integrationtest.Answer{Body: object{"total_count": len(items), "items": items}}
	})
	stub.Handle("GET /search/issues q per_page", func(c *integrationtest.Call) integrationtest.Answer {
		found := []object{}
		for _, i := range issues {
			if strings.Contains(i["title"].(string)+i["body"].(string), c.Query.Get("q")) {
				found = append(found, i)
			}
		}
		return integrationtest.Answer{Body: object{"total_count": len(found), "items": found}}
	})
	stub.Handle("GET /repos/{owner}/{repo}/issues/{number}", func(c *integrationtest.Call) integrationtest.Answer {
		if !sees(c) || c.PathValue("number") != "1" {
			return missing
		}
		return integrationtest.Answer{Body: issues[0]}
	})
	stub.Handle("GET /repos/{owner}/{repo}/issues/{number}/comments per_page", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: comments}
	})
	stub.Handle("GET /repos/{owner}/{repo}/contents/{path...} ref", func(c *integrationtest.Call) integrationtest.Answer {
		switch {
		case !sees(c) || c.PathValue("path") != "docs/read me.md":
			return missing
		default:
			content := base64.StdEncoding.EncodeToString([]byte("# Hello <b>"))
			return integrationtest.Answer{Body: object{"type": "file", "encoding": "base64", "content": content[:5] + "\n" + content[5:] + "\n", "html_url": "https://github.example/f", "sha": "abc"}}
		}
	})
	stub.Handle("POST /repos/{owner}/{repo}/issues", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Title, Body string
			Labels      []string
		}
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case !sees(c):
			return missing
		}
		made := object{"number": len(issues) + 1, "title": in.Title, "body": in.Body, "state": "open", "html_url": "https://github.example/octo/hello/issues/2"}
		issues = append(issues, made)
		return integrationtest.Answer{Status: http.StatusCreated, Body: made}
	})
	stub.Handle("POST /repos/{owner}/{repo}/issues/{number}/comments", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Body string }
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case !sees(c) || c.PathValue("number") != "1":
			return missing
		}
		comments = append(comments, object{"body": in.Body, "user": object{"login": c.Person}, "html_url": "x", "created_at": "2026-01-31T12:00:00Z"})
		return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": 5, "html_url": "https://github.example/c/5"}}
	})
	stub.Handle("POST /repos/{owner}/{repo}/pulls/{number}/reviews", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Body, Event string }
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case !sees(c) || c.PathValue("number") != "1":
			return missing
		case in.Event == "APPROVE" && c.Person == "ada":
			return integrationtest.Refused(http.StatusUnprocessableEntity, "Can not approve your own pull request")
		}
		return integrationtest.Answer{Body: object{"id": 6, "html_url": "https://github.example/r/6"}}
	})
	return integrationtest.Setup{
		Provider: github.Provider(), Server: stub, Token: "gho-granted-token",
		Config:      func(url string) map[string]any { return map[string]any{"apiUrl": url} },
		Credentials: map[string]string{"token": "ghp-ada-token"}, Other: map[string]string{"token": "ghp-eve-token"},
		Examples: map[string]integrationtest.Example{
			"search_code":      {Arguments: `{"query": "parse", "limit": 5}`, Want: []string{"func parse()", "https://github.example/octo/hello/main.go"}, Own: "plan.md"},
			"search_issues":    {Arguments: `{"query": "crash", "limit": 5}`, Want: []string{"A crash"}},
			"get_issue":        {Arguments: `{"repo": "octo/hello", "number": 1}`, Want: []string{"It crashes."}},
			"get_file":         {Arguments: `{"repo": "octo/hello", "path": "docs/read me.md", "ref": "main"}`, Want: []string{"# Hello <b>", "abc"}},
			"create_issue":     {Arguments: `{"repo": "octo/hello", "title": "A leak", "body": "Water\nruns", "labels": ["bug"]}`, Want: []string{"issues/2"}},
			"comment":          {Arguments: `{"repo": "octo/hello", "number": 1, "body": "Seen"}`, Want: []string{"c/5"}},
			"create_pr_review": {Arguments: `{"repo": "octo/hello", "number": 1, "event": "REQUEST_CHANGES", "body": "Please test"}`, Want: []string{"r/6"}},
		},
	}
}

func TestGitHubPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, setup)
}

func TestIssuesAreFoundByTheirMark(t *testing.T) {
	t.Parallel()
	f := integrationtest.Start(t, setup)
	f.Call(t, "create_issue", `{"repo": "octo/hello", "title": "A leak"}`)
	if text := f.Call(t, "search_issues", `{"query": "magpie-run: `+integrationtest.CallKey+`"}`); !strings.Contains(text, "A leak") {
		t.Errorf("the issue is not found: %s", text)
	}
	for arguments, want := range map[string]string{
		`{"repo": "octo/hello", "path": "../../user"}`: "is empty",
		`{"repo": "octo", "path": "a"}`:                "repo: must be an owner and a name",
		`{"repo": "octo/hello", "path": "none"}`:       "(404): Not Found",
	} {
		if text := f.Fails(t, "get_file", arguments); !strings.Contains(text, want) {
			t.Errorf("%s: %s", arguments, text)
		}
	}
	if text := f.Fails(t, "create_pr_review", `{"repo": "octo/hello", "number": 1, "event": "APPROVE", "body": "Good"}`); !strings.Contains(text, "Can not approve your own pull request") {
		t.Errorf("a refused review: %s", text)
	}
}
