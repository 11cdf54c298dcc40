package googledrive_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
)

// A size or checksum that Google tells wrongly does not keep a file out, but a file that
// changed meanwhile is read at the next sync.
func TestWrongFactsOfAFileDoNotKeepItOut(t *testing.T) {
	t.Parallel()
	const listed, changed = "9e107d9d372bb6826bd81d3542a419d6", "e4d909c290d0fb1ca068ffaddf22cbd0"
	for name, now := range map[string]string{"unchanged": listed, "changed": changed} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("alt") == "media" {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, "The walrus is on call.")
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"1txt","name":"rota.txt","mimeType":"text/plain","size":"2048","md5Checksum":"`+now+`"}`)
		}))
		t.Cleanup(server.Close)
		source := open(t, connectors.Settings{Config: map[string]any{"apiUrl": server.URL}, State: &connectortest.State{}, Token: fixedToken("t"), Credentials: map[string]string{}})
		body, err := source.Open(t.Context(), connectors.Item{ID: "1txt", Path: "My Drive/rota.txt", Version: listed, Size: 2048, Metadata: map[string]string{"driveType": "text/plain"}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		_ = body.Close()
		if _, retryable := connectors.RetryAfterOf(err); retryable != (now == changed) || !retryable && string(text) != "The walrus is on call." {
			t.Errorf("%s: the content is %q, %v", name, text, err)
		}
	}
}
