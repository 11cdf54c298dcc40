package driveserver

import (
	"crypto/rsa"
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

// A Fault replaces an answer.
type Fault struct {
	Status int
	Header http.Header
	Body   string
}

// A Server is a running server. Set its exported fields before the first request.
type Server struct {
	// URL is the address of all APIs.
	URL string
	// MaxPage is the largest number of entries of a page, if it is not 0.
	MaxPage int
	// Admins are the addresses of administrators, who may read the directory.
	Admins []string
	// Notify is called with the deliveries of channels. It may be nil.
	Notify func(address string, header http.Header)

	http *httptest.Server

	mutex     sync.Mutex
	serial    int
	clock     time.Time
	users     []user
	drives    []*sharedDrive
	groups    map[string][]Member
	files     map[string]*File
	order     []string
	hidden    map[string]bool
	entries   []entry
	oldest    int // the first entry that the feed still has
	epoch     int // of page tokens
	channels  []*Channel
	tokens    map[string]session
	suspended map[string]bool // by mail address
	key       *rsa.PrivateKey
	delegated []string // scopes
	fault     func(r *http.Request) *Fault
	counts    map[string]int
}

// A session is what an access token stands for.
type session struct{ email, scopes string }

// New starts a server. Close stops it.
func New() *Server {
	s := &Server{
		clock: time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC), groups: map[string][]Member{}, files: map[string]*File{}, hidden: map[string]bool{},
		tokens: map[string]session{}, suspended: map[string]bool{}, counts: map[string]int{},
	}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close stops the server.
func (s *Server) Close() { s.http.Close() }

// Scopes are the scopes of a grant that has all of them.
const Scopes = "https://www.googleapis.com/auth/drive.readonly https://www.googleapis.com/auth/admin.directory.user.readonly https://www.googleapis.com/auth/admin.directory.group.member.readonly"

// Grant makes an access token of a user valid. Without scopes it has all.
func (s *Server) Grant(token, email string, scopes ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(scopes) == 0 {
		scopes = []string{Scopes}
	}
	s.tokens[token] = session{email, strings.Join(scopes, " ")}
}

// Suspend makes Drive refuse the tokens of a user, or accept them again.
func (s *Server) Suspend(email string, suspended bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.suspended[email] = suspended
}

// Revoke makes an access token invalid.
func (s *Server) Revoke(token string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.tokens, token)
}

// Fail sets a function that can replace the answer to each request.
func (s *Server) Fail(fault func(r *http.Request) *Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.fault = fault
}

// Hide leaves a file out of lists, which say that they are incomplete.
func (s *Server) Hide(id string, hidden bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if hidden {
		s.hidden[id] = true
	} else {
		delete(s.hidden, id)
	}
}

// ExpirePages makes all page tokens of lists invalid.
func (s *Server) ExpirePages() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.epoch++
}

// ExpireChanges makes all tokens of the feeds invalid.
func (s *Server) ExpireChanges() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.entries = append(s.entries, entry{})
	s.oldest = len(s.entries)
}

