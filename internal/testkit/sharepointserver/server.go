package sharepointserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Tenant is the id of the organisation.
const Tenant = "0e4c2b6a-1111-4222-8333-444455556666"

// A Fault replaces a response.
type Fault struct {
	Status int
	Header http.Header
	Body   string
}

// A Server is a running organisation. New makes it.
type Server struct {
	// URL is the address of Graph without its version. It is also the address of the
	// login and of the sites.
	URL string
	// MaxPage is the largest number of entries of a page, 0 for the platform's own.
	MaxPage int
	// IgnoreTop sends pages of deltas of any size.
	IgnoreTop bool
	// NoDownloadURL omits the addresses of contents from items.
	NoDownloadURL bool
	// NoSiteList refuses to list the sites of the organisation.
	NoSiteList bool

	graph, content *httptest.Server
	client         *http.Client // for notifications

	mutex         sync.Mutex
	serial        int
	clock         time.Time
	epoch         int // of delta tokens
	apps          map[string]*App
	tokens        map[string]*token
	users         []*User
	groups        []*Group
	sites         []*Site
	drives        map[string]*Drive
	subscriptions []*Subscription
	fault         func(r *http.Request) *Fault
	contentFault  int
	requests      []string
}

// A token is an access token that was issued.
type token struct {
	app         *App
	audience    string
	certificate bool
	user        string // of a grant
}

// New starts an empty organisation.
func New() *Server {
	s := &Server{clock: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), apps: map[string]*App{}, tokens: map[string]*token{}, drives: map[string]*Drive{}, client: &http.Client{Transport: &http.Transport{}}}
	s.graph = httptest.NewServer(s)
	s.content = httptest.NewServer(http.HandlerFunc(s.serveContent))
	s.URL = s.graph.URL
	return s
}

// Close stops the server.
func (s *Server) Close() {
	s.graph.Close()
	s.content.Close()
	s.client.CloseIdleConnections()
}

// Host returns the host of the sites.
func (s *Server) Host() string { return strings.TrimPrefix(s.URL, "http://") }

// Fail sets a function that can replace the response to each request, also to those
// of a batch. With nil, the server answers. It is called without a lock.
func (s *Server) Fail(fault func(r *http.Request) *Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.fault = fault
}

// FailContents makes the host of contents answer with a status; 0 ends it.
func (s *Server) FailContents(status int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.contentFault = status
}

// Requests returns the requests since the last call, as "GET /path?query".
func (s *Server) Requests() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	made := s.requests
	s.requests = nil
	return made
}

// ExpireDeltas makes all delta tokens unknown: they are answered with 410.
func (s *Server) ExpireDeltas() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.epoch++
}

// RevokeTokens makes all issued tokens invalid.
func (s *Server) RevokeTokens() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	clear(s.tokens)
}

func (s *Server) next() int {
	s.serial++
	return s.serial
}

func (s *Server) now() time.Time {
	s.clock = s.clock.Add(time.Second)
	return s.clock
}

type object = map[string]any

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mutex.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	s.mutex.Unlock()
	recorded := httptest.NewRecorder() // a slow client must not block others
	s.respond(recorded, r, body)
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(recorded.Body.Len()))
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

// respond answers one request, alone or in a batch.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, body []byte) {
	s.mutex.Lock()
	fault := s.fault
	s.mutex.Unlock()
	if fault != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		if f := fault(r); f != nil {
			for name, values := range f.Header {
				w.Header()[name] = values
			}
			w.WriteHeader(f.Status)
			_, _ = fmt.Fprint(w, f.Body)
			return
		}
	}
	c := &call{Server: s, w: w, r: r, query: r.URL.Query(), body: body}
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	switch {
	case strings.HasSuffix(path, "/oauth2/v2.0/token"):
		c.issueToken(strings.TrimSuffix(path, "/oauth2/v2.0/token"))
	case strings.Contains(path, "_api/web/sitegroups/getbyid("):
		c.siteGroupUsers()
	case strings.HasPrefix(path, "v1.0/"):
		if !c.authenticate(s.audiences()...) {
			return
		}
		rest := strings.TrimPrefix(path, "v1.0/")
		if rest == "$batch" {
			c.batch()
			return
		}
		if strings.HasPrefix(rest, "subscriptions") {
			c.serveSubscriptions(strings.Trim(strings.TrimPrefix(rest, "subscriptions"), "/"))
			return
		}
		c.path = rest
		s.mutex.Lock()
		defer s.mutex.Unlock()
		c.serve()
	default:
		http.NotFound(w, r)
	}
}

