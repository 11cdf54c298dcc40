package confluenceserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	// NoScan imitates Data Center before 7.18, NoPermissions before 9.1. NoRemote
	// disables the JSON-RPC API.
	NoScan, NoPermissions, NoRemote bool
	// NoAnonymous disables anonymous access to the whole site.
	NoAnonymous bool
	// MaxPage is the maximum number of entries of a page.
	MaxPage int

	cloud   bool
	context string // the path of the site
	media   *httptest.Server

	mutex   sync.Mutex
	serial  int
	clock   time.Time
	users   []*User
	groups  []*Group
	spaces  []*Space
	content map[string]*Content
	bearer  map[string]string // user IDs by token
	fault   func(r *http.Request) *Fault
	counts  map[string]int // requests by path
}

// A Cleaner calls functions when the server is not needed any more. A testing.TB is
// one.
type Cleaner interface{ Cleanup(stop func()) }

// NewCloud starts a Cloud site. It stops at the end of the test.
func NewCloud(t Cleaner) *Server { return start(t, true, "/wiki") }

// NewCenter starts a Data Center site below /confluence. It stops at the end of
// the test.
func NewCenter(t Cleaner) *Server { return start(t, false, "/confluence") }

func start(t Cleaner, cloud bool, context string) *Server {
	s := &Server{
		cloud: cloud, context: context, clock: time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC),
		content: map[string]*Content{}, bearer: map[string]string{}, counts: map[string]int{},
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.media = httptest.NewServer(http.HandlerFunc(s.serveMedia))
	t.Cleanup(s.media.Close)
	s.Gateway, s.URL = server.URL, server.URL+context
	return s
}

// Grant adds an OAuth access token of a user.
func (s *Server) Grant(token, user string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.bearer[token] = user
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
	s.mutex.Unlock()
	w.Header().Set("Date", time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC).Format(http.TimeFormat))
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
		if path == "/oauth/token/accessible-resources" {
			s.resources(w, r)
			return
		}
		if rest, found := strings.CutPrefix(path, "/ex/confluence/"+CloudID); found {
			path, gateway = rest, true
		}
	}
	path, found := strings.CutPrefix(path, s.context+"/")
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
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"code":401,"message":"Unauthorized"}`)
		return
	}
	site, _ := url.Parse(s.URL)
	writeJSON(w, http.StatusOK, []any{
		map[string]any{"id": "other", "url": "https://other.atlassian.net", "name": "other"},
		map[string]any{"id": CloudID, "url": "http://" + site.Host, "name": "acme", "scopes": []string{"search:confluence"}},
	})
}

// authenticate returns the user of a request; nil is an anonymous user.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, gateway bool) (who *User, ok bool) {
	header := r.Header.Get("Authorization")
	name, word, basic := r.BasicAuth()
	token, bearer := strings.CutPrefix(header, "Bearer ")
	switch {
	case gateway:
		who = s.user(func(u *User) bool { return u.ID == s.bearer[token] })
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
		writeJSON(w, http.StatusUnauthorized, map[string]any{"code": 401, "message": "Unauthorized; scope does not match"})
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
	c := s.content[strings.TrimPrefix(r.URL.Path, "/file/")]
	var data []byte
	if c != nil {
		data = c.Data
	}
	s.mutex.Unlock()
	if c == nil || r.URL.Query().Get("token") != "signed" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
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

// refuse sends an error in the format of version 1.
func (c *call) refuse(status int, message string) {
	writeJSON(c.w, status, object{"statusCode": status, "data": object{"authorized": false, "valid": true, "errors": []any{}, "successful": false},
		"message": message, "reason": http.StatusText(status)})
}

func (c *call) notFound(id string) {
	c.refuse(http.StatusNotFound, "com.atlassian.confluence.api.service.exceptions.NotFoundException: No content found with id: ContentId{id="+id+"}")
}

// refuseV2 sends an error in the format of version 2.
func (c *call) refuseV2(status int, code, title string) {
	writeJSON(c.w, status, object{"errors": []any{object{"status": status, "code": code, "title": title, "detail": nil}}})
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

func (c *call) limit(standard, most int) int {
	limit := standard
	if asked, err := strconv.Atoi(c.query.Get("limit")); err == nil && asked > 0 {
		limit = asked
	}
	if c.MaxPage > 0 {
		most = min(most, c.MaxPage)
	}
	return min(limit, most)
}

func (c *call) serve() {
	v1 := len(c.path) > 2 && c.path[0] == "rest" && c.path[1] == "api"
	switch {
	case c.cloud && len(c.path) > 2 && c.path[0] == "api" && c.path[1] == "v2":
		c.serveV2()
	case v1 && c.cloud && !c.isCloudV1():
		c.refuse(http.StatusGone, "This deprecated endpoint has been removed.")
	case v1:
		c.serveV1()
	case !c.cloud && c.is("download", "attachments", "*", "*"):
		c.downloadCenter()
	case !c.cloud && c.is("rest", "mobile", "1.0", "profile", "*"):
		u := c.user(func(u *User) bool { return u.Name == c.path[4] })
		if u == nil {
			c.refuse(http.StatusNotFound, "No user found")
			return
		}
		profile := object{"username": u.Name, "fullName": u.Display}
		if !u.Hidden {
			profile["email"] = u.Email
		}
		c.answer(profile)
	case !c.cloud && !c.NoRemote && c.is("rpc", "json-rpc", "confluenceservice-v2", "getSpacePermissionSets"):
		c.remotePermissions()
	default:
		http.NotFound(c.w, c.r)
	}
}

// isCloudV1 reports whether Cloud still serves a path of version 1.
func (c *call) isCloudV1() bool {
	return c.is("rest", "api", "user", "current") || c.is("rest", "api", "content", "search") || c.path[2] == "group" ||
		c.is("rest", "api", "content", "*", "restriction", "byOperation", "read") ||
		c.is("rest", "api", "content", "*", "child", "attachment", "*", "download")
}