// Requests returns the number of requests whose method and path contain a text.
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
	s.counts[r.Method+" "+r.URL.Path]++
	fault := s.fault
	s.mutex.Unlock()
	if fault != nil {
		if f := fault(r); f != nil {
			for name, values := range f.Header {
				w.Header()[name] = values
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
	c := &call{Server: s, w: w, r: r, query: r.URL.Query()}
	for part := range strings.SplitSeq(strings.Trim(r.URL.EscapedPath(), "/"), "/") {
		if part, err := url.PathUnescape(part); err == nil {
			c.path = append(c.path, part)
		}
	}
	notify := func() {}
	s.mutex.Lock()
	defer func() { s.mutex.Unlock(); notify() }()
	if c.is("token") {
		c.token()
		return
	}
	var known bool
	if c.session, known = s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]; !known || s.suspended[c.email] {
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://accounts.google.com/", error="invalid_token"`)
		c.refuse(http.StatusUnauthorized, "authError", "Invalid Credentials")
		return
	}
	notify = c.serve()
}

// call is one request.
type call struct {
	*Server
	session

	w     http.ResponseWriter
	r     *http.Request
	path  []string
	query url.Values
}

type object = map[string]any

func (c *call) answer(value any) {
	c.w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(c.w).Encode(value)
}

// refuse sends an error in the form of the API.
func (c *call) refuse(status int, reason, message string) {
	c.w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	c.w.WriteHeader(status)
	_ = json.NewEncoder(c.w).Encode(object{"error": object{
		"code": status, "message": message, "errors": []object{{"domain": "global", "reason": reason, "message": message}},
	}})
}

func (c *call) notFound(id string) {
	c.refuse(http.StatusNotFound, "notFound", "File not found: "+id+".")
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

// allows reports whether the token has a scope, and refuses the request otherwise.
func (c *call) allows(scope string) bool {
	for granted := range strings.SplitSeq(c.scopes, " ") {
		if strings.HasSuffix(granted, "/auth/"+scope) {
			return true
		}
	}
	c.w.Header().Set("WWW-Authenticate", `Bearer realm="https://accounts.google.com/", error="insufficient_scope", scope="https://www.googleapis.com/auth/`+scope+`"`)
	c.refuse(http.StatusForbidden, "insufficientPermissions", "Request had insufficient authentication scopes.")
	return false
}

// serve answers a request, and returns the deliveries that follow.
func (c *call) serve() func() {
	const v3 = "v3"
	get, post := c.r.Method == http.MethodGet, c.r.Method == http.MethodPost
	isDirectory := len(c.path) > 0 && c.path[0] == "admin"
	switch {
	case get && c.is("admin", "directory", "v1", "groups", "*", "members"):
		c.members(c.path[4])
	case get && c.is("admin", "directory", "v1", "users"):
		c.directoryUsers()
	case isDirectory:
		c.refuse(http.StatusNotFound, "notFound", "Not Found")
	case get && c.is("export", "*"):
		c.exportLink(c.path[1])
	case !c.allows("drive.readonly"):
	case get && c.is("drive", v3, "about"):
		if c.query.Get("fields") == "" {
			c.refuse(http.StatusBadRequest, "required", "The 'fields' parameter is required for this method.")
			return func() {}
		}
		c.answer(object{"user": object{"kind": "drive#user", "emailAddress": c.email, "displayName": c.email}})
	case get && c.is("drive", v3, "drives"):
		c.listDrives()
	case get && c.is("drive", v3, "drives", "*"):
		c.getDrive(c.path[3])
	case get && c.is("drive", v3, "files"):
		c.listFiles()
	case get && c.is("drive", v3, "files", "*"):
		c.getFile(c.path[3])
	case get && c.is("drive", v3, "files", "*", "export"):
		c.export(c.path[3])
	case get && c.is("drive", v3, "files", "*", "permissions"):
		c.listPermissions(c.path[3])
	case get && c.is("drive", v3, "changes", "startPageToken"):
		c.startPageToken()
	case get && c.is("drive", v3, "changes"):
		c.listChanges()
	case post && c.is("drive", v3, "changes", "watch"):
		return c.watch()
	case post && c.is("drive", v3, "channels", "stop"):
		c.stop()
	default:
		c.refuse(http.StatusNotFound, "notFound", "Not Found")
	}
	return func() {}
}

// page returns the part of a list of n entries that the request asks for, and the
// token of the next part.
func (c *call) page(n, most int) (from, to int, next string, ok bool) {
	size := 100
	for _, name := range []string{"pageSize", "maxResults"} {
		if asked, err := strconv.Atoi(c.query.Get(name)); err == nil && asked > 0 {
			size = min(asked, most)
		}
	}
	if c.MaxPage > 0 {
		size = min(size, c.MaxPage)
	}
	if token := c.query.Get("pageToken"); token != "" {
		var epoch int
		if _, err := fmt.Sscanf(token, "~!!~%d~%d", &epoch, &from); err != nil || epoch != c.epoch {
			c.refuse(http.StatusBadRequest, "invalid", "Invalid Value")
			return 0, 0, "", false
		}
	}
	from = min(from, n)
	if to = min(from+size, n); to < n {
		next = fmt.Sprintf("~!!~%d~%d", c.epoch, to)
	}
	return from, to, next, true
}
