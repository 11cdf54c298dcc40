package hubspotserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Version is the version with a date that the server has.
const Version = "2026-03"

// Fault replaces an answer.
type Fault struct {
	Status int
	Header http.Header
	Body   string
}

// Server is a running server. Set its exported fields before the first request.
type Server struct {
	// URL is the base URL of the API, Token the access token.
	URL, Token string
	// NoDated serves the legacy versions only.
	NoDated bool
	// MaxPage is the maximum number of entries of a page, MaxSearched that of the results
	// of one search that can be read.
	MaxPage, MaxSearched int
	// Remaining is the rest of the rate limit that answers tell, 190 if it is 0.
	Remaining int

	server *httptest.Server

	mutex      sync.Mutex
	serial     int
	clock      time.Time
	objects    map[string]map[string]*Record
	properties map[string][]Property
	owners     []Owner
	schemas    []Schema
	revoked    map[string]bool
	fault      func(r *http.Request) *Fault
	counts     map[string]int // requests by path
}

// New starts a server.
func New() *Server {
	s := &Server{
		Token: "pat-eu1-0123456789", serial: 100, clock: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC), MaxSearched: 10_000,
		objects: map[string]map[string]*Record{}, properties: map[string][]Property{}, revoked: map[string]bool{}, counts: map[string]int{},
	}
	s.server = httptest.NewServer(s)
	s.URL = s.server.URL
	return s
}

// Close stops the server.
func (s *Server) Close() { s.server.Close() }

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
	remaining := s.Remaining
	if remaining == 0 {
		remaining = 190
	}
	for name, value := range map[string]string{
		"Date": s.clock.Format(http.TimeFormat), "X-HubSpot-RateLimit-Max": "190", "X-HubSpot-RateLimit-Remaining": strconv.Itoa(remaining),
		"X-HubSpot-RateLimit-Interval-Milliseconds": "10000", "X-HubSpot-RateLimit-Daily": "650000", "X-HubSpot-RateLimit-Daily-Remaining": "649000",
	} {
		w.Header().Set(name, value)
	}
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
	maps.Copy(w.Header(), recorded.Header())
	w.Header().Set("Content-Length", strconv.Itoa(recorded.Body.Len()))
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
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
	c.w.Header().Set("Content-Type", "application/json;charset=utf-8")
	c.w.WriteHeader(status)
	encoder := json.NewEncoder(c.w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
}

func (c *call) refuse(status int, category, message string, context object) {
	body := object{"status": "error", "message": message, "correlationId": "aeb5f871-7f07-4993-9211-075dc63e7cbf", "category": category}
	if context != nil {
		body["errors"] = []any{object{"message": message, "context": context}}
	}
	c.json(status, body)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c := &call{Server: s, w: w, r: r}
	for part := range strings.SplitSeq(strings.Trim(r.URL.EscapedPath(), "/"), "/") {
		part, _ = url.PathUnescape(part)
		c.path = append(c.path, part)
	}
	if r.Header.Get("Authorization") != "Bearer "+s.Token {
		c.refuse(http.StatusUnauthorized, "INVALID_AUTHENTICATION", "Authentication credentials not found. This API supports OAuth 2.0 authentication.", nil)
		return
	}
	family, rest, known := c.family()
	if !known {
		c.notFound()
		return
	}
	c.serve(family, rest)
}

func (c *call) notFound() {
	c.refuse(http.StatusNotFound, "OBJECT_NOT_FOUND", "resource not found", nil)
}

// family returns the part of the API that the path is of, and the rest of the path.
func (c *call) family() (family string, rest []string, known bool) {
	for prefix, family := range map[string]string{
		"crm/objects/" + Version: "objects", "crm/v3/objects": "objects", "crm/properties/" + Version: "properties", "crm/v3/properties": "properties",
		"crm/associations/" + Version: "associations", "crm/v4/associations": "associations", "crm-object-schemas/" + Version + "/schemas": "schemas",
		"crm-object-schemas/v3/schemas": "schemas", "crm/owners/" + Version: "owners", "crm/v3/owners": "owners",
		"account-info/" + Version + "/details": "account", "account-info/v3/details": "account",
	} {
		parts := strings.Split(prefix, "/")
		if len(c.path) >= len(parts) && slices.Equal(c.path[:len(parts)], parts) && (!c.NoDated || !strings.Contains(prefix, Version)) {
			return family, c.path[len(parts):], true
		}
	}
	return "", nil, false
}

// scopeOf returns the scope that reading an object needs.
func scopeOf(name string) string {
	switch name {
	case "tickets":
		return "tickets"
	case "emails":
		return "sales-email-read"
	case "companies", "deals":
		return "crm.objects." + name + ".read"
	}
	if strings.Contains(name, "-") {
		return "crm.objects.custom.read"
	}
	return "crm.objects.contacts.read"
}

// may reports whether the token has a scope, and answers if it has not.
func (c *call) may(scope string) bool {
	if !c.revoked[scope] {
		return true
	}
	c.refuse(http.StatusForbidden, "MISSING_SCOPES", "This app hasn't been granted all required scopes to make this call. Read more about required scopes here: https://developers.hubspot.com/scopes.", object{"requiredGranularScopes": []string{scope}})
	return false
}

func (c *call) serve(family string, rest []string) {
	get, post := c.r.Method == http.MethodGet, c.r.Method == http.MethodPost
	if (family == "objects" || family == "associations") && len(rest) > 0 && !c.may(scopeOf(rest[0])) {
		return
	}
	switch {
	case family == "account" && get && len(rest) == 0:
		c.json(http.StatusOK, object{"portalId": 12345678, "accountType": "STANDARD", "timeZone": "Europe/Paris", "companyCurrency": "EUR", "additionalCurrencies": []any{}, "utcOffset": "+02:00", "utcOffsetMilliseconds": 7200000, "uiDomain": "app.hubspot.com", "dataHostingLocation": "eu1"})
	case family == "owners" && get && len(rest) == 0:
		c.listOwners()
	case family == "schemas" && get && len(rest) == 0:
		c.listSchemas()
	case family == "properties" && get && len(rest) == 1:
		c.listProperties(rest[0])
	case family == "objects" && get && len(rest) == 1:
		c.list(rest[0])
	case family == "objects" && get && len(rest) == 2:
		c.one(rest[0], rest[1])
	case family == "objects" && post && len(rest) == 2 && rest[1] == "search":
		c.search(rest[0])
	case family == "objects" && post && len(rest) == 3 && rest[2] == "read":
		c.batch(rest[0])
	case family == "associations" && post && len(rest) == 4 && rest[3] == "read":
		c.associations(rest[0], rest[1])
	default:
		c.notFound()
	}
}
