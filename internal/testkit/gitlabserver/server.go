package gitlabserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/testkit/gitserver"
)

// Token is the access token that the server accepts.
const Token = "glpat-sample0123456789"

// Server is a running GitLab. Its methods are safe for concurrent use.
type Server struct {
	// URL is the address at which people open it.
	URL string
	// Old makes the server one of version 13, which refuses keyset paging of most lists.
	Old bool
	// NoGit makes the server refuse git's protocol over HTTP, as a setting of GitLab does.
	NoGit bool
	// Version is the version that the server tells, "" for none.
	Version string

	http     *httptest.Server
	mutex    sync.Mutex
	projects []*Project
	fail     func(r *http.Request) *Fault
	clock    time.Time
	requests []string

	deliveries int
	users      map[int64]*User
	groups     map[string]Group
	tokens     map[string]TokenInfo
}

// A Fault replaces an answer.
type Fault struct {
	Status int
	Header http.Header
	Body   string
}

// A Project has the content of one project.
type Project struct {
	ID       int64
	Path     string
	Files    map[string][]byte
	Issues   []Thread
	Merges   []Thread
	Pages    map[string]string // of the wiki, by slug
	Snippets map[int64]string
	// Locked makes GitLab answer 403 to requests for the content.
	Locked bool

	// Visibility is "private" if empty, and Access "enabled" for features that it lacks:
	// repository, issues, merge_requests, wiki, snippets.
	Visibility string
	Access     map[string]string
	Members    []Membership
	Shares     []Share
	Hooks      []Hook
	// SnippetAccess has the visibility and author of snippets, by id.
	SnippetAccess map[int64]SnippetAccess
}

// A SnippetAccess is who may see a snippet.
type SnippetAccess struct {
	Visibility string
	Author     int64
}

// A Thread is an issue or merge request.
type Thread struct {
	Title, Text  string
	Confidential bool
	Notes        []Note
	Updated      time.Time
	Author       int64
	Assignees    []int64
}

// A Note is a comment.
type Note struct {
	Text             string
	System, Internal bool
}

// New starts a server. The caller calls Close.
func New() *Server {
	s := &Server{
		Version: "18.5.0-ee", clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), groups: map[string]Group{},
		users:  map[int64]*User{1: {ID: 1, Name: "Reader", Email: "reader@example.com"}},
		tokens: map[string]TokenInfo{Token: {User: 1, Scopes: []string{"read_api", "read_repository"}}},
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// NewSample starts a server with some content.
func NewSample() *Server {
	s := New()
	s.Add(&Project{
		ID: 7, Path: "acme/handbook", Files: map[string][]byte{"readme.md": []byte("# Handbook\n\nHow we work.\n"), "docs/backups.md": []byte("# Backups\n\nEach night.\n")},
		Issues: []Thread{{Title: "Restore takes too long", Text: "It took four hours.", Notes: []Note{{Text: "The index is built twice."}}}},
		Merges: []Thread{{Title: "Build the index once", Text: "Fixes the slow restore."}}, Pages: map[string]string{"home": "This is the wiki."},
		Snippets: map[int64]string{1: "echo hello\n"},
	})
	return s
}

// Close stops the server.
func (s *Server) Close() { s.http.Close() }

// Add adds a project.
func (s *Server) Add(p *Project) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, list := range [][]Thread{p.Issues, p.Merges} {
		for i := range list {
			s.clock = s.clock.Add(time.Second)
			list[i].Updated = s.clock
		}
	}
	s.projects = append(s.projects, p)
}

// Change changes the project with an id.
func (s *Server) Change(id int64, change func(p *Project)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, p := range s.projects {
		if p.ID == id {
			change(p)
		}
	}
}

// Fail makes the server answer with the faults that a function returns. nil ends it.
func (s *Server) Fail(fail func(r *http.Request) *Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.fail = fail
}

// Requests returns the requests since the last call.
func (s *Server) Requests() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

type call struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	token  TokenInfo
}

func (c call) json(v any) {
	c.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(c.w).Encode(v)
}

func (c call) refuse(status int, message string) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_ = json.NewEncoder(c.w).Encode(map[string]string{"message": message})
}

func (c call) insufficientScope(scopes string) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(c.w).Encode(map[string]string{
		"error": "insufficient_scope", "error_description": "The request requires higher privileges than provided by the access token.", "scope": scopes,
	})
}

// list answers with a page of a list.
func (c call) list(all []any, keyset bool) {
	query := c.r.URL.Query()
	if query.Get("pagination") == "keyset" && (c.server.Old || !keyset) {
		c.refuse(http.StatusMethodNotAllowed, "405 Keyset pagination is not yet available for this type of request")
		return
	}
	size, _ := strconv.Atoi(query.Get("per_page"))
	if size <= 0 {
		size = 20
	}
	number := max(1, atoi(query.Get("page")))
	if query.Get("pagination") == "keyset" {
		number = max(1, atoi(query.Get("page_token")))
	}
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	if query.Get("pagination") != "keyset" {
		c.w.Header().Set("X-Total", strconv.Itoa(len(all)))
	}
	if to < len(all) {
		name := "page"
		if query.Get("pagination") == "keyset" {
			name = "page_token"
		}
		query.Set(name, strconv.Itoa(number+1))
		c.w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next"`, c.server.URL, c.r.URL.EscapedPath(), query.Encode()))
	}
	c.json(append([]any{}, all[from:to]...))
}