// audiences returns the resources whose tokens Graph accepts.
func (s *Server) audiences() []string {
	return []string{"https://graph.microsoft.com", s.URL}
}

// A call is one request.
type call struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	body  []byte
	path  string // below the version
	token *token
}

func (c *call) answer(status int, value any) {
	c.w.Header().Set("Content-Type", "application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8")
	c.w.WriteHeader(status)
	_ = json.NewEncoder(c.w).Encode(value)
}

// refuse sends an error in Graph's format.
func (c *call) refuse(status int, code, message string) {
	c.answer(status, object{"error": object{"code": code, "message": message, "innerError": object{"date": "2026-03-01T08:00:00", "request-id": "8a5c7c43-0000-4000-8000-000000000001"}}})
}

func (c *call) notFound() {
	c.refuse(http.StatusNotFound, "itemNotFound", "The resource could not be found.")
}

// locked answers a request to a site or library that cannot be read.
func (c *call) locked(status int) {
	switch status {
	case http.StatusForbidden:
		c.refuse(status, "accessDenied", "Access denied")
	case http.StatusLocked:
		c.refuse(status, "resourceLocked", "The site is locked. Contact the administrator.")
	case http.StatusGone:
		c.refuse(status, "siteGone", "The site was archived.")
	default:
		c.notFound()
	}
}

// allows reports whether the token has one of the rights, and refuses otherwise.
func (c *call) allows(rights ...string) bool {
	if c.token.user != "" {
		return true
	}
	for _, right := range rights {
		if c.token.app.Rights[right] {
			return true
		}
	}
	c.refuse(http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.")
	return false
}

// page sends a part of entries. link is the path of the list without its query.
func (c *call) page(entries []any, link string) {
	top := 200
	if asked, err := strconv.Atoi(c.query.Get("$top")); err == nil && asked > 0 {
		top = min(asked, 999)
	}
	if c.MaxPage > 0 {
		top = min(top, c.MaxPage)
	}
	skip, _ := strconv.Atoi(c.query.Get("$skiptoken"))
	skip = min(max(skip, 0), len(entries))
	end := min(skip+top, len(entries))
	body := object{"@odata.context": c.URL + "/v1.0/$metadata#collection", "value": append([]any{}, entries[skip:end]...)}
	if end < len(entries) {
		query := c.query
		query.Set("$skiptoken", strconv.Itoa(end))
		query.Set("$top", strconv.Itoa(top))
		body["@odata.nextLink"] = c.URL + "/v1.0/" + link + "?" + query.Encode()
	}
	c.answer(http.StatusOK, body)
}

// batch answers up to 20 requests, each with its own status.
func (c *call) batch() {
	var in struct {
		Requests []struct {
			ID, Method, URL string
			Headers         map[string]string
			Body            json.RawMessage
		}
	}
	if json.Unmarshal(c.body, &in) != nil || len(in.Requests) == 0 || len(in.Requests) > 20 {
		c.refuse(http.StatusBadRequest, "BadRequest", "Invalid batch payload format.")
		return
	}
	var out []object
	for i := len(in.Requests) - 1; i >= 0; i-- { // in any order
		one := in.Requests[i]
		request, err := http.NewRequestWithContext(c.r.Context(), one.Method, c.URL+"/v1.0/"+strings.TrimPrefix(one.URL, "/"), nil)
		if err != nil {
			c.refuse(http.StatusBadRequest, "BadRequest", "Invalid URL.")
			return
		}
		request.Header.Set("Authorization", c.r.Header.Get("Authorization"))
		recorded := httptest.NewRecorder()
		c.respond(recorded, request, one.Body)
		headers := object{}
		for name := range recorded.Header() {
			headers[name] = recorded.Header().Get(name)
		}
		answer := object{"id": one.ID, "status": recorded.Code, "headers": headers}
		if json.Valid(recorded.Body.Bytes()) {
			answer["body"] = json.RawMessage(recorded.Body.Bytes())
		}
		out = append(out, answer)
	}
	c.answer(http.StatusOK, object{"responses": out})
}

// serve answers a request to Graph.
func (c *call) serve() {
	first, rest, _ := strings.Cut(c.path, "/")
	switch first {
	case "sites":
		c.serveSites(rest)
	case "drives":
		c.serveDrives(rest)
	case "users":
		c.serveUsers(rest)
	case "me":
		c.serveMe(rest)
	case "groups":
		c.serveGroups(rest)
	default:
		c.refuse(http.StatusBadRequest, "BadRequest", "Resource not found for the segment '"+first+"'.")
	}
}

// unescape returns a segment of a path as text.
func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
