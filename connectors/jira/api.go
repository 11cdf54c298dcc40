package jira

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	issuesPerPage  = 100
	idsPerPage     = 5000 // of a list of ids on Cloud
	centerPerPage  = 1000 // of a list of ids on Data Center
	projectsAPage  = 50
	maxProjects    = 20_000
	issuesByID     = 100 // of one request by id
	commentsAPage  = 100
	membersAPage   = 50
	addressesAPage = 50
)

// An api is the interface of a deployment.
type api struct{ *atlassian.Client }

// path returns the path of a resource, whose parts are escaped.
func (a *api) path(parts ...string) string {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	version := centerVersion
	if a.Site.Cloud {
		version = cloudVersion
	}
	return version + strings.Join(parts, "/")
}

// search returns the page of a search at a position, "" for the first one, and the
// position of the next page, "" at the end. out is a pointer to a list of issues.
func search[T any](ctx context.Context, a *api, q query, fields []string, limit int, position string) (issues []T, next string, err error) {
	if a.Site.Cloud {
		return searchCloud[T](ctx, a, q, fields, limit, position)
	}
	start, err := strconv.Atoi(position)
	if position != "" && (err != nil || start < 0) {
		return nil, "", connectors.ErrCursor
	}
	var page struct {
		Issues []T
		Total  int
	}
	body := map[string]any{"jql": q.String(), "fields": fields, "startAt": start, "maxResults": limit}
	request := restapi.Request{Method: http.MethodPost, Path: a.path("search"), Body: body, RequiredFields: []string{"total"}, RequiredList: "issues"}
	err = a.Request(ctx, request, &page)
	if status := restapi.StatusOf(err); status == http.StatusMethodNotAllowed || status == http.StatusNotFound {
		// Some proxies only let reading requests through.
		request.Method, request.Body = http.MethodGet, nil
		request.Query = url.Values{"jql": {q.String()}, "fields": {strings.Join(fields, ",")}, "startAt": {strconv.Itoa(start)}, "maxResults": {strconv.Itoa(limit)}}
		err = a.Request(ctx, request, &page)
	}
	if err != nil {
		return nil, "", queryError(err)
	}
	switch after := start + len(page.Issues); {
	case after >= page.Total:
		return page.Issues, "", nil
	case len(page.Issues) == 0:
		return nil, "", a.ErrInvalid("an empty part of a list")
	default:
		return page.Issues, strconv.Itoa(after), nil
	}
}

func searchCloud[T any](ctx context.Context, a *api, q query, fields []string, limit int, token string) ([]T, string, error) {
	var page struct {
		Issues        []T
		NextPageToken string
		IsLast        *bool
	}
	body := map[string]any{"jql": q.String(), "fields": fields, "maxResults": limit}
	if token != "" {
		body["nextPageToken"] = token
	}
	if len(q.reconcile) > 0 {
		numbers := make([]json.Number, len(q.reconcile))
		for i, id := range q.reconcile {
			numbers[i] = json.Number(id)
		}
		body["reconcileIssues"] = numbers
	}
	request := restapi.Request{Method: http.MethodPost, Path: a.path("search", "jql"), Body: body, RequiredList: "issues"}
	err := a.Request(ctx, request, &page)
	if status := restapi.StatusOf(err); status == http.StatusMethodNotAllowed || status == http.StatusNotFound {
		// Some proxies only let reading requests through.
		request.Method, request.Body = http.MethodGet, nil
		request.Query = url.Values{"jql": {q.String()}, "fields": {strings.Join(fields, ",")}, "maxResults": {strconv.Itoa(limit)}}
		if token != "" {
			request.Query.Set("nextPageToken", token)
		}
		err = a.Request(ctx, request, &page)
	}
	if err != nil {
		return nil, "", queryError(err)
	}
	switch last := page.IsLast != nil && *page.IsLast; {
	case page.Issues == nil && !last: // null stands for no issues only at the end
		return nil, "", a.ErrInvalid("a list without its issues")
	case last:
		return page.Issues, "", nil
	case page.NextPageToken == "" && page.IsLast != nil:
		return nil, "", a.ErrInvalid("a list without its end")
	case page.NextPageToken != "" && page.NextPageToken == token:
		return nil, "", restapi.LoopError("Jira", "the issues", token)
	}
	return page.Issues, page.NextPageToken, nil
}

