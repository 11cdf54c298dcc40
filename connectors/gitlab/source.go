package gitlab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/gitwire"
	"github.com/magpie-search/magpie/connectors/glob"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	perPage          = "100"
	maxProjects      = 5000
	maxListPages     = 1000
	maxCheckProjects = 5
	projectsKey      = "projects"
)

var errChanged = errors.New("it was changed meanwhile; the next sync takes the new version")

type source struct {
	settings connectors.Settings
	api      *restapi.Client
	git      *restapi.Client
	imports  bool // permissions

	gitMutex  sync.Mutex // guards checkouts, and is held while git fetches
	checkouts checkouts

	mutex        sync.Mutex // guards the fields below
	walked       []project
	access       map[string]threadAccess // by id of the item
	participants map[string]bool         // the names that are in the State
	directory    *directory
	version      string
}

var _ connectors.Resolver = (*source)(nil)

// A project is a project with what decides about its content.
type project struct {
	ID      int64  `json:"id"`
	Path    string `json:"path_with_namespace"`
	URL     string `json:"web_url"`
	Branch  string `json:"default_branch"`
	Empty   bool   `json:"empty_repo"`
	Issues  *bool  `json:"issues_enabled"`
	Merges  *bool  `json:"merge_requests_enabled"`
	Wiki    *bool  `json:"wiki_enabled"`
	Snippet *bool  `json:"snippets_enabled"`

	projectAccess
}

// A projectAccess is what decides who may see the parts of a project.
type projectAccess struct {
	Visibility       string `json:"visibility"`
	RepositoryAccess string `json:"repository_access_level"`
	IssuesAccess     string `json:"issues_access_level"`
	MergesAccess     string `json:"merge_requests_access_level"`
	WikiAccess       string `json:"wiki_access_level"`
	SnippetsAccess   string `json:"snippets_access_level"`
	Label            string `json:"external_authorization_classification_label"`
}

// UnmarshalJSON implements [json.Unmarshaler]. A response without an id or path is an
// error: as a project, it would seem to be empty.
func (p *project) UnmarshalJSON(data []byte) error {
	type plain project
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	if p.ID <= 0 || p.Path == "" {
		return errors.New("not a project")
	}
	return nil
}

func (p project) key() string { return strconv.FormatInt(p.ID, 10) }

func (p project) path(rest string) string { return "projects/" + p.key() + rest }

func open(dial connectors.Dial, s connectors.Settings) (*source, error) {
	base := strings.TrimRight(s.String(optionAPI), "/")
	switch {
	case base == "":
		base = strings.TrimRight(cmp.Or(s.String(optionURL), publicURL), "/") + "/api/" + apiVersion
	case !strings.HasSuffix(base, "/api/"+apiVersion):
		base += "/api/" + apiVersion
	}
	o := restapi.Options{Platform: "GitLab", Wait: s.Wait, RateLimited: rateLimited, ErrorMessage: errorMessage, Advice: "config." + optionURL}
	if token := s.Credentials[credentialToken]; token != "" {
		o.Header = http.Header{"Private-Token": {token}}
	} else {
		o.Authorize = grant(s)
	}
	api, err := restapi.New(base, dial, o)
	if err != nil {
		return nil, err
	}
	git, err := newGit(base, dial, s)
	if err != nil {
		return nil, err
	}
	imports, _ := s.IncludesPermissions()
	return &source{
		settings: s, api: api, git: git, checkouts: checkouts{opened: map[int64]int{}, files: map[int64]map[string]gitwire.File{}},
		imports: imports, access: map[string]threadAccess{}, participants: map[string]bool{},
	}, nil
}

// grant authorizes requests with an OAuth grant.
func grant(s connectors.Settings) func(r *http.Request, refused bool) (bool, error) {
	var mutex sync.Mutex
	last := ""
	return func(r *http.Request, refused bool) (bool, error) {
		mutex.Lock()
		defer mutex.Unlock()
		before := ""
		if refused {
			before = last
		}
		token, _, err := s.Token(r.Context(), before)
		if err != nil {
			return false, err
		}
		last = token
		r.Header.Set("Authorization", "Bearer "+token)
		return token != before, nil
	}
}

// rateLimited detects the limit of a server whose answer has no Retry-After.
func rateLimited(r *http.Response) (time.Duration, bool) {
	if r.StatusCode != http.StatusTooManyRequests || restapi.RetryAfter(r.Header) > 0 {
		return 0, false
	}
	reset, err := strconv.ParseInt(r.Header.Get("RateLimit-Reset"), 10, 64)
	wait, ok := restapi.Until(r.Header, time.Unix(reset, 0))
	if err != nil || !ok {
		return 0, false
	}
	return max(wait, time.Second), true
}

