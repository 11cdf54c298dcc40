package jiraserver

import (
	"encoding/base64"
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
)

// CloudID is the ID of the site at the gateway.
const CloudID = "11223344-a1b2-3b33-c444-def123456789"

// Fault replaces an answer.
type Fault struct {
	Status   int
	Header   http.Header
	Body     string
	Location string // the target of a redirect
}

// Server is a running site. Set its exported fields before the first request.
type Server struct {
	// URL is the base URL of the site, Gateway of Atlassian's gateway.
	URL, Gateway string
	// NoPermissions lets the account read no permissions, NoApplications no
	// applications, and NoAnonymous shows visitors nothing.
	NoPermissions, NoApplications, NoAnonymous bool
	// MaxPage is the maximum number of entries of a page, and MaxComments of comments
	// in an issue on Cloud.
	MaxPage, MaxComments int
	// Sunset is announced in each answer.
	Sunset string
	// NoScopes says that a grant lacks its scopes.
	NoScopes bool

	cloud  bool
	path   string // of the site
	server *httptest.Server
	media  *httptest.Server

	mutex        sync.Mutex
	serial       int
	clock        time.Time
	skew         time.Duration
	users        []*User
	groups       []*Group
	projects     []*Project
	issues       map[string]*Issue
	numbers      map[string]int      // of issues, by project
	applications map[string][]string // groups
	tokens       map[string][]string // ids of the further pages of a search
	bearer       map[string]string   // user IDs by token
	fault        func(r *http.Request) *Fault
	counts       map[string]int // requests by path
}

// NewCloud starts a Cloud site.
func NewCloud() *Server { return start(true, "") }

// NewCenter starts a Data Center site below /jira.
func NewCenter() *Server { return start(false, "/jira") }

func start(cloud bool, path string) *Server {
	s := &Server{
		cloud: cloud, path: path, clock: time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC), MaxComments: 20,
		issues: map[string]*Issue{}, numbers: map[string]int{}, applications: map[string][]string{}, tokens: map[string][]string{}, bearer: map[string]string{}, counts: map[string]int{},
	}
	s.server = httptest.NewServer(s)
	s.media = httptest.NewServer(http.HandlerFunc(s.serveMedia))
	s.Gateway, s.URL = s.server.URL, s.server.URL+path
	return s
}

// Close stops the site.
func (s *Server) Close() {
	s.server.Close()
	s.media.Close()
}

// Grant adds an OAuth access token of a user.
func (s *Server) Grant(token, user string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.bearer[token] = user
}

// Revoke ends all OAuth access tokens.
func (s *Server) Revoke() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.bearer = map[string]string{}
}

// ExpirePages makes all tokens of further pages invalid.
func (s *Server) ExpirePages() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tokens = map[string][]string{}
}

// Skew sets by how much the Date of answers differs from the time of issues.
func (s *Server) Skew(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.skew = by
}

// Fail sets a function that can replace the answer to each request. With nil, the
// server answers. The function is called without a lock.
func (s *Server) Fail(fault func(r *http.Request) *Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.fault = fault
}

// Requests returns the number of requests whose path contains a text.
func (s *Server) Requests(part string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count := 0
	for path, n := range s.counts {
		if strings.Contains(path, part) {
			count += n
		}
	}
	return count
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	s.counts[r.URL.Path]++
	fault := s.fault
	w.Header().Set("Date", s.clock.Add(s.skew).Format(http.TimeFormat))
	s.mutex.Unlock()
	if s.Sunset != "" {
		w.Header().Set("Sunset", s.Sunset)
	}
	if fault != nil {
		if f := fault(r); f != nil {
			for name, values := range f.Header {
				w.Header()[name] = values
			}
			if f.Location != "" {
				w.Header().Set("Location", f.Location)
			}
			w.WriteHeader(f.Status)
			_, _ = fmt.Fprint(w, f.Body)
			return
		}
	}
	// A slow client must not block other requests.
	recorded := httptest.NewRecorder()
	s.answer(recorded, r)
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(recorded.Body.Len()))
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	path, gateway := r.URL.EscapedPath(), false
	if s.cloud {
		switch path {
		case "/oauth/token/accessible-resources":
			s.resources(w, r)
			return
		case "/_edge/tenant_info":
			writeJSON(w, http.StatusOK, object{"cloudId": CloudID})
			return
		}
		if rest, found := strings.CutPrefix(path, "/ex/jira/"+CloudID); found {
			path, gateway = rest, true
		}
	}
	path, found := strings.CutPrefix(path, s.path+"/")
	if !found {
		http.NotFound(w, r)
		return
	}
	who, ok := s.authenticate(w, r, gateway)
	if !ok {
		return
	}
	c := &call{Server: s, w: w, r: r, who: who, query: r.URL.Query()}
	for part := range strings.SplitSeq(path, "/") {
		if part, err := url.PathUnescape(part); err == nil {
			c.path = append(c.path, part)
		}
	}
	c.serve()
}

func (s *Server) resources(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.bearer[token] == "" {
		writeJSON(w, http.StatusUnauthorized, object{"code": 401, "message": "Unauthorized"})
		return
	}
	site, _ := url.Parse(s.URL)
	writeJSON(w, http.StatusOK, []any{
		object{"id": "other", "url": "https://other.atlassian.net", "name": "other"},
		object{"id": CloudID, "url": "http://" + site.Host, "name": "acme", "scopes": []string{"read:jira-work"}},
	})
}

