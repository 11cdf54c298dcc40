package main_test

import (
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

// endless is a chat model that begins to answer and never ends.
func endless(t *testing.T) string {
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

// opened is a stream of events that is read to its end.
type opened struct {
	began chan struct{} // closed with the first content
	ended chan struct{}
	text  strings.Builder // once ended
	err   error
}

func open(t *testing.T, address, body string, headers ...string) *opened {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	o := &opened{began: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(o.ended)
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			o.err = err
			return
		}
		defer func() { _ = response.Body.Close() }()
		part, begun := make([]byte, 4096), false
		for {
			n, err := response.Body.Read(part)
			o.text.Write(part[:n])
			if !begun && strings.Contains(o.text.String(), "event: content") {
				begun = true
				close(o.began)
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

// Streams that do not end by themselves when the process stops are told so, and
// what is kept of a run says the same.
func TestStreamsThatAStopCutsOffEndWithAnError(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t),
		"LLM_BASE_URL="+endless(t), "LLM_MODEL=small", "ALLOWED_PRIVATE_NETWORKS=127.0.0.0/8", "SHUTDOWN_TIMEOUT=500ms")
	connector := i.corpus(3)
	var keys struct{ SecretKey string }
	i.read(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	var admin struct{ Password string }
	i.read(&admin, "users", "create", "second@example.com", "--role", "admin")
	worker := i.start("worker")
	if j := i.startSync(connector); i.until(j.ID, time.Minute, ended).Status != "COMPLETED" {
		t.Fatal("the documents are not there")
	}
	worker.kill()
	server, address := i.listens()
	data, _ := operate(t, address, "", `mutation($in: SignInInput!) { signIn(input: $in) { accessToken } }`,
		map[string]any{"in": map[string]any{"email": "second@example.com", "password": admin.Password}})
	token, _ := data["signIn"].(map[string]any)["accessToken"].(string)
	bearer := []string{"Authorization", "Bearer " + token}
	response, made := send(t, http.MethodPost, address+"/api/v1/agents", `{"name":"Guide","systemPrompt":"You help.","allCollections":true}`, bearer...)
	var agent struct{ Data struct{ ID string } }
	if err := json.Unmarshal([]byte(made), &agent); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("an agent: %d %s", response.StatusCode, made)
	}
	streams := map[string]*opened{
		"an agent's stream": open(t, address+"/api/v1/agents/"+agent.Data.ID+"/execute/stream", `{"message":"What does page 1 say?"}`, bearer...),
		"a chat's stream":   open(t, address+"/v1/chat/stream", `{"message":"What does page 1 say about topic1?"}`, "X-Service-Key", keys.SecretKey),
	}
	for what, s := range streams {
		select {
		case <-s.began:
		case <-s.ended:
			t.Fatalf("%s ended: %s %v", what, s.text.String(), s.err)
		case <-time.After(time.Minute):
			t.Fatalf("%s does not begin", what)
		}
	}
	server.signal(syscall.SIGTERM)
	server.ends(t, 0)
	for what, s := range streams {
		<-s.ended
		text := s.text.String()
		at := strings.LastIndex(text, "event: ")
		name, rest, _ := strings.Cut(text[max(at, 0):], "\n")
		var body struct {
			Error struct{ Code, Message string }
		}
		err := json.Unmarshal([]byte(strings.TrimSpace(strings.TrimPrefix(rest, "data: "))), &body)
		if s.err != nil || name != "event: error" || err != nil || body.Error.Code != "unavailable" || body.Error.Message == "" {
			t.Errorf("%s ended with %v: %s", what, s.err, text)
		}
	}
	var status, failure string
	i.query(`select status, coalesce(error, '') from agent_runs`, &status, &failure)
	if status != "FAILED" || !strings.Contains(failure, "shutting down") {
		t.Errorf("the run is %s: %q", status, failure)
	}
	var events int
	i.query(`select count(*) from agent_run_events where type = 'error'`, &events)
	if events != 1 {
		t.Errorf("the run has %d error events", events)
	}
}
