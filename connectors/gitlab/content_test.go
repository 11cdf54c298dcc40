package gitlab_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
)

// The version of a file need not be the SHA-1 of its content, as in repositories with
// SHA-256.
func TestFilesWithOtherHashesAreRead(t *testing.T) {
	t.Parallel()
	const listed = "79f7bbd25901e8334750839545a9bd021f0e4c83"
	for name, c := range map[string]struct {
		blob, again string
		fails       bool
	}{
		"the same":       {listed, "hello", false},
		"not told":       {"", "hello", false},
		"changed":        {"cafe" + listed[4:], "hello", true},
		"not twice":      {listed, "hallo", true},
		"empty, at last": {listed, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var raw atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch path := r.URL.EscapedPath(); {
				case path == "/api/v4/projects/acme%2Fdocs":
					_, _ = io.WriteString(w, `{"id":4,"path_with_namespace":"acme/docs","default_branch":"main"}`)
				case strings.HasSuffix(path, "/raw"):
					w.Header().Set("Content-Type", "text/plain")
					text := "hello"
					if raw.Add(1) > 1 {
						text = c.again
					}
					_, _ = io.WriteString(w, text)
				case strings.Contains(path, "/files/") && c.blob != "":
					_, _ = io.WriteString(w, `{"file_name":"a.md","file_path":"a.md","size":1476,"ref":"main","blob_id":"`+c.blob+`"}`)
				default:
					w.WriteHeader(http.StatusNotFound)
					_, _ = io.WriteString(w, `{"message":"404 Not Found"}`)
				}
			}))
			t.Cleanup(server.Close)
			source := open(t, connectors.Settings{
				Config:      map[string]any{"instanceUrl": server.URL, "projects": []any{"acme/docs"}},
				Credentials: map[string]string{"token": "t"}, State: &connectortest.State{},
			})
			body, err := source.Open(t.Context(), connectors.Item{ID: "4:f:a.md", Version: listed, Size: -1})
			if _, retryable := connectors.RetryAfterOf(err); retryable != c.fails {
				t.Fatalf("the error is %v", err)
			}
			if c.fails {
				return
			}
			if text, err := io.ReadAll(body); err != nil || string(text) != "hello" {
				t.Errorf("the content is %q, %v", text, err)
			}
			_ = body.Close()
		})
	}
}