// authenticate returns the user of a request; nil is a visitor.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, gateway bool) (who *User, ok bool) {
	header := r.Header.Get("Authorization")
	name, word, basic := r.BasicAuth()
	token, bearer := strings.CutPrefix(header, "Bearer ")
	switch {
	case gateway && basic:
		who = s.user(func(u *User) bool { return u.Email == name && word != "" && (u.Token == word || u.ScopedToken == word) })
	case gateway:
		who = s.user(func(u *User) bool { return u.ID == s.bearer[token] })
		if who != nil && s.NoScopes {
			writeJSON(w, http.StatusUnauthorized, object{"code": 401, "message": "Unauthorized; scope does not match"})
			return nil, false
		}
	case header == "":
		return nil, true
	case s.cloud && basic:
		who = s.user(func(u *User) bool { return u.Email == name && u.Token == word })
	case !s.cloud && bearer:
		who = s.user(func(u *User) bool { return u.Token == token })
	case !s.cloud && basic:
		who = s.user(func(u *User) bool { return u.Name == name && u.Password == word && word != "" })
	}
	if who == nil {
		w.Header().Set("X-Seraph-LoginReason", "AUTHENTICATED_FAILED")
		w.Header().Set("WWW-Authenticate", `OAuth realm="`+url.QueryEscape(s.URL)+`"`)
		writeJSON(w, http.StatusUnauthorized, object{"message": "Client must be authenticated to access this resource.", "status-code": 401})
		return nil, false
	}
	return who, true
}

// serveMedia serves the media host of Cloud, whose URLs are their own authorization.
func (s *Server) serveMedia(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "unexpected credentials", http.StatusBadRequest)
		return
	}
	s.mutex.Lock()
	f := s.file(strings.TrimPrefix(r.URL.Path, "/file/"))
	s.mutex.Unlock()
	if f == nil || r.URL.Query().Get("token") != "signed" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
	_, _ = w.Write(f.Data)
}

func (s *Server) file(id string) *File {
	for _, i := range s.issues {
		if n := slices.IndexFunc(i.Files, func(f File) bool { return f.ID == id }); n >= 0 {
			copied := i.Files[n]
			return &copied
		}
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// call is one request.
type call struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	who   *User
	path  []string
	query url.Values
}

type object = map[string]any

func (c *call) answer(value any) { writeJSON(c.w, http.StatusOK, value) }

func (c *call) refuse(status int, message string) {
	writeJSON(c.w, status, object{"errorMessages": []string{message}, "errors": object{}})
}

// is reports whether the path has a form; "*" matches any part.
func (c *call) is(form ...string) bool {
	if len(form) != len(c.path) {
		return false
	}
	for i, part := range form {
		if part != "*" && part != c.path[i] {
			return false
		}
	}
	return true
}

// limited returns the part of a list that a request wants, and the answer around
// it.
func (c *call) limited(rows []any, name string, standard int) {
	start, _ := strconv.Atoi(c.query.Get("startAt"))
	limit := standard
	if asked, err := strconv.Atoi(c.query.Get("maxResults")); err == nil && asked > 0 {
		limit = asked
	}
	if c.MaxPage > 0 {
		limit = min(limit, c.MaxPage)
	}
	start = max(0, min(start, len(rows)))
	end := min(start+limit, len(rows))
	page := append([]any{}, rows[start:end]...)
	answer := object{name: page, "startAt": start, "maxResults": limit, "total": len(rows)}
	if name == "values" {
		answer["isLast"] = end == len(rows)
	}
	c.answer(answer)
}

func (c *call) serve() {
	version := "2"
	if c.cloud {
		version = "3"
	}
	if !c.cloud && c.is("secure", "attachment", "*", "*") {
		c.download(c.path[2])
		return
	}
	if len(c.path) < 4 || c.path[0] != "rest" || c.path[1] != "api" || c.path[2] != version {
		http.NotFound(c.w, c.r)
		return
	}
	c.path = c.path[3:]
	if c.who == nil {
		c.serveVisitor()
		return
	}
	switch {
	case c.is("myself"):
		c.answer(c.userRow(c.who))
	case c.is("search") && c.cloud:
		c.refuse(http.StatusGone, "The requested API has been removed. Please migrate to the /rest/api/3/search/jql API.")
	case c.is("search", "jql") && c.cloud, c.is("search"):
		c.search()
	case c.is("search", "approximate-count") && c.cloud:
		c.count()
	case c.is("issue", "bulkfetch") && c.cloud:
		c.bulkFetch()
	case c.path[0] == "issue":
		c.serveIssue()
	case c.is("attachment", "content", "*") && c.cloud:
		if c.file(c.path[2]) == nil {
			c.refuse(http.StatusNotFound, "The attachment with id '"+c.path[2]+"' does not exist")
			return
		}
		c.w.Header().Set("Location", c.media.URL+"/file/"+c.path[2]+"?token=signed")
		c.w.WriteHeader(http.StatusSeeOther)
	case c.path[0] == "project":
		c.serveProject()
	default:
		c.servePeople()
	}
}

// serveVisitor answers a request without credentials.
func (c *call) serveVisitor() {
	if c.is("project", "*") && !c.NoAnonymous {
		if p := c.project(c.path[1]); p != nil && p.Public {
			c.answer(c.projectRow(p))
			return
		}
		c.refuse(http.StatusNotFound, "No project could be found with key '"+c.path[1]+"'.")
		return
	}
	c.refuse(http.StatusUnauthorized, "You are not authenticated. Authentication required to perform this operation.")
}

func (c *call) download(id string) {
	f := c.file(id)
	if f == nil || c.who == nil {
		http.NotFound(c.w, c.r)
		return
	}
	c.w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = c.w.Write(f.Data)
}

func newToken(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