func atoi(text string) int { n, _ := strconv.Atoi(text); return n }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	c := call{server: s, w: w, r: r}
	if s.fail != nil {
		if f := s.fail(r); f != nil {
			for name, values := range f.Header {
				w.Header()[name] = values
			}
			w.WriteHeader(f.Status)
			_, _ = w.Write([]byte(f.Body))
			return
		}
	}
	if repository, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/"); ok && !strings.HasPrefix(r.URL.Path, "/api/") {
		c.git(repository, rest)
		return
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	info, known := s.tokens[cmp.Or(r.Header.Get("Private-Token"), bearer)]
	if !known {
		c.refuse(http.StatusUnauthorized, "401 Unauthorized")
		return
	}
	if c.token = info; !slices.Contains(info.Scopes, "read_api") && !slices.Contains(info.Scopes, "api") {
		c.insufficientScope("api read_api")
		return
	}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v4/")
	parts := strings.Split(rest, "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	switch {
	case ok && len(parts) == 1 && parts[0] == "projects":
		c.projects("")
	case ok && len(parts) == 1 && parts[0] == "version" && s.Version != "":
		c.json(map[string]string{"version": s.Version, "revision": "1234567"})
	case ok && rest == "personal_access_tokens/self":
		c.json(map[string]any{"id": 1, "name": "Magpie", "user_id": c.token.User, "active": true, "revoked": false, "scopes": c.token.Scopes})
	case ok && len(parts) <= 2 && (parts[0] == "user" || parts[0] == "users"):
		c.people(parts)
	case ok && len(parts) == 1 && parts[0] == "groups":
		c.list([]any{map[string]any{"id": 3, "full_path": "acme"}}, false)
	case ok && len(parts) == 3 && parts[0] == "groups" && parts[2] == "projects":
		if parts[1] == "3" {
			parts[1] = "acme"
		}
		c.projects(parts[1] + "/")
	case ok && len(parts) > 1 && parts[0] == "projects":
		for _, p := range s.projects {
			if strconv.FormatInt(p.ID, 10) == parts[1] || p.Path == parts[1] {
				c.project(p, parts[2:])
				return
			}
		}
		c.refuse(http.StatusNotFound, "404 Project Not Found")
	default:
		c.refuse(http.StatusNotFound, "404 Not Found")
	}
}

func (c call) show(p *Project) any {
	access := func(feature string) string { return cmp.Or(p.Access[feature], "enabled") }
	return map[string]any{
		"visibility": cmp.Or(p.Visibility, "private"), "repository_access_level": access("repository"), "issues_access_level": access("issues"),
		"merge_requests_access_level": access("merge_requests"), "wiki_access_level": access("wiki"), "snippets_access_level": access("snippets"),
		"external_authorization_classification_label": nil,
		"id": p.ID, "path_with_namespace": p.Path, "web_url": c.server.URL + "/" + p.Path, "default_branch": "main", "empty_repo": len(p.Files) == 0,
		"issues_enabled": true, "merge_requests_enabled": true, "wiki_enabled": true, "snippets_enabled": true,
	}
}

func (c call) projects(prefix string) {
	all := []any{}
	for _, p := range c.server.projects {
		if strings.HasPrefix(p.Path, prefix) {
			all = append(all, c.show(p))
		}
	}
	if len(all) == 0 && prefix != "" {
		c.refuse(http.StatusNotFound, "404 Group Not Found")
		return
	}
	c.list(all, true)
}

func (c call) project(p *Project, parts []string) {
	rest := strings.Join(parts, "/")
	switch {
	case len(parts) == 0:
		c.json(c.show(p))
	case p.Locked:
		c.refuse(http.StatusForbidden, "403 Forbidden")
	case parts[0] == "hooks":
		c.hooks(p, parts)
	case rest == "members/all":
		c.members(p)
	case rest == "repository/tree":
		c.tree(p)
	case strings.HasPrefix(rest, "repository/branches/"):
		if rest != "repository/branches/main" || len(p.Files) == 0 {
			c.refuse(http.StatusNotFound, "404 Branch Not Found")
			return
		}
		c.json(map[string]any{"name": "main", "commit": map[string]any{"id": p.head()}})
	case len(parts) >= 3 && parts[1] == "files":
		c.file(p, parts[2], len(parts) == 4)
	case parts[0] == "issues" || parts[0] == "merge_requests":
		c.threads(p, parts)
	case parts[0] == "wikis":
		c.wiki(p, parts)
	case parts[0] == "snippets":
		c.snippets(p, parts)
	default:
		c.refuse(http.StatusNotFound, "404 Not Found")
	}
}

