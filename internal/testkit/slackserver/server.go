package slackserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const slackbot = "USLACKBOT"

// AllScopes has every scope that the connector can use.
const AllScopes = "channels:read,channels:history,channels:join,groups:read,groups:history,users:read,users:read.email,files:read,team:read"

// Server is a running workspace. Its methods are safe for concurrent use.
type Server struct {
	// URL is the base URL; the Web API is below /api.
	URL string
	// Team and Domain identify the workspace. BotUser is the ID of the app's user.
	Team, Domain, BotUser string

	mu       sync.Mutex
	now      time.Time
	serial   int
	tokens   map[string]*token
	users    map[string]*User
	channels map[string]*channel
	files    map[string]*file
	faults   map[string][]Fault
	calls    map[string]int
	maxPage  int
	events   [][]byte
}

// token has the rights of a token.
type token struct {
	user    string
	bot     bool
	scopes  []string
	revoked string // the error code of a revoked token
}

// Fault is the answer to one call in place of the real one.
type Fault struct {
	// Error is the code of an answer {"ok": false}. Its status is 200 unless Status
	// is set.
	Error string
	// Status, RetryAfter (seconds) and Body are parts of the answer.
	Status, RetryAfter int
	Body               string
	// Hang sends no answer until the client disconnects.
	Hang bool
}

// A Cleaner calls functions when the server is not needed any more. A testing.TB is
// one.
type Cleaner interface{ Cleanup(stop func()) }

// New starts a workspace whose only user is the app. It stops at the end of the test.
func New(t Cleaner) *Server {
	s := &Server{
		Team: "T024BE7LD", Domain: "magpies", BotUser: "U0MAGPIE1", now: time.Date(2024, 5, 1, 9, 0, 0, 0, time.UTC),
		tokens: make(map[string]*token), users: make(map[string]*User), channels: make(map[string]*channel), files: make(map[string]*file),
		faults: make(map[string][]Fault), calls: make(map[string]int),
	}
	s.users[s.BotUser] = &User{ID: s.BotUser, Name: "magpie", RealName: "Magpie", Bot: true}
	s.users[slackbot] = &User{ID: slackbot, Name: "slackbot", RealName: "Slackbot", Email: "slackbot@slack.example"}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// API returns the base URL of the Web API.
func (s *Server) API() string { return s.URL + "/api" }

// Token creates a bot token with comma-separated scopes.
func (s *Server) Token(scopes string) string { return s.grant("xoxb-", s.BotUser, true, scopes) }

// UserToken creates a token of a user with comma-separated scopes.
func (s *Server) UserToken(user, scopes string) string { return s.grant("xoxp-", user, false, scopes) }

func (s *Server) grant(prefix, user string, bot bool, scopes string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	text := fmt.Sprintf("%s%d-secret", prefix, s.serial)
	s.tokens[text] = &token{user: user, bot: bot, scopes: strings.Split(scopes, ",")}
	return text
}

// Revoke makes calls with a token fail with an error code: token_revoked,
// token_expired or account_inactive.
func (s *Server) Revoke(token, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[token].revoked = code
}

// Fail makes the next calls of a method fail, each with one of the faults.
func (s *Server) Fail(method string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = append(s.faults[method], faults...)
}

// LimitPages sets the maximum length of all pages.
func (s *Server) LimitPages(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxPage = most
}

// Calls returns the number of calls of a method. "download" counts downloads.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Dial connects to the server. It fails for any other address.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if u, err := url.Parse(s.URL); err != nil || u.Host != address {
		return nil, fmt.Errorf("%s is not the address of the test server", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// Sign returns the headers of an event delivery.
func Sign(secret string, at time.Time, body []byte) http.Header {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":"))
	mac.Write(body)
	return http.Header{
		"Content-Type":              {"application/json"},
		"X-Slack-Request-Timestamp": {timestamp},
		"X-Slack-Signature":         {"v0=" + hex.EncodeToString(mac.Sum(nil))},
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if method, found := strings.CutPrefix(r.URL.Path, "/api/"); found {
		s.method(w, r, method)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/files-pri/") {
		s.download(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprint(w, "<!DOCTYPE html><title>Sign in | Slack</title><h1>Sign in to your workspace</h1>")
}

// call is one call of a method.
type call struct {
	server    *Server
	arguments url.Values
	token     *token
	missing   string // the missing scope
}

// answer has the fields of an answer. With "error" it is a failure.
type answer map[string]any

func refuse(code string) answer { return answer{"error": code} }

// method serves a method of the Web API.
func (s *Server) method(w http.ResponseWriter, r *http.Request, name string) {
	s.mu.Lock()
	s.calls[name]++
	var fault *Fault
	if list := s.faults[name]; len(list) > 0 {
		fault, s.faults[name] = &list[0], list[1:]
	}
	s.mu.Unlock()
	if fault != nil && fault.Hang {
		<-r.Context().Done()
		return
	}
	if fault != nil && (fault.Status != 0 || fault.Body != "") {
		if fault.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(max(fault.Status, http.StatusOK))
		body := fault.Body
		if body == "" {
			body = fmt.Sprintf(`{"ok":false,"error":%q}`, first(fault.Error, "internal_error"))
		}
		_, _ = fmt.Fprint(w, body)
		return
	}
	arguments, problem := argumentsOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	text, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		text = arguments.Get("token")
	}
	c := &call{server: s, arguments: arguments, token: s.tokens[text]}
	var out answer
	handler := methods()[name]
	switch {
	case fault != nil:
		out = refuse(fault.Error)
	case problem != "":
		out = refuse(problem)
	case handler.do == nil:
		out = answer{"error": "unknown_method", "req_method": name}
	case text == "":
		out = refuse("not_authed")
	case c.token == nil:
		out = refuse("invalid_auth")
	case c.token.revoked != "":
		out = refuse(c.token.revoked)
	case handler.scope != "" && !c.hasScope(handler.scope):
		out = c.missingScope()
	default:
		out = handler.do(c)
	}
	if c.token != nil {
		w.Header().Set("X-OAuth-Scopes", strings.Join(c.token.scopes, ","))
		w.Header().Set("X-Accepted-OAuth-Scopes", handler.scope)
	}
	out["ok"] = out["error"] == nil
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(out)
}

// argumentsOf returns the arguments of the query and of a form or JSON body.
func argumentsOf(r *http.Request) (arguments url.Values, problem string) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method == http.MethodGet:
		return r.URL.Query(), ""
	case err != nil:
		return nil, "missing_post_type"
	case kind == "application/json":
		var object map[string]any
		if json.NewDecoder(r.Body).Decode(&object) != nil {
			return nil, "invalid_json"
		}
		arguments = r.URL.Query()
		for name, value := range object {
			arguments.Set(name, fmt.Sprint(value))
		}
		return arguments, ""
	case kind == "application/x-www-form-urlencoded":
		if r.ParseForm() != nil {
			return nil, "invalid_form_data"
		}
		return r.Form, ""
	default:
		return nil, "invalid_post_type"
	}
}

// hasScope reports whether the token has a scope, and records a missing one.
func (c *call) hasScope(scope string) bool {
	if slices.Contains(c.token.scopes, scope) {
		return true
	}
	c.missing = scope
	return false
}

func (c *call) missingScope() answer {
	return answer{"error": "missing_scope", "needed": c.missing, "provided": strings.Join(c.token.scopes, ",")}
}
