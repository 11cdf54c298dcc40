package rest_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkAnswer fails the test for a server error or a response that is not JSON.
func checkAnswer(t *testing.T, answer *httptest.ResponseRecorder) {
	t.Helper()
	if answer.Code >= 500 {
		t.Fatalf("answered %d: %s", answer.Code, answer.Body)
	}
	if answer.Code >= 400 {
		refused := refusalOf(t, answer)
		if refused.code == "" || refused.message == "" || !utf8.ValidString(refused.message) {
			t.Fatalf("the error says %+v", refused)
		}
	}
	if answer.Header().Get("X-Request-Id") == "" {
		t.Fatal("the answer has no X-Request-Id")
	}
}

func FuzzPaths(f *testing.F) {
	for _, path := range []string{"/v1/docs/search", "/api/v1/connectors/test", "/api/v1/collections/" + collectionID, "/api/v1/connectors/%7Bid%7D/sync/%2F", "/v1/%", "/api/v1//", "/v1/docs/search/..", "/api/v1/connectors/\x00/test"} {
		for _, method := range []string{"GET", "POST", "DELETE", "BREW", ""} {
			f.Add(method, path)
		}
	}
	h := newFixture(f)
	f.Fuzz(func(t *testing.T, method, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/v1/") && !strings.HasPrefix(u.Path, "/api/v1/") {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Method, r.URL = method, u
		r.Header.Set("Authorization", "Bearer session")
		r.Header.Set("X-Service-Key", freeKey)
		checkAnswer(t, h.send(r))
	})
}

func FuzzSearchQueryStrings(f *testing.F) {
	for _, raw := range []string{"query=q", "query=q&filters[tags]=a&filters[tags][]=b", "query=q&filters={}", "query=q&filters=[", "query=%ff&limit=1e1", "limit=-0&offset=9e99&min_score=-1", "query=q&filters[]=x&filters[tags", "query=a;b"} {
		f.Add(raw)
	}
	h := newFixture(f)
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/docs/search", nil)
		r.URL.RawQuery = raw
		r.Header.Set("X-Service-Key", freeKey)
		checkAnswer(t, h.send(r))
		r = httptest.NewRequest(http.MethodGet, "/api/v1/connectors/"+connectorID+"/documents", nil)
		r.URL.RawQuery = raw
		r.Header.Set("Authorization", "Bearer session")
		checkAnswer(t, h.send(r))
	})
}

func FuzzBodies(f *testing.F) {
	for _, raw := range []string{`{"query":"q","filters":{"tags":["a"]}}`, `{"name":"n","type":"s3","collection":"` + collectionID + `","config":{"a":[{}]},"doc_sync":{"schedule_interval":"1h"}}`,
		`{"sync_mode":"full","file_filter":[]}`, `{"message":"x","conversation_id":null}`, `{"paths":["a"]}`, `[`, `"`, `{"limit":1e999}`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(raw))
	}
	h := newFixture(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 || bytes.Contains(raw, []byte(`fault`)) || bytes.Contains(raw, []byte(`busy`)) {
			return // failures of the fixture
		}
		for _, target := range []string{
			"POST /v1/docs/search", "POST /v1/chat/stream", "POST /api/v1/auth/login", "POST /api/v1/connectors", "PATCH /api/v1/connectors/" + connectorID,
			"POST /api/v1/connectors/" + connectorID + "/sync", "DELETE /api/v1/connectors/" + connectorID + "/files", "PUT /api/v1/collections/" + collectionID,
		} {
			method, path, _ := strings.Cut(target, " ")
			checkAnswer(t, h.send(request(method, path, string(raw), "X-Service-Key", freeKey, "Authorization", "Bearer session")))
		}
	})
}

func FuzzSignatures(f *testing.F) {
	good := sign(signedKey, searchBody, now())
	f.Add(good[1], good[3], searchBody)
	f.Add("-1", "zz", "{}")
	f.Add("99999999999999999999", strings.Repeat("0", 64), "")
	h := newFixture(f)
	f.Fuzz(func(t *testing.T, timestamp, signature, body string) {
		answer := h.send(request(http.MethodPost, "/v1/docs/search", body, "X-Service-Key", signedKey, "X-Service-Timestamp", timestamp, "X-Service-Signature", signature))
		if strings.Contains(body, "fault") || strings.Contains(body, "busy") || answer.Code == 429 {
			return
		}
		checkAnswer(t, answer)
		if answer.Code == 200 && (timestamp != good[1] || !strings.EqualFold(signature, good[3]) || body != searchBody) {
			t.Fatalf("accepted %q %q %q", timestamp, signature, body)
		}
	})
}

func FuzzUploads(f *testing.F) {
	whole, kind := multipartBody([]formPart{{"files", "a.md", "a"}, {"paths", "", "b/a.md"}})
	f.Add([]byte(whole), kind)
	f.Add([]byte("--frontier--"), kind)
	f.Add([]byte("--frontier\r\nContent-Disposition: form-data; name=files; filename*=UTF-8''%ff\r\n\r\n\r\n--frontier--"), kind)
	f.Add([]byte(""), "multipart/form-data; boundary=")
	h := newFixture(f)
	f.Fuzz(func(t *testing.T, raw []byte, kind string) {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/connectors/"+connectorID+"/files/upload", bytes.NewReader(raw))
		r.Header.Set("Authorization", "Bearer session")
		r.Header.Set("Content-Type", kind)
		checkAnswer(t, h.send(r))
	})
}

func FuzzForwardedAddresses(f *testing.F) {
	for _, hop := range []string{"", "1.2.3.4", "[::1]:80", "::ffff:1.2.3.4", ",,,", "fe80::1%eth0", "1.2.3.4, x"} {
		f.Add(hop, "10.0.0.1:9")
	}
	h := newFixture(f, trusting)
	f.Fuzz(func(t *testing.T, forwarded, remote string) {
		r := request(http.MethodGet, "/v1/docs/search?query=q", "", "X-Service-Key", publishableKey, "Origin", "https://docs.example.com", "X-Forwarded-For", forwarded)
		r.RemoteAddr = remote
		if answer := h.send(r); answer.Code != 200 && answer.Code != 429 {
			t.Fatalf("answered %d", answer.Code)
		}
	})
}