func (c call) tree(p *Project) {
	var paths []string
	for path := range p.Files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	all := []any{}
	for _, path := range paths {
		all = append(all, map[string]any{"id": gitserver.Hash("blob", p.Files[path]), "name": path[strings.LastIndex(path, "/")+1:], "type": "blob", "path": path, "mode": "100644"})
	}
	c.list(all, true)
}

func (c call) file(p *Project, path string, raw bool) {
	content, ok := p.Files[path]
	switch {
	case !ok:
		c.refuse(http.StatusNotFound, "404 File Not Found")
	case raw:
		c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		c.w.Header().Set("X-Gitlab-Blob-Id", gitserver.Hash("blob", content))
		_, _ = c.w.Write(content)
	default:
		c.json(map[string]any{"file_path": path, "blob_id": gitserver.Hash("blob", content), "size": len(content)})
	}
}

func (c call) threads(p *Project, parts []string) {
	list := p.Issues
	if parts[0] == "merge_requests" {
		list = p.Merges
	}
	show := func(i int) any {
		notes := 0
		for _, n := range list[i].Notes {
			if !n.System {
				notes++
			}
		}
		author := map[string]any{"name": "Ada Lovelace", "username": "ada"}
		if one := c.basic(list[i].Author); one != nil {
			author = one
		}
		assignees := []any{}
		for _, id := range list[i].Assignees {
			assignees = append(assignees, c.basic(id))
		}
		return map[string]any{
			"assignees": assignees,
			"iid":       i + 1, "title": list[i].Title, "description": list[i].Text, "state": "opened", "confidential": list[i].Confidential, "user_notes_count": notes,
			"labels": []string{"ops"}, "author": author, "web_url": fmt.Sprintf("%s/%s/-/%s/%d", c.server.URL, p.Path, parts[0], i+1),
			"created_at": list[i].Updated, "updated_at": list[i].Updated,
		}
	}
	if len(parts) == 1 {
		after, _ := time.Parse(time.RFC3339, c.r.URL.Query().Get("updated_after"))
		var order []int
		iids := c.r.URL.Query()["iids[]"]
		for i, t := range list {
			if !t.Updated.Before(after) && (len(iids) == 0 || slices.Contains(iids, strconv.Itoa(i+1))) {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return list[a].Updated.Compare(list[b].Updated) })
		if c.r.URL.Query().Get("sort") == "desc" {
			slices.Reverse(order)
		}
		all := []any{}
		for _, i := range order {
			all = append(all, show(i))
		}
		c.list(all, false)
		return
	}
	at := atoi(parts[1]) - 1
	switch {
	case at < 0 || at >= len(list):
		c.refuse(http.StatusNotFound, "404 Not found")
	case len(parts) == 2:
		c.json(show(at))
	default:
		all := []any{}
		for n, one := range list[at].Notes {
			note := map[string]any{"id": n + 1, "body": one.Text, "system": one.System, "internal": one.Internal, "author": map[string]any{"name": "Bob"}, "created_at": list[at].Updated}
			all = append(all, map[string]any{"id": gitserver.Hash("note", []byte(one.Text)), "notes": []any{note}})
		}
		c.list(all, false)
	}
}

func (c call) wiki(p *Project, parts []string) {
	show := func(slug string) any {
		return map[string]any{"slug": slug, "title": slug, "format": "markdown", "content": p.Pages[slug]}
	}
	if len(parts) == 2 {
		if _, ok := p.Pages[parts[1]]; !ok {
			c.refuse(http.StatusNotFound, "404 Wiki Page Not Found")
			return
		}
		c.json(show(parts[1]))
		return
	}
	all := []any{}
	for slug := range p.Pages {
		all = append(all, show(slug))
	}
	c.json(all)
}

func (c call) snippets(p *Project, parts []string) {
	show := func(id int64) any {
		author := map[string]any{"name": "Ada"}
		if one := c.basic(p.SnippetAccess[id].Author); one != nil {
			author = one
		}
		return map[string]any{"id": id, "title": "A snippet", "file_name": "snippet.sh", "web_url": c.server.URL, "author": author, "visibility": cmp.Or(p.SnippetAccess[id].Visibility, "private"), "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
	}
	if len(parts) == 1 {
		all := []any{}
		for id := range p.Snippets {
			all = append(all, show(id))
		}
		c.list(all, false)
		return
	}
	id := int64(atoi(parts[1]))
	text, ok := p.Snippets[id]
	switch {
	case !ok:
		c.refuse(http.StatusNotFound, "404 Snippet Not Found")
	case len(parts) == 2:
		c.json(show(id))
	default:
		c.w.Header().Set("Content-Type", "text/plain")
		_, _ = c.w.Write([]byte(text))
	}
}
