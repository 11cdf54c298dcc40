package rest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/rest"
)

// chunked hides the length of a body, so that it is sent in chunks.
type chunked struct{ io.Reader }

func TestBodiesOverTheLimitAreRejectedWithAndWithoutALength(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	server := httptest.NewServer(h.http)
	defer server.Close()
	for _, c := range []struct {
		size int
		want int
	}{{1 << 20, 400}, {1<<20 + 1, 413}, {3 << 20, 413}} {
		for _, known := range []bool{true, false} {
			var body io.Reader = bytes.NewReader(bytes.Repeat([]byte{' '}, c.size))
			if !known {
				body = chunked{body}
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/docs/search", body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Service-Key", secretKey)
			r.Header.Set("Content-Type", "application/json")
			answer, err := server.Client().Do(r)
			if err != nil {
				t.Fatalf("%d bytes, length known %v: %v", c.size, known, err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != c.want {
				t.Errorf("%d bytes, length known %v: %d, want %d", c.size, known, answer.StatusCode, c.want)
			}
		}
	}
}

func TestCompressedBodiesAreRejected(t *testing.T) {
	t.Parallel()
	got := refusalOf(t, newFixture(t).send(search("X-Service-Key", secretKey, "Content-Encoding", "gzip")))
	if got.status != 415 {
		t.Errorf("got %+v", got)
	}
}

func TestErrorsOfMalformedBodiesHaveAPosition(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for body, want := range map[string]string{
		"{":                                 "body: malformed JSON at byte 1 (line 1, column 1): it ends too early",
		"{\n\"a\": }":                       "body: malformed JSON at byte 8 (line 2, column 6): invalid character '}' looking for beginning of value",
		`{"query":"a"} {}`:                  "body: must be one JSON object; there is more after it, at byte 15 (line 1, column 15)",
		"{\"query\":\"\xff\"}":              "body: must be UTF-8 text",
		`null`:                              "body: must be a JSON object",
		`{"query":"a\u0000"}`:               "query: must not contain the character U+0000",
		`{"query":"a","limit":"1"}`:         "limit: must be a whole number",
		`{"query":"a","limit":1.5}`:         "limit: must be a whole number",
		`{"query":"a","limit":1e400}`:       "limit: is out of range",
		`{"query":"a","offset":4294967296}`: "offset: must be 0 or more, and at most 2147483647",
		`{"query":"a","offset":-1}`:         "offset: must be 0 or more, and at most 2147483647",
		`{"query":"a","min_score":1.01}`:    "min_score: must be between 0 and 1",
		`{"query":"a","highlight":"true"}`:  "highlight: must be true or false",
		`{"query":"a","collection":7}`:      "collection: must be a UUID",
		`{"query":"a","collection":"{018f0000-0000-8000-8000-00000000c011}"}`: "collection: must be a UUID",
		`{"query":"a","filters":[]}`:                                          "filters: must be an object",
		strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000):     "body: malformed JSON at byte 100000 (line 1, column 100000): it ends too early",
	} {
		got := refusalOf(t, h.send(request(http.MethodPost, "/v1/docs/search", body, "X-Service-Key", secretKey)))
		if got.code != "invalid_request" || got.message != want && len(body) < 1000 {
			t.Errorf("%.60q: got %+v, want %q", body, got, want)
		}
	}
}

func TestUploadsAreLimitedAndRemoveTheirFiles(t *testing.T) {
	t.Parallel()
	const mebi = 1 << 20
	content := strings.Repeat("0123456789abcdef", mebi/16)
	for name, c := range map[string]struct {
		parts  []formPart
		want   int
		called string
	}{
		"small":              {[]formPart{{"files", "a.md", "a"}}, 201, `"size":1,`},
		"empty":              {[]formPart{{"files", "a.md", ""}}, 201, `"size":0,`},
		"on disk":            {[]formPart{{"files", "a.md", content}, {"files[]", "../../b.md", "b"}}, 201, `"filename":"b.md","read":1`},
		"as large as may be": {[]formPart{{"files", "a.md", content + content}}, 201, `"read":2097152,"size":2097152`},
		"too large":          {[]formPart{{"files", "a.md", content + content + "x"}}, 413, ""},
		"too large in all":   {[]formPart{{"files", "a.md", content + content}, {"files", "b.md", content + content}}, 413, ""},
		"too many":           {[]formPart{{"files", "1", "1"}, {"files", "2", "2"}, {"files", "3", "3"}, {"files", "4", "4"}}, 413, ""},
		"no name":            {[]formPart{{"files", "", "a"}}, 400, ""},
		"long path":          {[]formPart{{"files", "a", "a"}, {"paths", "", strings.Repeat("p", 5000)}}, 400, ""},
		"broken path":        {[]formPart{{"files", "a", "a"}, {"paths", "", "a\x00"}}, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			h := newFixture(t, func(o *rest.Options) {
				o.UploadDir, o.Limits.File, o.Limits.Files, o.Limits.Upload = dir, 2*mebi, 3, 3*mebi
			})
			body, kind := multipartBody(c.parts)
			for _, known := range []bool{true, false} {
				h.calls = nil
				r := request(http.MethodPost, "/api/v1/connectors/"+connectorID+"/files/upload", body, "Authorization", "Bearer session", "Content-Type", kind)
				if !known {
					r.ContentLength = -1
				}
				answer := h.send(r)
				if answer.Code != c.want {
					t.Errorf("length known %v: %d %s", known, answer.Code, answer.Body)
				}
				if called := fmt.Sprint(h.calls); !strings.Contains(called, c.called) || c.want >= 400 && len(h.calls) > 0 {
					t.Errorf("the resolver saw %s", called)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

func TestATruncatedUploadStoresNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	body, kind := multipartBody([]formPart{{"files", "a.md", "first"}, {"files", "b.md", "second"}})
	for end := range len(body) - len("--\r\n") {
		answer := h.send(request(http.MethodPost, "/api/v1/connectors/"+connectorID+"/files/upload", body[:end], "Authorization", "Bearer session", "Content-Type", kind))
		if answer.Code != 400 {
			t.Fatalf("cut off at %d: %d %s", end, answer.Code, answer.Body)
		}
	}
	if len(h.calls) > 0 {
		t.Errorf("the resolver saw %v", h.calls)
	}
}

func TestTheSessionOfAnUploadIsCheckedBeforeItsBodyIsRead(t *testing.T) {
	t.Parallel()
	body := &watched{Reader: strings.NewReader("--frontier\r\n")}
	r := httptest.NewRequest(http.MethodPost, "/api/v1/connectors/"+connectorID+"/files/upload", body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=frontier")
	if answer := newFixture(t).send(r); answer.Code != 401 || body.read {
		t.Errorf("%d, body read %v", answer.Code, body.read)
	}
}

// watched records whether it was read.
type watched struct {
	io.Reader
	read bool
}

func (w *watched) Read(b []byte) (int, error) {
	w.read = true
	return w.Reader.Read(b)
}
