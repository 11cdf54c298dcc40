package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/client"
	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

func TestTheClientWorksWithAMagpie(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	session := signIn(t, m.URL)
	made, err := session.CreateCollectionWithResponse(t.Context(), client.CreateCollectionRequest{Name: "Handbook"})
	if err != nil {
		t.Fatal(err)
	}
	collection := made.JSON201.Data.Id
	connector, err := session.CreateConnectorWithResponse(t.Context(), client.CreateConnectorRequest{Name: "Files", Type: "file_upload", Collection: collection})
	if err != nil {
		t.Fatal(err)
	}
	if status := m.Upload(connector.JSON201.Data.Id.String(), map[string]string{
		"restore.md": "# Restore a backup\n\nTo restore a backup, stop the server first, then run magpie restore.",
	}); status != "COMPLETED" {
		t.Fatalf("the sync ended with %s", status)
	}
	key, err := session.CreateAPIKeyWithResponse(t.Context(), client.CreateAPIKeyRequest{
		Name: "Test", AllowedHosts: []string{"*"}, AllowAllCollections: new(true), DefaultCollection: &collection,
	})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := searchAndAsk(t.Context(), &out, m.URL, key.JSON201.Data.SecretKey); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "Restore a backup\n") || !strings.Contains(got, "stop the server first") {
		t.Errorf("found and answered:\n%s", got)
	}
	stranger, err := client.New(m.URL, "svc_sk_unknown")
	if err != nil {
		t.Fatal(err)
	}
	var failed *client.ResponseError
	if _, err := stranger.SearchDocsWithResponse(t.Context(), client.SearchDocsRequest{Query: "backup"}); !errors.As(err, &failed) ||
		failed.Status != http.StatusUnauthorized || failed.Code != "invalid_key" || failed.RequestID == "" {
		t.Errorf("an unknown key: %v", err)
	}
	for _, err := range stranger.Chat(t.Context(), client.StreamChatRequest{Message: "backup?"}) {
		if !errors.As(err, &failed) || failed.Code != "invalid_key" {
			t.Errorf("a question with an unknown key: %v", err)
		}
	}
}

// signIn returns a client of the owner.
func signIn(t *testing.T, url string) *client.API {
	t.Helper()
	stranger, err := client.New(url, "")
	if err != nil {
		t.Fatal(err)
	}
	in, err := stranger.SignInWithResponse(t.Context(), nil, client.SignInRequest{Email: stacktest.Email, Password: stacktest.Password})
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.New(url, in.JSON200.Data.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func TestAnswersThatBreakOffAreErrors(t *testing.T) {
	t.Parallel()
	done := `{"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2},"conversation_id":"018f3c2a-5b7e-8a91-b0c4-2d6e8f0a1b3c"}`
	for name, c := range map[string]struct{ kind, body, content, problem string }{
		"complete":       {"text/event-stream", ": hello\n\nevent: content\ndata: {\"delta\":\ndata: \"a\"}\n\nevent: new\ndata: 1\n\nevent: done\ndata: " + done + "\n\n", "a", ""},
		"without end":    {"text/event-stream", "event: content\ndata: {\"delta\":\"a\"}\n\n", "a", "broke off"},
		"half an event":  {"text/event-stream", "event: content\ndata: {\"del", "", "unexpected EOF"},
		"wrong data":     {"text/event-stream", "event: content\ndata: 1\n\n", "", "decode the event content"},
		"an error":       {"text/event-stream", "event: error\ndata: {\"error\":{\"code\":\"unavailable\",\"message\":\"Try again\"}}\n\n", "", "Try again (unavailable"},
		"another format": {"text/html", "<p>", "", `"text/html" instead of`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			_, _ = w.Write([]byte(c.body))
		}))
		api, err := client.New(server.URL, "key", client.WithHTTPClient(server.Client()))
		if err != nil {
			t.Fatal(err)
		}
		content, problem := "", ""
		for part, err := range api.Chat(context.Background(), client.StreamChatRequest{Message: "a"}) {
			if content += part.Content; err != nil {
				problem = err.Error()
			}
		}
		server.Close()
		if content != c.content || !strings.Contains(problem, c.problem) || problem != "" && c.problem == "" {
			t.Errorf("%s: %q, %s", name, content, problem)
		}
	}
}
