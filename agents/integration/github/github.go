package github

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/github"
	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	optionAPI = "apiUrl"
	token     = "token"
	title     = "GitHub"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
	}
	return integration.Provider{
		Name: "github", Title: title, Summary: "Searches code and issues, reads files, creates issues, comments and reviews.", Group: integration.Business,
		Config: []connectors.Option{platform.AddressOption(optionAPI, "https://api.github.com")},
		Credentials: []connectors.Option{{
			Name: token, Title: "Token", Help: "A personal access token with access to the repositories.", Type: connectors.TypeString, Sensitive: true,
		}},
		OAuth: &integration.OAuth{Provider: "github", Scopes: []string{"repo"}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: "user"}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("search_code", "Search code", "Searches files by GitHub's code search, such as parse repo:owner/name language:go.", policy.Read), nil, searchCode),
			integration.Define(tool("search_issues", "Search issues", "Searches issues and pull requests, such as is:open is:pr repo:owner/name crash.", policy.Read), nil, searchIssues),
			integration.Define(tool("get_issue", "Read an issue", "Returns an issue or pull request with its comments.", policy.Read), nil, getIssue),
			integration.Define(tool("get_file", "Read a file", "Returns a text file of a repository.", policy.Read), nil, getFile),
			integration.Define(tool("create_issue", "Create an issue", "Opens an issue in a repository.", policy.Write), func(in createInput) loop.Preview {
				return integration.Show("Create an issue in "+in.Repo, integration.Field{Name: "Repository", Value: in.Repo}, integration.Field{Name: "Title", Value: in.Title},
					integration.Field{Name: "Text", Value: in.Body}, integration.Field{Name: "Labels", Value: strings.Join(in.Labels, ", ")})
			}, createIssue),
			integration.Define(tool("comment", "Comment on an issue", "Adds a comment to an issue or pull request. Its watchers are notified.", policy.Write), func(in commentInput) loop.Preview {
				where := in.Repo + "#" + strconv.Itoa(in.Number)
				return integration.Show("Comment on "+where, integration.Field{Name: "Issue", Value: where}, integration.Field{Name: "Comment", Value: in.Body})
			}, comment),
			integration.Define(tool("create_pr_review", "Review a pull request", "Submits a review: a comment, an approval or a request for changes.", policy.Write), func(in reviewInput) loop.Preview {
				where := in.Repo + "#" + strconv.Itoa(in.Number)
				return integration.Show("Review "+where, integration.Field{Name: "Pull request", Value: where}, integration.Field{Name: "Verdict", Value: in.Event},
					integration.Field{Name: "Text", Value: in.Body})
			}, review),
		},
	}
}

