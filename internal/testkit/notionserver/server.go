package notionserver

import (
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

// Version is the version of the API that requests must ask for.
const Version = "2026-03-11"

// Fault replaces an answer.
type Fault struct {
	Status int
	Header http.Header
	Body   string
}

// Server is a running server. Set its exported fields before the first request.
type Server struct {
	// URL is the base URL of the API, Token the token of the integration.
	URL, Token string
	// NoMarkdown serves no Markdown, NoRead and NoComments take the capabilities to
	// read content and comments.
	NoMarkdown, NoRead, NoComments bool
	// NoTrash makes the search refuse to list the trash.
	NoTrash bool
	// MaxPage is the maximum number of entries of a page, QueryLimit of results of a
	// query, and MaxLines of lines of a page in Markdown.
	MaxPage, QueryLimit, MaxLines int
	// Sunset is announced in each answer.
	Sunset string

	server *httptest.Server
	media  *httptest.Server

	mutex   sync.Mutex
	serial  int
	clock   time.Time
	pages   map[string]*Page
	sources map[string]*Source
	blocks  map[string]string // parents
	fault   func(r *http.Request) *Fault
	counts  map[string]int // requests by path
}

// New starts a server.
func New() *Server {
	s := &Server{
		Token: "ntn_0123456789", clock: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC), QueryLimit: 10_000, MaxLines: 20_000,
		pages: map[string]*Page{}, sources: map[string]*Source{}, blocks: map[string]string{}, counts: map[string]int{},
	}
	s.server = httptest.NewServer(s)
	s.media = httptest.NewServer(http.HandlerFunc(s.serveMedia))
	s.URL = s.server.URL
	return s
}

// Close stops the server.
func (s *Server) Close() {
	s.server.Close()
	s.media.Close()
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
	w.Header().Set("Date", s.clock.Format(http.TimeFormat))
	s.mutex.Unlock()
	if s.Sunset != "" {
		w.Header().Set("Sunset", s.Sunset)
	}
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

// serveMedia serves the host of files, whose URLs are their own authorization.
func (s *Server) serveMedia(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "unexpected credentials", http.StatusBadRequest)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(parts) == 3 && r.URL.Query().Get("X-Amz-Signature") != "" {
		if _, f := s.file(parts[0]); f != nil && f.Upload == parts[1] {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
			_, _ = w.Write(f.Data)
			return
		}
	}
	http.Error(w, "<Error><Code>AccessDenied</Code></Error>", http.StatusForbidden)
}

// address returns the address of a file, which is signed anew each time.
func (s *Server) address(f *File) string {
	s.serial++
	return fmt.Sprintf("%s/%s/%s/%s?X-Amz-Expires=3600&X-Amz-Signature=%x", s.media.URL, f.ID, f.Upload, url.PathEscape(f.Name), s.serial)
}

type object = map[string]any

// call is one request.
type call struct {
	*Server
	w    http.ResponseWriter
	r    *http.Request
	path []string
}

func (c *call) json(status int, value any) {
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.w.WriteHeader(status)
	_ = json.NewEncoder(c.w).Encode(value)
}

func (c *call) refuse(status int, code, message string) {
	c.json(status, object{"object": "error", "status": status, "code": code, "message": message, "request_id": "r"})
}

func (c *call) notFound(id string) {
	c.refuse(http.StatusNotFound, "object_not_found", "Could not find page with ID: "+id+". Make sure the relevant pages and databases are shared with your integration.")
}

// is reports whether the request has a method and the path a form; "*" matches any
// part.
func (c *call) is(method string, form ...string) bool {
	if len(form) != len(c.path) || c.r.Method != method {
		return false
	}
	for i, part := range form {
		if part != "*" && part != c.path[i] {
			return false
		}
	}
	return true
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c := &call{Server: s, w: w, r: r}
	text, found := strings.CutPrefix(r.URL.EscapedPath(), "/v1/")
	if !found {
		c.refuse(http.StatusBadRequest, "invalid_request_url", "Invalid request URL.")
		return
	}
	for part := range strings.SplitSeq(text, "/") {
		if part, err := url.PathUnescape(part); err == nil {
			c.path = append(c.path, part)
		}
	}
	switch {
	case r.Header.Get("Authorization") != "Bearer "+s.Token:
		c.refuse(http.StatusUnauthorized, "unauthorized", "API token is invalid.")
	case r.Header.Get("Notion-Version") != Version:
		c.refuse(http.StatusBadRequest, "missing_version", "Notion-Version header should be "+Version)
	case c.is("GET", "users", "me"):
		c.json(http.StatusOK, object{"object": "user", "id": "16d84278-ab0e-484c-9bdd-b35da3bd8905", "type": "bot", "name": "Magpie", "bot": object{"workspace_name": "Acme"}})
	case s.NoRead:
		c.refuse(http.StatusForbidden, "restricted_resource", "Insufficient permissions for this endpoint.")
	default:
		c.serve()
	}
}

