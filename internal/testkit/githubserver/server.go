package githubserver

import (
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
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

// Server is a running GitHub. Its methods are safe for concurrent use.
type Server struct {
	// URL is the base URL of the pages, API of the REST API.
	URL, API string

	http     *httptest.Server
	mutex    sync.Mutex
	repos    []*repo
	moved    map[string]int64 // old full names to IDs
	owners   map[string]owner
	tokens   map[string]*Token
	apps     map[string]*App
	orgHooks map[string][]*Hook
	faults   []*Fault
	requests []string
	counted  int
	limit    int
	nextID   int64
	clock    time.Time
	minted   int
}

type owner struct {
	login, kind string
	id          int64
}

// Token has the rights of an access token.
type Token struct {
	// Login is the user; empty for a token of an app.
	Login string
	// Repos are the full names of accessible private repositories, or "owner/*".
	// Public repositories are always accessible.
	Repos []string
	// Permissions are the permissions of a fine-grained token or an app: contents,
	// issues, pull_requests, discussions and webhooks, with "read" or "write". Nil is
	// a classic token with all permissions.
	Permissions map[string]string
	// Scopes are the scopes of a classic token, which responses name. Without them,
	// responses name none.
	Scopes string
	// Expired makes requests with the token fail.
	Expired bool

	app bool
}

// App is an installation of a GitHub App.
type App struct {
	ID, Installation string
	Key              *rsa.PublicKey
	Token            Token
	// Lifetime is the lifetime of its tokens; an hour when 0.
	Lifetime time.Duration
}

// Fault replaces answers.
type Fault struct {
	// Match is a prefix of method and path ("GET /api/v3/repos/").
	Match string
	// The first Skip matching requests succeed, the next Times requests fail; 0
	// means all.
	Skip, Times int
	Status      int
	Header      http.Header
	Body        string
	// Cut closes the connection in the middle of the answer.
	Cut bool

	met int
}

// New starts a server. The caller must call Close.
func New() *Server {
	s := &Server{
		moved: map[string]int64{}, owners: map[string]owner{}, tokens: map[string]*Token{}, apps: map[string]*App{}, orgHooks: map[string][]*Hook{},
		limit: 1_000_000, nextID: 1000, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL, s.API = s.http.URL, s.http.URL+"/api/v3"
	return s
}

// Close stops the server.
func (s *Server) Close() { s.http.Close() }

// AddToken adds a valid token.
func (s *Server) AddToken(text string, t Token) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tokens[text] = &t
}

// AddApp adds an installation of an app.
func (s *Server) AddApp(a App) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.apps[a.Installation] = &a
}

// IssuedTokens returns the number of issued installation tokens.
func (s *Server) IssuedTokens() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.minted
}

// RevokeIssuedTokens revokes all installation tokens.
func (s *Server) RevokeIssuedTokens() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for text, t := range s.tokens {
		if t.app {
			delete(s.tokens, text)
		}
	}
}

// Fail adds a fault.
func (s *Server) Fail(f Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.faults = append(s.faults, &f)
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.faults = nil
}

// Requests returns method, path and query of each request since the last call.
// Counted is the number of requests that count against the rate limit.
func (s *Server) Requests() (all []string, counted int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all, counted = s.requests, s.counted
	s.requests, s.counted = nil, 0
	return all, counted
}

// Limit sets the number of requests that are left in this hour.
func (s *Server) Limit(left int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.limit = left
}

// refusal is an error answer.
type refusal struct {
	status int
	body   map[string]any
}

func refuse(status int, message string) *refusal {
	return &refusal{status: status, body: map[string]any{
		"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status),
	}}
}

func notFound() *refusal { return refuse(http.StatusNotFound, "Not Found") }

// call is a request. The server's mutex is held.
type call struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	token  *Token
	parts  []string // of the path below the API's base
	body   map[string]any
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	if s.fault(w, r) {
		return
	}
	c := &call{server: s, w: w, r: r}
	if strings.Contains(r.URL.Path, ".wiki.git/") {
		c.git()
		return
	}
	if err := c.authorize(); err != nil {
		c.refuse(err)
		return
	}
	if s.limit--; s.limit < 0 {
		s.limit = 0
		c.refuse(refuse(http.StatusForbidden, "API rate limit exceeded for user ID 1. If you reach out to GitHub Support for help, please include the request ID."))
		return
	}
	s.counted++
	_ = json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&c.body)
	if r.URL.Path == "/api/graphql" {
		c.graphql()
		return
	}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v3/")
	if !ok {
		c.refuse(notFound())
		return
	}
	for part := range strings.SplitSeq(rest, "/") {
		plain, err := url.PathUnescape(part)
		if err != nil {
			c.refuse(refuse(http.StatusBadRequest, "Bad Request"))
			return
		}
		c.parts = append(c.parts, plain)
	}
	if err := c.rest(); err != nil {
		c.refuse(err)
	}
}

