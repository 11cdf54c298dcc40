package connectortest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sampleModel = `{"source": "a sample", "version": "1", "bases": ["/v1/"], "operations": [
	{"method": "GET", "path": "/v1/files", "query": ["page", "fields"], "required": ["page"], "fields": {"fields": ["next", "files", "files.id", "files.owner", "files.owner.name"]}},
	{"method": "GET", "path": "/v1/files/{id}"},
	{"method": "GET", "path": "/v1/files/{id}/root:/{path*}"},
	{"method": "POST", "path": "/v1/files", "body": ["name"]},
	{"method": "POST", "path": "/v1/$batch", "body": ["requests"], "batch": true}]}`

func TestRequestsAreHeldAgainstTheModel(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "published.json")
	if err := os.WriteFile(file, []byte(sampleModel), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	for request, want := range map[string]string{
		"GET /v1/files?page=1":                                                 "",
		"GET /gateway/v1/files?page=1":                                         "",
		"GET /v1/files?page=1&fields=next,files(id,owner(name))":               "",
		"GET /v1/files/a%2Fb":                                                  "",
		"GET /v1/files/7/root:/a/b.md":                                         "",
		"POST /v1/files {\"name\":\"a\"}":                                      "",
		"GET /token?x=1":                                                       "",
		`POST /v1/$batch {"requests":[{"method":"GET","url":"/files/7"}]}`:     "",
		`POST /v1/$batch {"requests":[{"method":"GET","url":"/files/7?x=1"}]}`: `no query parameter "x"`,
		"GET /v1/files":                                                        `requires the query parameter "page"`,
		"GET /v1/files?page=1&limit=2":                                         `no query parameter "limit"`,
		"GET /v1/files?page=1&fields=files(id,owner(mail))":                    `no field "files.owner.mail"`,
		"GET /v1/files/7/8":                                                    "no operation",
		"DELETE /v1/files/7":                                                   "no operation",
		"GET /v2/files/7":                                                      "no operation",
		"POST /v1/files {\"title\":\"a\"}":                                     `no property "title"`,
		"GET /v1/files/7 {\"name\":\"a\"}":                                     "has no body",
	} {
		target, body, _ := strings.Cut(request, " {")
		method, uri, _ := strings.Cut(target, " ")
		if body != "" {
			body = "{" + body
		}
		recorder := &errorRecorder{TB: t}
		transport := &http.Transport{DialContext: PublishedDial(recorder, new(net.Dialer).DialContext, file, "^/token$")}
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+uri, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		transport.CloseIdleConnections()
		if got := strings.Join(recorder.errors, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: the error is %q, want %q", request, got, want)
		}
	}
}

// An errorRecorder collects the errors of a test.
type errorRecorder struct {
	testing.TB
	errors []string
}

func (r *errorRecorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