// errQuery is wrapped by the error of a query that Jira refuses.
var errQuery = errors.New("the query is refused")

// queryError names the option if Jira refuses a query.
func queryError(err error) error {
	switch restapi.StatusOf(err) {
	case http.StatusBadRequest:
		return connectors.Fatal(&refusedQuery{err})
	case http.StatusGone:
		return connectors.Retryable(errors.New("Jira does not serve searches in this version of its API any more; update Magpie, or check config."+atlassian.OptionDeployment), 0) //nolint:staticcheck // a name
	}
	return err
}

// count returns about how many issues a search finds, or -1 if Jira does not tell.
func (a *api) count(ctx context.Context, q query) (int, error) {
	q.order = ""
	if !a.Site.Cloud {
		return -1, nil // a page of the search comes with the total, and the list ends there
	}
	var found struct{ Count int }
	request := restapi.Request{Method: http.MethodPost, Path: a.path("search", "approximate-count"), Body: map[string]any{"jql": q.String()}, RequiredFields: []string{"count"}}
	err := a.Request(ctx, request, &found)
	switch status := restapi.StatusOf(err); {
	case isAbsent(err), status == http.StatusForbidden, status == http.StatusBadRequest, lacksScope(err):
		return -1, nil // a walk is complete without the count
	}
	return found.Count, err
}

type refusedQuery struct{ cause error }

func (e *refusedQuery) Error() string   { return "config." + optionJQL + ": " + e.cause.Error() }
func (e *refusedQuery) Unwrap() []error { return []error{errQuery, e.cause} }

// searchAll calls yield with all issues of a search.
func searchAll[T any](ctx context.Context, a *api, q query, fields []string, limit int, yield func([]T) error) error {
	return restapi.AllPages("Jira", "the issues", 1_000_000, func(position string) (string, error) {
		issues, next, err := search[T](ctx, a, q, fields, limit, position)
		if err != nil {
			return "", err
		}
		return next, yield(issues)
	})
}

// byID returns the issues with some ids, at most issuesByID, as far as the account
// sees them. unknown are the ids that Jira cannot answer for now.
func byID[T any](ctx context.Context, a *api, ids, fields []string) (issues []T, unknown []string, err error) {
	if !a.Site.Cloud {
		var page struct{ Issues []T }
		body := map[string]any{"jql": inIDs(ids), "fields": fields, "startAt": 0, "maxResults": len(ids), "validateQuery": false}
		request := restapi.Request{Method: http.MethodPost, Path: a.path("search"), Body: body, RequiredFields: []string{"total"}, RequiredList: "issues"}
		err := a.Request(ctx, request, &page)
		if isAbsent(err) {
			return eachByID[T](ctx, a, ids, fields)
		}
		return page.Issues, nil, err
	}
	var page struct {
		Issues      []T
		IssueErrors []struct{ ID identifier }
	}
	body := map[string]any{"issueIdsOrKeys": ids, "fields": fields}
	request := restapi.Request{Method: http.MethodPost, Path: a.path("issue", "bulkfetch"), Body: body, RequiredList: "issues"}
	err = a.Request(ctx, request, &page)
	if isAbsent(err) {
		return eachByID[T](ctx, a, ids, fields)
	}
	if err != nil {
		return nil, nil, err
	}
	if page.Issues == nil && page.IssueErrors == nil {
		return nil, nil, a.ErrInvalid("a list without its issues")
	}
	for _, failed := range page.IssueErrors {
		unknown = append(unknown, string(failed.ID))
	}
	return page.Issues, unknown, nil
}