// fault applies a fault, and reports whether the request is finished.
func (s *Server) fault(w http.ResponseWriter, r *http.Request) bool {
	for _, f := range s.faults {
		if !strings.HasPrefix(r.Method+" "+r.URL.RequestURI(), f.Match) {
			continue
		}
		f.met++
		if f.met <= f.Skip || f.Times > 0 && f.met > f.Skip+f.Times {
			continue
		}
		for name, values := range f.Header {
			w.Header()[http.CanonicalHeaderKey(name)] = values
		}
		if f.Cut {
			w.Header().Set("Content-Length", strconv.Itoa(len(f.Body)+100))
		}
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
		if f.Cut {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		return true
	}
	return false
}

// tokenOf returns the token of a request.
func tokenOf(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(kind, "Bearer") || strings.EqualFold(kind, "token") {
		return token
	}
	return ""
}

func (c *call) authorize() *refusal {
	if strings.HasPrefix(c.r.URL.Path, "/api/v3/app/") {
		return nil // authorized by the app's key
	}
	text := tokenOf(c.r)
	c.token = c.server.tokens[text]
	if c.token == nil || c.token.Expired {
		return refuse(http.StatusUnauthorized, "Bad credentials")
	}
	return nil
}

// canAccess reports whether a token has access to a repository.
func (t *Token) canAccess(r *repo) bool {
	if r.gone {
		return false
	}
	return !r.private || slices.ContainsFunc(t.Repos, func(name string) bool {
		return strings.EqualFold(name, r.fullName()) || strings.EqualFold(name, r.owner+"/*")
	})
}

// require checks a permission. Without it GitHub answers 403 to fine-grained
// tokens and apps.
func (c *call) require(what, level string, r *repo) *refusal {
	if c.token.Permissions == nil {
		if what == "webhooks" && (r == nil || !slices.Contains(c.token.Repos, r.fullName()) && !slices.Contains(c.token.Repos, r.owner+"/*")) {
			return notFound()
		}
		return nil
	}
	has := c.token.Permissions[what]
	if has == "write" || has == level || has != "" && level == "read" || level == "read" && r != nil && !r.private && what == "contents" {
		return nil
	}
	if c.token.app {
		return refuse(http.StatusForbidden, "Resource not accessible by integration")
	}
	return refuse(http.StatusForbidden, "Resource not accessible by personal access token")
}

func (c *call) rateHeaders() {
	h := c.w.Header()
	h.Set("X-RateLimit-Limit", "5000")
	h.Set("X-RateLimit-Remaining", strconv.Itoa(min(c.server.limit, 5000)))
	h.Set("X-RateLimit-Used", strconv.Itoa(5000-min(c.server.limit, 5000)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(20*time.Minute).Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	if c.token != nil && c.token.Scopes != "" {
		h.Set("X-OAuth-Scopes", c.token.Scopes)
	}
}

func (c *call) refuse(err *refusal) {
	c.rateHeaders()
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.w.WriteHeader(err.status)
	_ = json.NewEncoder(c.w).Encode(err.body)
}

// answer sends an object or a list with its ETag. An answer 304 does not count
// against the rate limit.
func (c *call) answer(status int, data any) *refusal {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(append([]byte(c.r.Header.Get("Authorization")+"\n"+c.w.Header().Get("Link")+"\n"), text...))
	etag := `W/"` + hex.EncodeToString(sum[:]) + `"`
	if c.r.Method == http.MethodGet {
		c.w.Header().Set("ETag", etag)
		c.w.Header().Set("Cache-Control", "private, max-age=60, s-maxage=60")
		c.w.Header().Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP")
		if c.r.Header.Get("If-None-Match") == etag {
			c.server.limit++
			c.server.counted--
			c.rateHeaders()
			c.w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	c.rateHeaders()
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(text)
	return nil
}

// page returns the page of a list by per_page and page, and sets Link.
func page[T any](c *call, all []T) []T {
	query := c.r.URL.Query()
	size, number := 30, 1
	if n, err := strconv.Atoi(query.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(query.Get("page")); err == nil && n > 0 {
		number = n
	}
	last := max((len(all)+size-1)/size, 1)
	link := func(to int, rel string) string {
		query.Set("page", strconv.Itoa(to))
		// GitHub's links contain the ID of the repository.
		path := c.r.URL.Path
		if len(c.parts) > 3 && c.parts[0] == "repos" {
			if r := c.server.repo(c.parts[1] + "/" + c.parts[2]); r != nil {
				path = "/api/v3/repositories/" + strconv.FormatInt(r.id, 10) + "/" + strings.Join(c.parts[3:], "/")
			}
		}
		return fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.server.URL, path, query.Encode(), rel)
	}
	var links []string
	if number > 1 {
		links = append(links, link(number-1, "prev"))
	}
	if number < last {
		links = append(links, link(number+1, "next"), link(last, "last"))
	}
	if number > 1 {
		links = append(links, link(1, "first"))
	}
	if len(links) > 0 {
		c.w.Header().Set("Link", strings.Join(links, ", "))
	}
	start := min((number-1)*size, len(all))
	return all[start:min(start+size, len(all))]
}
