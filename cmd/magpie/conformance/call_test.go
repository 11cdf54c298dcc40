package conformance_test

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	searchPath = "/v1/docs/search"
	chatPath   = "/v1/chat/stream"
)

// call is a request.
type call struct {
	method, path, body string
	headers            []string // in pairs; a header may come more than once
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

func (s *site) request(t testing.TB, c call) *http.Request {
	t.Helper()
	body := io.Reader(http.NoBody)
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	r, err := http.NewRequestWithContext(t.Context(), c.method, s.url+c.path, body)
	must(t, err)
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	given := http.Header{}
	for i := 0; i < len(c.headers); i += 2 {
		given.Add(c.headers[i], c.headers[i+1])
	}
	for name, values := range given {
		r.Header[name] = values
	}
	return r
}

func (s *site) do(t testing.TB, c call) answer {
	t.Helper()
	return s.send(t, s.request(t, c))
}

func (s *site) send(t testing.TB, r *http.Request) answer {
	t.Helper()
	began := time.Now()
	response, err := s.client.Do(r)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return answer{response.StatusCode, response.Header, string(body), time.Since(began)}
}

// search asks by POST with the key that has no limit, and further headers.
func (s *site) search(t testing.TB, body string, headers ...string) answer {
	t.Helper()
	return s.post(t, searchPath, body, headers...)
}

// post sends a body to a public path. Without a key among the headers it is the
// secret one without a limit.
func (s *site) post(t testing.TB, path, body string, headers ...string) answer {
	t.Helper()
	return s.do(t, call{http.MethodPost, path, body, s.keyed(headers)})
}

// get searches by GET with a query string.
func (s *site) get(t testing.TB, query string, headers ...string) answer {
	t.Helper()
	return s.do(t, call{http.MethodGet, searchPath + "?" + query, "", s.keyed(headers)})
}

func (s *site) keyed(headers []string) []string {
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "X-Service-Key" {
			return headers
		}
	}
	return append([]string{"X-Service-Key", s.open.Secret}, headers...)
}

// rateHeaders are on every public answer.
var rateHeaders = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}

// sound checks what every answer of the public surface has to have.
func sound(t testing.TB, what string, a answer) {
	t.Helper()
	if a.header.Get("X-Request-Id") == "" {
		t.Errorf("%s: no X-Request-Id", what)
	}
	for _, name := range rateHeaders {
		if _, err := strconv.ParseInt(a.header.Get(name), 10, 64); err != nil {
			t.Errorf("%s: %s is %q", what, name, a.header.Get(name))
		}
	}
	if got := a.header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("%s: X-Content-Type-Options is %q", what, got)
	}
}

// refused checks an error to the letter: the status, the whole body and the
// headers of every public answer. An empty message is any.
func refused(t testing.TB, what string, a answer, status int, code, message string) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s: answered %d, not %d: %.300s", what, a.status, status, a.body)
		return
	}
	sound(t, what, a)
	if got := a.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("%s: Content-Type is %q", what, got)
	}
	var body map[string]map[string]string
	decoder := json.NewDecoder(strings.NewReader(a.body))
	if err := decoder.Decode(&body); err != nil || decoder.More() {
		t.Errorf("%s: %q is no JSON object of objects of strings: %v", what, a.body, err)
		return
	}
	inner := body["error"]
	if len(body) != 1 || len(inner) != 2 || inner["code"] != code || inner["message"] == "" || message != "" && inner["message"] != message {
		t.Errorf("%s: got %s, want the code %q and the message %q", what, a.body, code, message)
	}
	if (a.header.Get("Retry-After") != "") != (status == http.StatusTooManyRequests) {
		t.Errorf("%s: Retry-After is %q on %d", what, a.header.Get("Retry-After"), status)
	}
}

// invalid checks a 400 whose message begins with the name of a field.
func invalid(t testing.TB, what string, a answer, field string) {
	t.Helper()
	refused(t, what, a, http.StatusBadRequest, "invalid_request", "")
	if !strings.HasPrefix(message(a), field+": ") {
		t.Errorf("%s: the message %q does not name %s", what, message(a), field)
	}
}

func message(a answer) string {
	var body struct{ Error struct{ Message string } }
	_ = json.Unmarshal([]byte(a.body), &body)
	return body.Error.Message
}

// results is the body of a search.
type results struct {
	Data struct {
		Results []struct {
			ID         string
			DocumentID string `json:"document_id"`
			Title      string
			Snippet    string
			Score      float64
		}
		Total, Limit, Offset int
		TookMS               *float64 `json:"took_ms"`
	}
}

// found checks that an answer is a search's, and reads it.
func found(t testing.TB, what string, a answer) results {
	t.Helper()
	var r results
	if a.status != http.StatusOK {
		t.Fatalf("%s: answered %d: %.300s", what, a.status, a.body)
	}
	sound(t, what, a)
	if got := a.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("%s: Content-Type is %q", what, got)
	}
	if err := json.Unmarshal([]byte(a.body), &r); err != nil || r.Data.Results == nil || r.Data.TookMS == nil {
		t.Fatalf("%s: %.300s: %v", what, a.body, err)
	}
	return r
}

// titles of the results, without repetition.
func (r results) titles() []string {
	var out []string
	seen := map[string]bool{}
	for _, one := range r.Data.Results {
		if !seen[one.Title] {
			seen[one.Title] = true
			out = append(out, one.Title)
		}
	}
	return out
}

// signed makes the headers of a signature as a client does.
func signed(secret, body string, at time.Time) []string {
	return signedAs(secret, strconv.FormatInt(at.UnixMilli(), 10), body)
}

func signedAs(secret, timestamp, body string) []string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, timestamp+"."+body)
	return []string{"X-Service-Key", secret, "X-Service-Timestamp", timestamp, "X-Service-Signature", hex.EncodeToString(mac.Sum(nil))}
}

// raw writes bytes to the server's socket and reads one answer: for requests
// that an HTTP client does not send.
func (s *site) raw(t testing.TB, method, text string) answer {
	t.Helper()
	address, err := url.Parse(s.url)
	must(t, err)
	began := time.Now()
	connection, err := (&net.Dialer{Timeout: time.Minute}).DialContext(t.Context(), "tcp", address.Host)
	must(t, err)
	defer func() { _ = connection.Close() }()
	must(t, connection.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(connection, text)
	must(t, err)
	response, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: method})
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	must(t, err)
	return answer{response.StatusCode, response.Header, body.String(), time.Since(began)}
}

// line is a raw request without a body, with the key that has no limit.
func (s *site) line(method, target string, headers ...string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: magpie\r\nConnection: close\r\nX-Service-Key: " + s.open.Secret + "\r\n" +
		strings.Join(append(headers, ""), "\r\n") + "\r\n"
}