func (c *call) serve() {
	switch {
	case c.is("POST", "search"):
		c.search()
	case c.is("GET", "pages", "*"):
		p := c.pages[c.path[1]]
		if p == nil || !c.isVisible(p.ID) {
			c.notFound(c.path[1])
			return
		}
		c.json(http.StatusOK, c.pageRow(p))
	case c.is("GET", "pages", "*", "markdown"):
		c.markdown()
	case c.is("GET", "databases", "*"):
		c.database()
	case c.is("GET", "data_sources", "*"):
		source := c.sources[c.path[1]]
		if source == nil || source.Unshared {
			c.notFound(c.path[1])
			return
		}
		c.json(http.StatusOK, c.sourceRow(source))
	case c.is("POST", "data_sources", "*", "query"):
		c.queryRows()
	case c.is("GET", "blocks", "*"):
		c.block()
	case c.is("GET", "blocks", "*", "children"):
		c.children()
	case c.is("GET", "comments"):
		c.comments()
	default:
		c.refuse(http.StatusBadRequest, "invalid_request_url", "Invalid request URL.")
	}
}

type body struct {
	PageSize    int    `json:"page_size"`
	StartCursor string `json:"start_cursor"`
	Filter      struct {
		Property, Value, Timestamp string
		InTrash                    bool `json:"in_trash"`
		CreatedTime                struct {
			OnOrAfter time.Time `json:"on_or_after"`
		} `json:"created_time"`
	}
	Sort  struct{ Timestamp, Direction string }
	Sorts []struct{ Timestamp, Direction string }
}

func (c *call) body() (body, bool) {
	var b body
	if err := json.NewDecoder(c.r.Body).Decode(&b); err != nil {
		c.refuse(http.StatusBadRequest, "invalid_json", "Error parsing JSON body.")
		return b, false
	}
	return b, true
}

// list answers with the page of a list after a cursor, which is the ID of its first
// entry.
func (c *call) list(rows []object, size int, cursor string, complete bool) {
	if size <= 0 || size > 100 {
		size = 100
	}
	if c.MaxPage > 0 {
		size = min(size, c.MaxPage)
	}
	if cursor != "" {
		at := slices.IndexFunc(rows, func(row object) bool { return row["id"] == cursor })
		if at < 0 {
			c.refuse(http.StatusBadRequest, "validation_error", "The start_cursor provided is invalid: "+cursor)
			return
		}
		rows = rows[at:]
	}
	answer := object{"object": "list", "has_more": false, "next_cursor": nil, "results": append([]object{}, rows[:min(size, len(rows))]...)}
	if len(rows) > size {
		answer["has_more"], answer["next_cursor"] = true, rows[size]["id"]
	}
	if !complete {
		answer["request_status"] = object{"type": "incomplete", "incomplete_reason": "query_result_limit_reached"}
	}
	c.json(http.StatusOK, answer)
}

func (c *call) search() {
	b, ok := c.body()
	if !ok {
		return
	}
	var rows []object
	switch {
	case b.Filter.InTrash && c.NoTrash:
		c.refuse(http.StatusBadRequest, "validation_error", "body failed validation: body.filter.in_trash should be not present, instead was `true`.")
		return
	case b.Filter.InTrash && b.Filter.Value == "page":
		for _, p := range c.pages {
			if c.isVisible(p.ID) && c.isTrashed(p.ID) {
				rows = append(rows, c.pageRow(p))
			}
		}
	case b.Filter.InTrash && b.Filter.Value == "data_source":
		for _, source := range c.sources {
			if !source.Unshared && c.isTrashed(source.ID) {
				rows = append(rows, c.sourceRow(source))
			}
		}
	case b.Filter.Value == "page":
		for _, p := range c.sortedPages(func(p *Page) bool { return !p.Unindexed }) {
			rows = append(rows, c.pageRow(p))
		}
	case b.Filter.Value == "data_source":
		for _, source := range c.sources {
			if !source.Unshared && !c.isTrashed(source.ID) {
				rows = append(rows, c.sourceRow(source))
			}
		}
	default:
		c.refuse(http.StatusBadRequest, "validation_error", "body.filter.value should be page or data_source")
		return
	}
	slices.SortFunc(rows, func(a, b object) int {
		if order := strings.Compare(a["last_edited_time"].(string), b["last_edited_time"].(string)); order != 0 { //nolint:forcetypeassert // they are
			return order
		}
		return strings.Compare(a["id"].(string), b["id"].(string)) //nolint:forcetypeassert // they are
	})
	if b.Sort.Direction != "ascending" {
		slices.Reverse(rows)
	}
	c.list(rows, b.PageSize, b.StartCursor, true)
}

func (c *call) queryRows() {
	b, ok := c.body()
	source := c.sources[c.path[1]]
	switch {
	case !ok:
		return
	case source == nil || source.Unshared:
		c.notFound(c.path[1])
		return
	}
	var rows []object
	found := c.sortedPages(func(p *Page) bool {
		return p.Parent == source.ID && !minute(p.Created).Before(b.Filter.CreatedTime.OnOrAfter)
	})
	slices.SortFunc(found, func(a, b *Page) int { return a.Created.Compare(b.Created) })
	for _, p := range found {
		rows = append(rows, c.pageRow(p))
	}
	complete := len(rows) <= c.QueryLimit
	c.list(rows[:min(len(rows), c.QueryLimit)], b.PageSize, b.StartCursor, complete)
}
