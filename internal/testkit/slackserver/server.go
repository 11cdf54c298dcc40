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
	"testing"
	"time"
)

const slackbot = "USLACKBOT"

// AllScopes are those of an app that may do all that the connector can use.
const AllScopes = "channels:read,channels:history,channels:join,groups:read,groups:history,users:read,users:read.email,files:read,team:read"

// Server is a running workspace. Its methods may be called at any time, also
// while it answers.
type Server struct {
	// URL is the server's address; the Web API is below /api.
	URL string
	// Team and Domain are the workspace's; BotUser is the account of the app.
	Team, Domain, BotUser string

	mu       sync.Mutex
	now      time.Time
	serial   int
	tokens   map[string]*access
	users    map[string]*User
	channels map[string]*channel
	files    map[string]*file
	faults   map[string][]Fault
	asked    map[string]int
	most     int
	events   [][]byte
}

// access is what a token may do.
type access struct {
	user    string
	bot     bool
	scopes  []string
	refused string
}

// Fault is what is answered in place of the real thing.
type Fault struct {
	// Error is the word of an answer {"ok": false}; with it the status is 200
	// unless Status says otherwise.
	Error string
	// Status and RetryAfter (seconds) are those of the answer, Body what it says.
	Status, RetryAfter int
	Body               string
	// Hang keeps the connection open and answers nothing until the client goes.
	Hang bool
}

// New starts a workspace that ends with the test. It has nobody in it but the app.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		Team: "T024BE7LD", Domain: "magpies", BotUser: "U0MAGPIE1", now: time.Date(2024, 5, 1, 9, 0, 0, 0, time.UTC),
		tokens: make(map[string]*access), users: make(map[string]*User), channels: make(map[string]*channel), files: make(map[string]*file),
		faults: make(map[string][]Fault), asked: make(map[string]int),
	}
	s.users[s.BotUser] = &User{ID: s.BotUser, Name: "magpie", RealName: "Magpie", Bot: true}
	s.users[slackbot] = &User{ID: slackbot, Name: "slackbot", RealName: "Slackbot", Email: "slackbot@slack.example"}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// API is the address of the Web API.
func (s *Server) API() string { return s.URL + "/api" }

// Token makes a bot token with scopes, a comma between them.
func (s *Server) Token(scopes string) string { return s.grant("xoxb-", s.BotUser, true, scopes) }

// UserToken makes a token of somebody's own.
func (s *Server) UserToken(user, scopes string) string { return s.grant("xoxp-", user, false, scopes) }

func (s *Server) grant(prefix, user string, bot bool, scopes string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	token := fmt.Sprintf("%s%d-secret", prefix, s.serial)
	s.tokens[token] = &access{user: user, bot: bot, scopes: strings.Split(scopes, ",")}
	return token
}

// Revoke has a token answered with an error from now on: token_revoked,
// token_expired, account_inactive.
func (s *Server) Revoke(token, word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[token].refused = word
}

// Fail has the next calls of a method answered with faults, one each.
func (s *Server) Fail(method string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = append(s.faults[method], faults...)
}

// Limit bounds what a page of any list holds, whatever is asked for, as Slack may.
func (s *Server) Limit(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = most
}

// Asked is how often a method was called; "download" are the files.
func (s *Server) Asked(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

// Dial connects to the server, and to it alone.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if at, err := url.Parse(s.URL); err != nil || at.Host != address {
		return nil, fmt.Errorf("the test dials %s, which is not its server", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// Sign is the header of a delivery that is made at a time.
func Sign(secret string, at time.Time, body []byte) http.Header {
	when := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + when + ":"))
	mac.Write(body)
	return http.Header{
		"Content-Type":              {"application/json"},
		"X-Slack-Request-Timestamp": {when},
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
	who       *access
	needed    string // the scope that was lacking
}

// answer is an answer's fields; a string under "error" makes it a refusal.
type answer map[string]any

func refuse(word string) answer { return answer{"error": word} }

func (s *Server) method(w http.ResponseWriter, r *http.Request, name string) {
	s.mu.Lock()
	s.asked[name]++
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
	token, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !given {
		token = arguments.Get("token")
	}
	c := &call{server: s, arguments: arguments, who: s.tokens[token]}
	var out answer
	handler := methods()[name]
	switch {
	case fault != nil:
		out = refuse(fault.Error)
	case problem != "":
		out = refuse(problem)
	case handler.do == nil:
		out = answer{"error": "unknown_method", "req_method": name}
	case token == "":
		out = refuse("not_authed")
	case c.who == nil:
		out = refuse("invalid_auth")
	case c.who.refused != "":
		out = refuse(c.who.refused)
	case handler.scope != "" && !c.may(handler.scope):
		out = c.lacking()
	default:
		out = handler.do(c)
	}
	if c.who != nil {
		w.Header().Set("X-OAuth-Scopes", strings.Join(c.who.scopes, ","))
		w.Header().Set("X-Accepted-OAuth-Scopes", handler.scope)
	}
	out["ok"] = out["error"] == nil
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(out)
}

// argumentsOf reads arguments from the query and from a form or JSON body.
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

// may says whether the token has a scope, and notes one that it lacks.
func (c *call) may(scope string) bool {
	if slices.Contains(c.who.scopes, scope) {
		return true
	}
	c.needed = scope
	return false
}

func (c *call) lacking() answer {
	return answer{"error": "missing_scope", "needed": c.needed, "provided": strings.Join(c.who.scopes, ",")}
}