// eachByID is byID for a site that answers for one issue at a time only, such as one
// behind a proxy that lets reading requests through.
func eachByID[T any](ctx context.Context, a *api, ids, fields []string) (issues []T, unknown []string, err error) {
	for _, id := range ids {
		var found T
		request := restapi.Request{Path: a.path("issue", id), Query: url.Values{"fields": {strings.Join(fields, ",")}}, RequiredFields: []string{"id"}}
		switch err := a.Request(ctx, request, &found); {
		case errors.Is(err, connectors.ErrNotFound):
		case err != nil:
			return nil, nil, err
		default:
			issues = append(issues, found)
		}
	}
	return issues, nil, nil
}

// issue returns the issue with an id or key.
func (a *api) issue(ctx context.Context, name string, fields []string) (*issue, error) {
	var found issue
	if err := a.Get(ctx, a.path("issue", name), url.Values{"fields": {strings.Join(fields, ",")}}, &found); err != nil {
		return nil, err
	}
	if !found.isValid() {
		return nil, a.ErrInvalid("an issue")
	}
	return &found, nil
}

// comments returns all comments of an issue.
func (a *api) comments(ctx context.Context, id string) ([]comment, error) {
	var all []comment
	seen := map[identifier]bool{}
	err := restapi.AllOffsets("Jira", "the comments of an issue", func(offset int) (ids []string, more bool, err error) {
		var page comments
		query := url.Values{"startAt": {strconv.Itoa(offset)}, "maxResults": {strconv.Itoa(commentsAPage)}, "orderBy": {"created"}}
		if err := a.Get(ctx, a.path("issue", id, "comment"), query, &page); err != nil {
			return nil, false, err
		}
		for _, c := range page.Comments {
			if c.ID == "" {
				return nil, false, a.ErrInvalid("a comment")
			}
			if seen[c.ID] {
				return nil, false, restapi.LoopError("Jira", "the comments of an issue", string(c.ID))
			}
			seen[c.ID] = true
			ids = append(ids, string(c.ID))
		}
		all = append(all, page.Comments...)
		return ids, len(all) < page.Total, nil
	})
	return all, err
}

// project returns the project with a key or id.
func (a *api) project(ctx context.Context, key string) (project, error) {
	var found project
	err := a.Get(ctx, a.path("project", key), nil, &found)
	return found, err
}

// projects returns all projects that the account sees, or those with some keys.
func (a *api) projects(ctx context.Context, keys []string) ([]project, error) {
	if a.Site.Cloud { // Data Center has no search for projects
		found, err := a.searchProjects(ctx, keys)
		if !isAbsent(err) {
			return found, err
		}
	}
	var all []project
	if err := a.Get(ctx, a.path("project"), nil, &all); err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.ID == "" || p.Key == "" {
			return nil, a.ErrInvalid("a project")
		}
	}
	return all, nil
}

func (a *api) searchProjects(ctx context.Context, keys []string) ([]project, error) {
	var all []project
	err := restapi.AllOffsets("Jira", "the projects", func(offset int) (ids []string, more bool, err error) {
		var page struct {
			Values []project
			IsLast *bool
			Total  int
		}
		query := url.Values{"startAt": {strconv.Itoa(offset)}, "maxResults": {strconv.Itoa(projectsAPage)}, "orderBy": {"key"}}
		if len(keys) > 0 {
			query["keys"] = keys
		}
		request := restapi.Request{Path: a.path("project", "search"), Query: query, RequiredList: "values"}
		if err := a.Request(ctx, request, &page); err != nil {
			return nil, false, err
		}
		for _, p := range page.Values {
			if p.ID == "" || p.Key == "" {
				return nil, false, a.ErrInvalid("a project")
			}
			ids = append(ids, string(p.ID))
		}
		all = append(all, page.Values...)
		more = len(all) < page.Total
		if page.IsLast != nil {
			more = !*page.IsLast
		}
		return ids, more && len(all) < maxProjects, nil
	})
	return all, err
}