// errorMessage returns GitLab's message: a text, or texts by field.
func errorMessage(body []byte) string {
	var refusal struct {
		Message     any    `json:"message"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(body, &refusal) != nil {
		return ""
	}
	text, _ := refusal.Message.(string)
	return cmp.Or(text, refusal.Description, refusal.Error)
}

// get requests JSON.
func (s *source) get(ctx context.Context, path string, query url.Values, out any, required ...string) (http.Header, error) {
	return s.request(ctx, restapi.Request{Path: path, Query: query, RequiredFields: required}, out)
}

// request makes a request. The error of a token without a scope is errScope.
func (s *source) request(ctx context.Context, r restapi.Request, out any) (http.Header, error) {
	header, err := s.api.JSON(ctx, r, out)
	if failure, ok := errors.AsType[*restapi.StatusError](err); ok && failure.Status == http.StatusForbidden && strings.Contains(string(failure.Body), "insufficient_scope") {
		var refusal struct{ Scope string }
		_ = json.Unmarshal(failure.Body, &refusal) // an answer without names is enough
		names := "read_api and read_repository"
		if scopes := strings.Fields(refusal.Scope); len(scopes) > 0 && len(refusal.Scope) < 200 {
			names = "one of " + strings.Join(scopes, ", ") + " here, and for all parts " + names
		}
		err = connectors.NeedsAuth(fmt.Errorf("%w: it needs %s", errScope, names))
	}
	return header, err
}

var errScope = errors.New("the token lacks a scope")

// isHidden reports whether GitLab does not show a part of a project to the account.
func isHidden(err error) bool {
	return errors.Is(err, connectors.ErrNotFound) || restapi.StatusOf(err) == http.StatusForbidden
}

// page requests a page of a list with keyset paging, or by number from servers that do
// not have it. next is the query of the next page, "" for none.
func page[T any](ctx context.Context, s *source, path string, query url.Values) (list []T, next string, err error) {
	list, next, _, err = pageWithHeader[T](ctx, s, path, query)
	return list, next, err
}

func pageWithHeader[T any](ctx context.Context, s *source, path string, query url.Values) (list []T, next string, header http.Header, err error) {
	header, err = s.get(ctx, path, query, &list)
	if status := restapi.StatusOf(err); query.Get("pagination") != "" && query.Get("page_token") == "" && query.Get("id_after") == "" &&
		(status == http.StatusMethodNotAllowed || status == http.StatusBadRequest) {
		query.Del("pagination")
		header, err = s.get(ctx, path, query, &list)
	}
	if err != nil {
		return nil, "", header, err
	}
	if next, err = restapi.NextLink("GitLab", header); err != nil || next != "" {
		return list, next, header, err
	}
	if number := header.Get("X-Next-Page"); number != "" && header.Get("Link") == "" {
		query.Set("page", number)
		return list, query.Encode(), header, nil
	}
	return list, "", header, nil
}

// listAll requests a whole list.
func listAll[T any](ctx context.Context, s *source, path, name string, first url.Values) ([]T, error) {
	all, _, err := listWithTime[T](ctx, s, path, name, first)
	return all, err
}

// listWithTime requests a whole list, and returns GitLab's time as well.
func listWithTime[T any](ctx context.Context, s *source, path, name string, first url.Values) (all []T, now time.Time, err error) {
	err = restapi.AllPages("GitLab", name, maxListPages, func(cursor string) (string, error) {
		query := first
		if cursor != "" {
			query, _ = url.ParseQuery(cursor) // NextLink has parsed it
		}
		list, next, header, err := pageWithHeader[T](ctx, s, path, query)
		if cursor != "" && err == nil && len(list) == 0 && next != "" {
			err = connectors.Retryable(errors.New("GitLab names a next page, on which there is nothing"), 0)
		}
		if at, dateErr := http.ParseTime(header.Get("Date")); dateErr == nil {
			now = at
		}
		all = append(all, list...)
		return next, err
	})
	return all, now, err
}

func isPattern(name string) bool { return strings.ContainsAny(name, "*?") }

// keyset returns the query of a list of projects or groups.
func keyset(more ...string) url.Values {
	query := url.Values{"order_by": {"id"}, "sort": {"asc"}, "pagination": {"keyset"}, "per_page": {perPage}}
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	return query
}

// A selection is the connector's projects, sorted by id.
type selection struct {
	projects   []project
	incomplete bool
	warnings   []string
}

// selected lists the projects of the config. One that GitLab does not show makes the
// list incomplete: GitLab answers alike for what is deleted and what is hidden.
func (s *source) selected(ctx context.Context) (selection, error) {
	var all selection
	add := func(name, option string, found []project, err error) error {
		if err != nil && isHidden(err) && !errors.Is(err, errScope) {
			all.incomplete = true
			all.warnings = append(all.warnings, fmt.Sprintf("GitLab does not show %s to the account: it is gone, or a right is missing. Its documents stay; correct config.%s or give the account access.", name, option))
			return nil
		}
		all.projects = append(all.projects, found...)
		return err
	}
	for _, name := range s.settings.Strings(optionProjects) {
		found, err := s.namedProjects(ctx, name)
		if err := add("the project "+name, optionProjects, found, err); err != nil {
			return all, err
		}
	}
	for _, name := range s.settings.Strings(optionGroups) {
		found, err := s.groupProjects(ctx, name)
		if err := add("the group "+name, optionGroups, found, err); err != nil {
			return all, err
		}
	}
	if len(s.settings.Strings(optionProjects))+len(s.settings.Strings(optionGroups)) == 0 {
		found, err := listAll[project](ctx, s, "projects", "the projects", keyset("membership", "true"))
		if err != nil {
			return all, err
		}
		all.projects = found
	}
	slices.SortFunc(all.projects, func(a, b project) int { return cmp.Compare(a.ID, b.ID) })
	all.projects = slices.CompactFunc(all.projects, func(a, b project) bool { return a.ID == b.ID })
	switch {
	case len(all.projects) == 0:
		return all, connectors.NeedsAuth(fmt.Errorf("the account sees no project of this connector; give it access, or correct config.%s and config.%s", optionProjects, optionGroups))
	case len(all.projects) > maxProjects:
		return all, connectors.Fatal(fmt.Errorf("these are more than %d projects; name fewer in config.%s", maxProjects, optionProjects))
	}
	return all, nil
}

// namedProjects returns the project with a path or id, or those that match a pattern.
func (s *source) namedProjects(ctx context.Context, name string) ([]project, error) {
	if !isPattern(name) {
		var found project
		_, err := s.get(ctx, "projects/"+url.PathEscape(name), nil, &found)
		return []project{found}, err
	}
	path, query := "projects", keyset("membership", "true")
	if at := strings.LastIndex(name[:strings.IndexAny(name, "*?")], "/"); at > 0 {
		path, query = "groups/"+url.PathEscape(name[:at])+"/projects", keyset("include_subgroups", "true", "with_shared", "false")
	}
	all, err := listAll[project](ctx, s, path, "the projects of "+name, query)
	return slices.DeleteFunc(all, func(p project) bool { return !glob.Match(name, p.Path) }), err
}

func (s *source) groupProjects(ctx context.Context, name string) ([]project, error) {
	names := []string{name}
	if isPattern(name) {
		type group struct {
			ID   int64  `json:"id"`
			Path string `json:"full_path"`
		}
		// Keyset paging of groups is for anonymous requests only.
		groups, err := listAll[group](ctx, s, "groups", "the groups", url.Values{"order_by": {"id"}, "sort": {"asc"}, "per_page": {perPage}})
		if err != nil {
			return nil, err
		}
		names = nil
		for _, g := range groups {
			if g.ID <= 0 || g.Path == "" {
				return nil, connectors.Retryable(errors.New("GitLab lists a group that cannot be; check config."+optionURL), 0)
			}
			if glob.Match(name, g.Path) {
				names = append(names, strconv.FormatInt(g.ID, 10))
			}
		}
	}
	var all []project
	for _, one := range names {
		found, err := listAll[project](ctx, s, "groups/"+url.PathEscape(one)+"/projects", "the projects of "+name, keyset("include_subgroups", "true", "with_shared", "false"))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// remember keeps the projects for the requests that follow.
func (s *source) remember(ctx context.Context, list []project) error {
	if err := connectors.PutJSON(ctx, s.settings.State, projectsKey, list); err != nil {
		return err
	}
	s.mutex.Lock()
	s.walked = list
	s.mutex.Unlock()
	return nil
}

// projects returns the projects of the last walk, or lists them.
func (s *source) projects(ctx context.Context) ([]project, error) {
	s.mutex.Lock()
	list := s.walked
	s.mutex.Unlock()
	if len(list) > 0 {
		return list, nil
	}
	if ok, err := connectors.GetJSON(ctx, s.settings.State, projectsKey, &list); err != nil || ok && len(list) > 0 {
		return list, err
	}
	all, err := s.selected(ctx)
	return all.projects, err
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.api.Close()
	s.git.Close()
	return nil
}
