package googledrive_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
)

// plainServer answers only with the fields of the published examples, and knows no
// shared drives and no root.
func plainServer(t *testing.T, change string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		const doc = `{"kind":"drive#file","id":"1doc","name":"Plan","mimeType":"application/vnd.google-apps.document","modifiedTime":"2026-01-02T03:04:05.000Z"}`
		answer := ""
		switch path := r.URL.Path; {
		case path == "/drive/v3/files" && strings.Contains(r.URL.Query().Get("q"), "mimeType = "):
			answer = `{"kind":"drive#fileList","files":null}`
		case path == "/drive/v3/files":
			answer = `{"kind":"drive#fileList","files":[` + doc + `]}`
		case path == "/drive/v3/files/1doc":
			answer = doc
		case path == "/drive/v3/files/1doc/export":
			w.Header()["Content-Type"] = nil
			answer = "# Plan\n"
		case path == "/drive/v3/changes/startPageToken":
			answer = `{"kind":"drive#startPageToken","startPageToken":"7"}`
		case path == "/drive/v3/changes" && r.URL.Query().Get("pageToken") == "7":
			answer = `{"kind":"drive#changeList","nextPageToken":"8","newStartPageToken":"9","changes":[]}`
		case path == "/drive/v3/changes":
			answer = `{"kind":"drive#changeList","newStartPageToken":"9","changes":[` + change + `]}`
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = `{"error":{"code":404,"message":"Not Found","errors":[{"domain":"global","reason":"notFound","message":"Not Found"}]}}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestPlainAnswersSuffice(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change      string
		items, gone int
	}{
		"a file without its fields": {`{"kind":"drive#change","type":"file","fileId":"1doc","time":"2026-01-02T03:04:05Z","removed":false}`, 1, 0},
		"a file without its type":   {`{"fileId":"1doc","file":{"id":"1doc"}}`, 1, 0},
		"a missing file":            {`{"fileId":"1old"}`, 0, 1},
		"a removed file":            {`{"kind":"drive#change","removed":true,"fileId":"1old","time":"2026-01-02T03:04:05Z"}`, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := open(t, connectors.Settings{
				Config: map[string]any{"apiUrl": plainServer(t, test.change).URL + "/drive/v3"}, State: &connectortest.State{}, Token: fixedToken("t"), Credentials: map[string]string{},
			})
			feeder, _ := source.(connectors.Feeder)
			present, err := feeder.Changes(t.Context(), "")
			if err != nil || present.Next == "" {
				t.Fatalf("the present: %+v, %v", present, err)
			}
			page, err := source.Walk(t.Context(), "")
			if err != nil || !page.Done || len(page.Items) != 1 || page.Items[0].Path != "My Drive/Plan.md" {
				text, _ := json.Marshal(page)
				t.Fatalf("the walk: %s, %v", text, err)
			}
			if len(page.Warnings) != 1 || !strings.Contains(page.Warnings[0], "shared drives") {
				t.Errorf("the warnings are %q", page.Warnings)
			}
			body, err := source.Open(t.Context(), page.Items[0])
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(body); err != nil || string(text) != "# Plan\n" {
				t.Errorf("the content is %q, %v", text, err)
			}
			_ = body.Close()
			changes, err := feeder.Changes(t.Context(), present.Next)
			if err != nil || changes.Expired || len(changes.Items) != test.items || len(changes.Gone) != test.gone {
				t.Errorf("the changes are %+v, %v", changes, err)
			}
		})
	}
}

func TestAnExportLinkToAnotherHostFailsOneFile(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		if strings.HasSuffix(r.URL.Path, "/export") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":{"code":403,"message":"This file is too large to be exported.","errors":[{"domain":"global","reason":"exportSizeLimitExceeded","message":"This file is too large to be exported."}]}}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"1doc","name":"Plan","mimeType":"application/vnd.google-apps.document","modifiedTime":"2026-01-02T03:04:05.000Z",`+
			`"exportLinks":{"text/markdown":"https://docs.example.com/export?id=1doc"}}`)
	}))
	t.Cleanup(server.Close)
	source := open(t, connectors.Settings{
		Config: map[string]any{"apiUrl": server.URL + "/drive/v3"}, State: &connectortest.State{}, Token: fixedToken("t"), Credentials: map[string]string{},
	})
	_, err := source.Open(t.Context(), connectors.Item{ID: "1doc", Path: "My Drive/Plan.md", Size: -1})
	if err == nil || connectors.IsFatal(err) || connectors.IsSkip(err) || !strings.Contains(err.Error(), "too large for an export") {
		t.Errorf("the error is %v", err)
	}
}