func api() platform.API {
	return platform.API{
		Name: title, Base: platform.URL(optionAPI, ""), Authorize: platform.Bearer(token), RateLimited: github.RateLimited, Advice: "config." + optionAPI,
		Header: http.Header{"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}},
	}
}

// repoPath returns the path of something in a repository.
func repoPath(repo, rest string, parts ...string) (string, error) {
	owner, name, _ := strings.Cut(repo, "/")
	if !regexp.MustCompile(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`).MatchString(repo) {
		return "", apierr.Invalid("repo", "must be an owner and a name, such as octo/hello")
	}
	return platform.Path("repos/%s/%s"+rest, append([]string{owner, name}, parts...)...), nil
}

type searchInput struct {
	Query string `json:"query" rule:"required,min=1,max=256"`
	Limit int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func (in searchInput) values() url.Values {
	if in.Limit == 0 {
		in.Limit = 20
	}
	return url.Values{"q": {in.Query}, "per_page": {strconv.Itoa(in.Limit)}}
}

func searchCode(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	var out struct {
		Total int `json:"total_count"`
		Items []struct {
			Path       string `json:"path"`
			URL        string `json:"html_url"`
			Repository struct {
				Name string `json:"full_name"`
			} `json:"repository"`
			Matches []struct {
				Fragment string `json:"fragment"`
			} `json:"text_matches,omitempty"`
		} `json:"items"`
	}
	r := platform.Request{Path: "search/code", Query: in.values(), Header: http.Header{"Accept": {"application/vnd.github.text-match+json"}}}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d files found", out.Total)
}

type issue struct {
	Number    int     `json:"number"`
	Title     string  `json:"title"`
	State     string  `json:"state"`
	URL       string  `json:"html_url"`
	User      *user   `json:"user,omitempty"`
	Labels    []label `json:"labels,omitempty"`
	UpdatedAt string  `json:"updated_at,omitempty"`
	Body      string  `json:"body,omitempty"`
}

type user struct {
	Login string `json:"login"`
}

type label struct {
	Name string `json:"name"`
}

func searchIssues(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	var out struct {
		Total int     `json:"total_count"`
		Items []issue `json:"items"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: "search/issues", Query: in.values()}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d issues found", out.Total)
}

type issueInput struct {
	Repo   string `json:"repo" rule:"required,min=1,max=200" about:"The owner and the name, such as octo/hello."`
	Number int    `json:"number" rule:"required,min=1,max=100000000"`
}

func getIssue(ctx context.Context, a integration.Account, in issueInput) (loop.Result, error) {
	path, err := repoPath(in.Repo, "/issues/%s", strconv.Itoa(in.Number))
	if err != nil {
		return loop.Result{}, err
	}
	var out struct {
		issue
		Comments []struct {
			User      *user  `json:"user"`
			Body      string `json:"body"`
			URL       string `json:"html_url"`
			CreatedAt string `json:"created_at"`
		} `json:"comment_list"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: path}, &out.issue); err != nil {
		return loop.Result{}, err
	}
	if err := api().Do(ctx, a, platform.Request{Path: path + "/comments", Query: url.Values{"per_page": {"50"}}}, &out.Comments); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The issue %s#%d", in.Repo, in.Number)
}

type fileInput struct {
	Repo string `json:"repo" rule:"required,min=1,max=200"`
	Path string `json:"path" rule:"required,min=1,max=1000"`
	Ref  string `json:"ref" rule:"max=200" about:"A branch, tag or commit; the default branch when left out."`
}

func getFile(ctx context.Context, a integration.Account, in fileInput) (loop.Result, error) {
	parts := strings.Split(strings.Trim(in.Path, "/"), "/")
	path, err := repoPath(in.Repo, "/contents"+strings.Repeat("/%s", len(parts)), parts...)
	if err != nil {
		return loop.Result{}, err
	}
	query := url.Values{}
	if in.Ref != "" {
		query.Set("ref", in.Ref)
	}
	var out struct {
		Type     string `json:"type"`
		Encoding string `json:"encoding"`
		Content  string `json:"content"`
		URL      string `json:"html_url"`
		SHA      string `json:"sha"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: path, Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	content, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(out.Content, "\n", ""))
	if err != nil || out.Encoding != "base64" || out.Type != "file" || !utf8.Valid(content) {
		return loop.Result{}, &apierr.Error{Code: apierr.InvalidRequest, Message: "The path is not a text file of at most 1 MB.", Cause: errors.Join(err, errNoText)}
	}
	return integration.Result(map[string]any{"path": in.Path, "url": out.URL, "sha": out.SHA, "text": string(content)}, "%d bytes", len(content))
}

var errNoText = errors.New("no text file")

type createInput struct {
	Repo   string   `json:"repo" rule:"required,min=1,max=200"`
	Title  string   `json:"title" rule:"required,min=1,max=256"`
	Body   string   `json:"body" rule:"max=20000" about:"Markdown."`
	Labels []string `json:"labels" rule:"max=20"`
}

func createIssue(ctx context.Context, a integration.Account, in createInput) (loop.Result, error) {
	path, err := repoPath(in.Repo, "/issues")
	if err != nil {
		return loop.Result{}, err
	}
	body := map[string]any{"title": in.Title, "body": marked(ctx, in.Body)}
	if len(in.Labels) > 0 {
		body["labels"] = in.Labels
	}
	var out issue
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: path, Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"number": out.Number, "url": out.URL}, "%s#%d was created", in.Repo, out.Number)
}

// marked adds the mark of a call as a comment that pages do not show. GitHub's search
// finds it.
func marked(ctx context.Context, body string) string {
	marker := integration.Marker(ctx)
	if marker == "" {
		return body
	}
	return body + "\n\n<!-- " + marker + " -->"
}

type commentInput struct {
	Repo   string `json:"repo" rule:"required,min=1,max=200"`
	Number int    `json:"number" rule:"required,min=1,max=100000000"`
	Body   string `json:"body" rule:"required,min=1,max=20000" about:"Markdown."`
}

func comment(ctx context.Context, a integration.Account, in commentInput) (loop.Result, error) {
	path, err := repoPath(in.Repo, "/issues/%s/comments", strconv.Itoa(in.Number))
	if err != nil {
		return loop.Result{}, err
	}
	return post(ctx, a, path, map[string]any{"body": marked(ctx, in.Body)}, "A comment on "+in.Repo+"#"+strconv.Itoa(in.Number))
}

type reviewInput struct {
	Repo   string `json:"repo" rule:"required,min=1,max=200"`
	Number int    `json:"number" rule:"required,min=1,max=100000000"`
	Event  string `json:"event" rule:"required,enum=COMMENT|APPROVE|REQUEST_CHANGES"`
	Body   string `json:"body" rule:"required,min=1,max=20000" about:"Markdown."`
}

func review(ctx context.Context, a integration.Account, in reviewInput) (loop.Result, error) {
	path, err := repoPath(in.Repo, "/pulls/%s/reviews", strconv.Itoa(in.Number))
	if err != nil {
		return loop.Result{}, err
	}
	return post(ctx, a, path, map[string]any{"event": in.Event, "body": marked(ctx, in.Body)}, "A review of "+in.Repo+"#"+strconv.Itoa(in.Number))
}

func post(ctx context.Context, a integration.Account, path string, body map[string]any, summary string) (loop.Result, error) {
	var out struct {
		ID  int64  `json:"id"`
		URL string `json:"html_url"`
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: path, Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%s", summary)
}
