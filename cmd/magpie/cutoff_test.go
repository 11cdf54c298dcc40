package main_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
)

// startEndlessModel starts a chat model whose answer never ends, and returns its URL.
func startEndlessModel(t *testing.T) string {
	t.Helper()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"small","choices":[{"index":0,"delta":{"role":"assistant","content":"Well, let me see. Well, let me see. "},"finish_reason":null}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(model.Close)
	return model.URL + "/v1"
}

// eventStream is a stream of events that a goroutine reads to its end.
type eventStream struct {
	started chan struct{} // closed at the first content
	ended   chan struct{} // closed at the end; then text and err are final
	text    strings.Builder
	err     error
}

func openStream(t *testing.T, address, body string, headers ...string) *eventStream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	o := &eventStream{started: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(o.ended)
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			o.err = err
			return
		}
		defer func() { _ = response.Body.Close() }()
		buffer, started := make([]byte, 4096), false
		for {
			n, err := response.Body.Read(buffer)
			o.text.Write(buffer[:n])
			if !started && strings.Contains(o.text.String(), "event: content") {
				started = true
				close(o.started)
			}
			if err != nil {
				if err != io.EOF {
					o.err = err
				}
				return
			}
		}
	}()
	return o
}

// A stream that is cut off by the shutdown ends with an error event, and the
// stored run has the same error.
func TestAShutdownEndsStreamsWithAnError(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t),
		"LLM_BASE_URL="+startEndlessModel(t), "LLM_MODEL=small", "ALLOWED_PRIVATE_NETWORKS=127.0.0.0/8", "SHUTDOWN_TIMEOUT=500ms")
	connector := i.uploadFiles(3)
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	var admin struct{ Password string }
	i.runJSON(&admin, "users", "create", "second@example.com", "--role", "admin")
	worker := i.start("worker")
	if j := i.startSync(connector); i.waitJob(j.ID, time.Minute, finished).Status != "COMPLETED" {
		t.Fatal("the sync failed")
	}
	worker.kill()
	server, address := i.serve()
	data, _ := graphQL(t, address, "", `mutation($in: SignInInput!) { signIn(input: $in) { accessToken } }`,
		map[string]any{"in": map[string]any{"email": "second@example.com", "password": admin.Password}})
	token, _ := data["signIn"].(map[string]any)["accessToken"].(string)
	bearer := []string{"Authorization", "Bearer " + token}
	response, created := send(t, http.MethodPost, address+"/api/v1/agents", `{"name":"Guide","systemPrompt":"You help.","allCollections":true}`, bearer...)
	var agent struct{ Data struct{ ID string } }
	if err := json.Unmarshal([]byte(created), &agent); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("creating an agent: %d %s", response.StatusCode, created)
	}
	streams := map[string]*eventStream{
		"agent stream": openStream(t, address+"/api/v1/agents/"+agent.Data.ID+"/execute/stream", `{"message":"What does page 1 say?"}`, bearer...),
		"chat stream":  openStream(t, address+"/v1/chat/stream", `{"message":"What does page 1 say about topic1?"}`, "X-Service-Key", keys.SecretKey),
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, s := range streams {
		select {
		case <-s.started:
		case <-s.ended:
			t.Fatalf("%s ended: %s %v", name, s.text.String(), s.err)
		case <-ctx.Done():
			t.Fatalf("%s has no content", name)
		}
	}
	server.signal(syscall.SIGTERM)
	server.waitExit(t, 0)
	for name, s := range streams {
		<-s.ended
		text := s.text.String()
		last := strings.LastIndex(text, "event: ")
		event, data, _ := strings.Cut(text[max(last, 0):], "\n")
		var body struct {
			Error struct{ Code, Message string }
		}
		err := json.Unmarshal([]byte(strings.TrimSpace(strings.TrimPrefix(data, "data: "))), &body)
		if s.err != nil || event != "event: error" || err != nil || body.Error.Code != "unavailable" || body.Error.Message == "" {
			t.Errorf("%s ended with %v: %s", name, s.err, text)
		}
	}
	var status, failure string
	i.query(`select status, coalesce(error, '') from agent_runs`, &status, &failure)
	if status != "FAILED" || !strings.Contains(failure, "shutting down") {
		t.Errorf("agent run: status %s, error %q", status, failure)
	}
	var events int
	i.query(`select count(*) from agent_run_events where type = 'error'`, &events)
	if events != 1 {
		t.Errorf("%d error events, want 1", events)
	}
}
