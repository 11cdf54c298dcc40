package salesforceserver

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The credentials of a new server.
const (
	ClientID     = "3MVG9.consumer.key"
	ClientSecret = "consumer-secret"
	Username     = "reader@acme.example"
)

// Fault replaces an answer.
type Fault struct {
	Status int
	Header http.Header
	Body   string
}

type deletion struct {
	id string
	at time.Time
}

type indexed struct {
	object string
	row    Row
}

// Server is a running organization. Set its exported fields before the first request.
type Server struct {
	URL string
	// Reader is the id of the user of the app.
	Reader string
	// Key is the public key of the app's certificate, nil for none.
	Key *rsa.PublicKey
	// MaxRows is the number of rows of one answer.
	MaxRows int
	// Allowance is the number of requests of 24 hours, and Used those so far.
	Allowance, Used int
	// Uncounted is the number of records that counts have too many.
	Uncounted int
	// NoCounts breaks off counts as queries that take too long.
	NoCounts bool
	// NoTooling refuses the tooling API. NoAccess refuses tables with rules of sharing.
	NoTooling bool
	NoAccess  []string
	// Restrictions are the objects with restriction rules.
	Restrictions []string

	server *httptest.Server

	mutex    sync.Mutex
	serial   int
	clock    time.Time
	logStart time.Time
	objects  map[string]*Object
	tables   map[string][]Row
	index    map[string]indexed
	contents map[string][]byte // of versions of files
	deleted  map[string][]deletion
	tokens   map[string]bool
	fault    func(r *http.Request) *Fault
	counts   map[string]int
	queries  map[string]int // by object
}

// New starts an organization with the standard objects and the user of the app.
func New() *Server {
	s := &Server{
		MaxRows: 2000, Allowance: 100_000, clock: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC), objects: map[string]*Object{}, tables: map[string][]Row{}, index: map[string]indexed{},
		contents: map[string][]byte{}, deleted: map[string][]deletion{}, tokens: map[string]bool{}, counts: map[string]int{}, queries: map[string]int{},
	}
	s.logStart = s.clock.Add(-15 * 24 * time.Hour)
	for _, o := range standardObjects() {
		s.Define(o)
	}
	s.server = httptest.NewServer(s)
	s.URL = s.server.URL
	s.Reader = s.AddUser(Username, "")
	s.Change(s.Reader, Row{"Name": "Rea Der"})
	s.Add("Organization", Row{"Name": "Acme"})
	return s
}

// Close stops the server.
func (s *Server) Close() { s.server.Close() }

// Grant makes an access token valid.
func (s *Server) Grant(token string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tokens[token] = true
}

// Revoke makes all access tokens invalid.
func (s *Server) Revoke() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tokens = map[string]bool{}
}

// Advance advances the clock.
func (s *Server) Advance(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock = s.clock.Add(by)
}

// SetClock sets the clock. The log of deleted records goes back for 15 days.
func (s *Server) SetClock(at time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock, s.logStart = at.UTC(), at.UTC().Add(-15*24*time.Hour)
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

// Queries returns the number of queries for an object.
func (s *Server) Queries(object string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.queries[object]
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	s.counts[r.URL.Path]++
	fault := s.fault
	w.Header().Set("Date", s.clock.Format(http.TimeFormat))
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
	if r.URL.Path == "/services/oauth2/token" {
		s.token(w, r)
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	rest, found := strings.CutPrefix(r.URL.Path, "/services/data/v62.0/")
	switch token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); {
	case !found:
		refuse(w, http.StatusNotFound, "NOT_FOUND", "The requested resource does not exist")
		return
	case !s.tokens[token]:
		refuse(w, http.StatusUnauthorized, "INVALID_SESSION_ID", "Session expired or invalid")
		return
	case s.Used >= s.Allowance:
		refuse(w, http.StatusForbidden, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.")
		return
	}
	s.Used++
	w.Header().Set("Sforce-Limit-Info", fmt.Sprintf("api-usage=%d/%d", s.Used, s.Allowance))
	if rest == "composite/batch" && r.Method == http.MethodPost {
		s.batch(w, r)
		return
	}
	s.resource(w, r.Method, rest, r.URL.Query())
}

// token answers the flows of client credentials and of a JWT.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	deny := func(code, description string) {
		writeJSON(w, http.StatusBadRequest, Row{"error": code, "error_description": description})
	}
	if r.Method != http.MethodPost || r.ParseForm() != nil {
		deny("invalid_request", "must be a POST")
		return
	}
	switch r.Form.Get("grant_type") {
	case "client_credentials":
		if r.Form.Get("client_id") != ClientID {
			deny("invalid_client_id", "client identifier invalid")
			return
		}
		if r.Form.Get("client_secret") != ClientSecret {
			deny("invalid_client", "invalid client credentials")
			return
		}
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		if s.Key == nil {
			deny("invalid_grant", "user hasn't approved this consumer")
			return
		}
		parsed, err := jwt.Parse(r.Form.Get("assertion"), func(*jwt.Token) (any, error) { return s.Key, nil },
			jwt.WithValidMethods([]string{"RS256"}), jwt.WithExpirationRequired(), jwt.WithAudience("https://login.salesforce.com"), jwt.WithIssuer(ClientID), jwt.WithSubject(Username))
		if err != nil {
			deny("invalid_grant", "invalid assertion")
			return
		}
		if expires, err := parsed.Claims.GetExpirationTime(); err != nil || time.Until(expires.Time) > 5*time.Minute {
			deny("invalid_grant", "expiration is too far")
			return
		}
	default:
		deny("unsupported_grant_type", "grant type not supported")
		return
	}
	s.mutex.Lock()
	s.serial++
	token := fmt.Sprintf("00D!token.%d", s.serial)
	s.tokens[token] = true
	s.mutex.Unlock()
	writeJSON(w, http.StatusOK, Row{"access_token": token, "instance_url": s.URL, "token_type": "Bearer", "issued_at": "1700000000000", "signature": "sig", "scope": "api"})
}
