package run_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/internal/apierr"
)

func TestARunShowsWhereAnAccountIsConnected(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	id := uuid.New()
	needs := func(name, url string) loop.Tool {
		return loop.Tool{Name: name, Description: "Needs an account.", Schema: json.RawMessage(`{"type":"object"}`), Call: func(context.Context, json.RawMessage) (loop.Result, error) {
			return loop.Result{}, &loop.AuthRequiredError{Integration: id, Name: "Tracker", URL: url, Err: apierr.New(apierr.Unauthorized, "Tracker needs to be connected.")}
		}}
	}
	const link = "https://auth.example.com/authorize?state=s3cret"
	h.tools.tools = []loop.Tool{needs("mine", link), needs("shared", "")}
	runs := h.newRuns(t, nil, callReply("mine", `{}`), callReply("shared", `{}`), textReply("Connect the tracker."))
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	all := collect(t, events, 0)
	if got := eventTypes(all); got != "run_start iteration iteration tool_call auth_required tool_result iteration iteration tool_call auth_required tool_result iteration iteration content run_complete" {
		t.Errorf("events: %s", got)
	}
	var told []run.AuthRequired
	for _, e := range all {
		if e.Type == run.TypeAuth {
			var d run.AuthRequired
			if err := json.Unmarshal(e.Data, &d); err != nil {
				t.Fatal(err)
			}
			told = append(told, d)
		} else if strings.Contains(string(e.Data), "s3cret") {
			t.Errorf("%s has the address: %s", e.Type, e.Data)
		}
	}
	if len(told) != 2 || told[0].IntegrationID != id || told[0].Name != "Tracker" || told[0].AuthorizationURL == nil || *told[0].AuthorizationURL != link ||
		told[0].CallID == "" || told[1].AuthorizationURL != nil {
		t.Errorf("the run shows %+v", told)
	}
	if done, err := runs.Get(h.ada, row.ID); err != nil || done.Answer != "Connect the tracker." {
		t.Errorf("%+v, %v", done, err)
	}
}
