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

// Comments come from the notes where there are no discussions. An issue whose comments
// are hidden is read without them.
func TestCommentsWithoutDiscussions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		notes string
		want  bool
	}{
		"notes":    {`[{"id":302,"body":"The stork says so.","author":{"name":"Pip"},"created_at":"2013-10-02T09:22:45Z","system":false,"noteable_iid":1},{"id":305,"body":"closed","system":true}]`, true},
		"no notes": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch path := r.URL.EscapedPath(); {
				case path == "/api/v4/projects/acme%2Fdocs":
					_, _ = io.WriteString(w, `{"id":4,"path_with_namespace":"acme/docs","default_branch":"main"}`)
				case path == "/api/v4/projects/4/issues/1":
					_, _ = io.WriteString(w, `{"iid":1,"title":"Slow","state":"opened","user_notes_count":1,"updated_at":"2016-01-04T15:31:51.081Z","description":null,"author":null}`)
				case strings.HasSuffix(path, "/notes") && c.notes != "":
					_, _ = io.WriteString(w, c.notes)
				default:
					w.WriteHeader(http.StatusForbidden)
					_, _ = io.WriteString(w, `{"message":"403 Forbidden"}`)
				}
			}))
			t.Cleanup(server.Close)
			source := open(t, connectors.Settings{
				Config:      map[string]any{"instanceUrl": server.URL, "projects": []any{"acme/docs"}},
				Credentials: map[string]string{"token": "t"}, State: &connectortest.State{},
			})
			text := read(t, source, connectors.Item{ID: "4:i:1", Size: -1})
			if !strings.Contains(text, "# Slow") || strings.Contains(text, "closed") || strings.Contains(text, "The stork says so.") != c.want {
				t.Errorf("the issue is %q", text)
			}
		})
	}
}

// A server without some parts of the API passes the connection test, and a name in a part
// that the account may not read is neither found nor missing.
func TestPartsThatAServerLacks(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]string{"issues": "/issues", "nothing": "/-"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch path := r.URL.EscapedPath(); {
			case path == "/api/v4/projects/acme%2Fdocs":
				_, _ = io.WriteString(w, `{"id":4,"path_with_namespace":"acme/docs","default_branch":"main"}`)
			case strings.HasSuffix(path, parts):
				_, _ = io.WriteString(w, `[]`)
			case strings.Contains(path, "/issues/"):
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `{"message":"403 Forbidden"}`)
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
		if err := source.Check(t.Context()); (err == nil) != (name == "issues") {
			t.Errorf("with %s, Check is %v", name, err)
		}
		resolver, _ := source.(connectors.Resolver)
		found, missing, err := resolver.Resolve(t.Context(), []string{"4:i:1", "4:f:a.md"})
		if err != nil || len(found) > 0 || len(missing) != 1 || missing[0] != "4:f:a.md" {
			t.Errorf("with %s, Resolve is %+v, %q, %v", name, found, missing, err)
		}
	}
}
