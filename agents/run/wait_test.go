package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

// post is an acting tool that records its calls. Calls wait for hold, if it is set.
type post struct {
	mu     sync.Mutex
	made   []string
	begun  chan struct{}
	hold   chan struct{}
	policy policy.Policy
}

func (p *post) tool() loop.Tool {
	return loop.Tool{
		Name: "post", Description: "posts", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`), Risk: policy.Send,
		Policy: func(json.RawMessage) policy.Policy { return p.policy },
		Preview: func(context.Context, json.RawMessage) (loop.Preview, error) {
			return loop.Preview{Title: "Post it", Text: "It is **posted**."}, nil
		},
		Call: func(ctx context.Context, arguments json.RawMessage) (loop.Result, error) {
			p.mu.Lock()
			p.made = append(p.made, string(arguments))
			p.mu.Unlock()
			if p.hold != nil {
				p.begun <- struct{}{}
				<-p.hold
			}
			return loop.Result{Text: "posted", Summary: "posted"}, nil
		},
	}
}

func (p *post) calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.made)
}

func postReply(id, text string) llmtest.Reply {
	r := callReply("post", fmt.Sprintf(`{"text":%q}`, text))
	r.Calls[0].ID = id
	r.Parts = []string{"I post it."}
	return r
}

// continueQueued delivers the tasks of queued runs to a process.
func continueQueued(t testing.TB, runs *run.Runs) {
	t.Helper()
	tasks, err := runs.Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if err := runs.Continue(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
}

// until reads events up to one of a type.
func until(t testing.TB, events <-chan run.Event, last string) []run.Event {
	t.Helper()
	var out []run.Event
	for e := range events {
		if out = append(out, e); e.Type == last {
			return out
		}
	}
	t.Fatalf("no %s: %s", last, describe(out))
	return nil
}

// status waits until a run has a status.
func (h *fixture) status(t testing.TB, id uuid.UUID, want agentrun.Status) *ent.AgentRun {
	t.Helper()
	var row *ent.AgentRun
	eventually(t, "the run is "+string(want), func() bool {
		var err error
		if row, err = h.db.Ent.AgentRun.Get(h.ada, id); err != nil {
			t.Fatal(err)
		}
		return row.Status == want
	})
	return row
}

func (h *fixture) asked(t testing.TB, row *ent.AgentRun) *ent.Approval {
	t.Helper()
	a, err := h.db.Ent.Approval.Query().Where(entapproval.RunID(row.ID), entapproval.StatusEQ(entapproval.StatusPending)).Only(h.ada)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (h *fixture) decide(t testing.TB, a *ent.Approval, d approval.Decision) {
	t.Helper()
	if _, err := h.approvals.Decide(h.ada, a.ID, d, entapproval.DecidedViaDashboard); err != nil {
		t.Fatal(err)
	}
}

func TestARunWaitsWithoutAProcessAndGoesOnInAnother(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	p := &post{policy: policy.Ask}
	h.tools.tools = []loop.Tool{p.tool()}
	first := h.newRuns(t, nil, llmtest.Reply{
		Parts: []string{"From the guide [1]. I post it."}, Calls: append(callReply("search_documents", `{"query":"backup"}`).Calls, postReply("c9", "secret words").Calls...), Usage: &[2]int{100, 10},
	})
	row, events := start(h.ada, t, first, run.Input{Agent: h.agent.ID, Message: "Go"})
	seen := until(t, events, run.TypeWaiting)
	waiting := h.status(t, row.ID, agentrun.StatusWaiting)
	if waiting.WaitingSince == nil || waiting.PromptTokens != 100 || waiting.ToolCalls != 2 || !run.IsOpen(waiting) {
		t.Errorf("%+v", waiting)
	}
	var state []byte
	if err := h.db.Pool.QueryRow(t.Context(), "select state from agent_run_states where run_id = $1", row.ID).Scan(&state); err != nil || strings.Contains(string(state), "secret words") {
		t.Errorf("the state is not sealed: %q, %v", state, err)
	}
	first.Close() // the follower goes with it
	if got := eventTypes(seen); got != "run_start iteration iteration content iteration tool_call tool_call tool_result approval_required run_waiting" {
		t.Errorf("events: %s", got)
	}
	a := h.asked(t, row)
	if a.Tool != "post" || a.Title != "Post it" || a.Arguments != `{"text":"secret words"}` || a.Risk != entapproval.RiskSend || !strings.Contains(a.Reason, "I post it") || p.calls() != 0 {
		t.Errorf("%+v", a)
	}
	if _, err := first.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go"}); err == nil {
		t.Error("a closed process starts a run")
	}
	second := h.newRuns(t, nil, textReply("It is posted [1]."))
	if _, err := second.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "More", Conversation: row.ConversationID}); apierr.From(err).Code != apierr.Conflict {
		t.Errorf("a second run of the conversation: %v", err)
	}
	continueQueued(t, second) // nothing is queued yet
	later, err := second.Watch(h.ada, row.ID, seen[len(seen)-1].Seq)
	if err != nil {
		t.Fatal(err)
	}
	h.decide(t, a, approval.Decision{Action: approval.Approve})
	continueQueued(t, second)
	rest := collect(t, later, seen[len(seen)-1].Seq)
	if got := eventTypes(rest); got != "run_resumed tool_result iteration iteration content run_complete" {
		t.Errorf("events: %s", describe(rest))
	}
	done := h.status(t, row.ID, agentrun.StatusCompleted)
	if p.calls() != 1 || p.made[0] != a.Arguments || done.PromptTokens != 220 || done.WaitingSince != nil || done.Answer != "From the guide. I post it.\n\nIt is posted [1]." && !strings.HasSuffix(done.Answer, "It is posted [1].") {
		t.Errorf("%d calls, %+v", p.calls(), done)
	}
	if n := len(strings.Split(describe(rest), `"title": "Guide"`)); n != 2 {
		t.Errorf("the source is lost: %s", describe(rest))
	}
	left := 0
	if err := h.db.Pool.QueryRow(t.Context(), "select count(*) from agent_run_states").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d states are left, %v", left, err)
	}
	// The task comes again.
	if err := second.Continue(t.Context(), queue.Run{Workspace: row.WorkspaceID, Run: row.ID, Attempt: 1}); err != nil {
		t.Error(err)
	}
}

func TestARejectedAndAnExpiredCallAreNotMade(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *fixture, *ent.Approval){
		"rejected": func(t *testing.T, h *fixture, a *ent.Approval) {
			h.decide(t, a, approval.Decision{Action: approval.Reject, Comment: "No"})
		},
		"expired": func(t *testing.T, h *fixture, a *ent.Approval) {
			if _, err := h.db.Pool.Exec(t.Context(), "update approvals set expires_at = now() - interval '1 second'"); err != nil {
				t.Fatal(err)
			}
			if _, err := h.approvals.Expire(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			p := &post{policy: policy.Ask}
			h.tools.tools = []loop.Tool{p.tool()}
			runs := h.newRuns(t, nil, postReply("c1", "x"), textReply("Not posted."))
			row, _ := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
			h.status(t, row.ID, agentrun.StatusWaiting)
			end(t, h, h.asked(t, row))
			continueQueued(t, runs)
			if done := h.status(t, row.ID, agentrun.StatusCompleted); p.calls() != 0 || !strings.HasSuffix(done.Answer, "Not posted.") {
				t.Errorf("%d calls, %+v", p.calls(), done)
			}
		})
	}
}

func TestAWaitingRunCanBeCanceled(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	p := &post{policy: policy.Ask}
	h.tools.tools = []loop.Tool{p.tool()}
	runs := h.newRuns(t, nil, postReply("c1", "x"))
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	h.status(t, row.ID, agentrun.StatusWaiting)
	a := h.asked(t, row)
	ended, err := runs.Cancel(h.ada, row.ID)
	if err != nil || ended.Status != agentrun.StatusCanceled {
		t.Errorf("%+v, %v", ended, err)
	}
	if all := collect(t, events, 0); !strings.HasSuffix(eventTypes(all), "approval_required run_waiting error") {
		t.Errorf("%s", describe(all))
	}
	if _, err := h.approvals.Decide(h.ada, a.ID, approval.Decision{Action: approval.Approve}, entapproval.DecidedViaDashboard); apierr.From(err).Code != apierr.Conflict {
		t.Errorf("a canceled approval: %v", err)
	}
}

// lose makes a run look as if its process had died. The process lives on, as one that
// was only slow does.
func (h *fixture) lose(t testing.TB, other *run.Runs, row *ent.AgentRun) {
	t.Helper()
	if _, err := h.db.Pool.Exec(t.Context(), "update agent_runs set heartbeat_at = now() - interval '1 hour' where id = $1", row.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run is swept", func() bool {
		if _, err := other.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		tasks, err := other.Pending(t.Context())
		return err == nil && len(tasks) == 1
	})
	continueQueued(t, other)
}

func noHeartbeats(o *run.Options) { o.HeartbeatInterval = time.Hour }

func TestARunOfALostProcessGoesOn(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	stuck := make(chan struct{})
	first := h.newRuns(t, noHeartbeats, callReply("calculate", `{"expression":"6*7"}`), llmtest.Reply{Parts: []string{"Lost words"}, HoldAfter: stuck})
	row, events := start(h.ada, t, first, run.Input{Agent: h.agent.ID, Message: "Go"})
	seen := until(t, events, run.TypeContent)
	second := h.newRuns(t, nil, textReply("It is 42."))
	h.lose(t, second, row)
	rest := collect(t, events, int64(len(seen)))
	if got := describe(rest); !strings.HasPrefix(got, `run_resumed {"contentLength": 0}`) || !strings.Contains(got, "content It is 42.") || strings.Contains(got, "tool_call") {
		t.Errorf("%s", got)
	}
	close(stuck) // the slow process goes on, and changes nothing
	first.Close()
	done := h.status(t, row.ID, agentrun.StatusCompleted)
	all, err := eventsOf(h, second, row, 0, 1000)
	if err != nil || done.Answer != "It is 42." || done.ToolCalls != 1 || all[len(all)-1].Type != run.TypeComplete {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestAnActingCallOfALostProcessIsNotRepeated(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	p := &post{policy: policy.Allow, begun: make(chan struct{}, 1), hold: make(chan struct{})}
	h.tools.tools = []loop.Tool{p.tool()}
	first := h.newRuns(t, noHeartbeats, postReply("c1", "x"))
	row, _ := start(h.ada, t, first, run.Input{Agent: h.agent.ID, Message: "Go"})
	<-p.begun
	second := h.newRuns(t, nil, textReply("Done."))
	h.lose(t, second, row)
	h.status(t, row.ID, agentrun.StatusWaiting)
	a := h.asked(t, row)
	if a.Kind != entapproval.KindUnknownEffect {
		t.Errorf("%+v", a)
	}
	close(p.hold) // the slow process records the result after all
	first.Close()
	h.decide(t, a, approval.Decision{Action: approval.Approve})
	continueQueued(t, second)
	if h.status(t, row.ID, agentrun.StatusCompleted); p.calls() != 1 {
		t.Errorf("%d calls", p.calls())
	}
}

func TestCloseHandsRunsOver(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first := h.newRuns(t, nil, llmtest.Reply{Parts: []string{"Half"}, HoldAfter: make(chan struct{})})
	row, events := start(h.ada, t, first, run.Input{Agent: h.agent.ID, Message: "Go"})
	until(t, events, run.TypeContent)
	first.Close()
	if row := h.status(t, row.ID, agentrun.StatusQueued); row.FinishedAt != nil {
		t.Errorf("%+v", row)
	}
	second := h.newRuns(t, nil, textReply("Whole."))
	continueQueued(t, second)
	if done := h.status(t, row.ID, agentrun.StatusCompleted); done.Answer != "Whole." {
		t.Errorf("%+v", done)
	}
}

func TestABackgroundRunNeedsNoFollower(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ended := make(chan *ent.AgentRun, 1)
	runs := h.newRuns(t, func(o *run.Options) {
		o.GracePeriod = 10 * time.Millisecond
		o.Ended = func(_ context.Context, row *ent.AgentRun) { ended <- row }
	}, textReply("Done."))
	row, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go", Background: true})
	if err != nil || row.Status != agentrun.StatusQueued {
		t.Fatalf("%+v, %v", row, err)
	}
	continueQueued(t, runs)
	if last := <-ended; last.ID != row.ID {
		t.Errorf("%+v", last)
	}
	done := h.status(t, row.ID, agentrun.StatusCompleted)
	all, err := eventsOf(h, runs, row, 0, 100)
	if err != nil || done.Answer != "Done." || eventTypes(all) != "run_start iteration iteration content run_complete" {
		t.Errorf("%+v, %v, %s", done, err, describe(all))
	}
}

func TestARunEndsWhenItsPersonHasLeft(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	runs := h.newRuns(t, func(o *run.Options) {
		o.Viewers = func(context.Context, uuid.UUID, uuid.UUID) (viewer.Viewer, error) {
			return viewer.Viewer{}, apierr.NotFound("Member")
		}
	}, textReply("Done."))
	row, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go", Background: true})
	if err != nil {
		t.Fatal(err)
	}
	continueQueued(t, runs)
	if done := h.status(t, row.ID, agentrun.StatusFailed); done.Error == nil || !strings.Contains(*done.Error, "no longer a member") {
		t.Errorf("%+v", done)
	}
}

func TestOversightDecidesWhoIsAsked(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	bob := h.signInBob(t)
	person, _ := viewer.From(bob)
	p := &post{policy: policy.Allow}
	h.tools.tools = []loop.Tool{p.tool()}
	runs := h.newRuns(t, func(o *run.Options) {
		o.Oversight = func(context.Context, *ent.AgentRun) (run.Oversight, error) {
			return run.Oversight{Approvers: []uuid.UUID{person.Subject}, OthersOnly: true, Acting: policy.Ask, Expiry: time.Hour}, nil
		}
	}, postReply("c1", "x"), textReply("Done."))
	row, _ := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	h.status(t, row.ID, agentrun.StatusWaiting)
	a := h.asked(t, row)
	if _, err := h.approvals.Decide(h.ada, a.ID, approval.Decision{Action: approval.Approve}, entapproval.DecidedViaDashboard); apierr.From(err).Code != apierr.Forbidden {
		t.Errorf("the person of the run decides: %v", err)
	}
	if _, err := h.approvals.Decide(bob, a.ID, approval.Decision{Action: approval.Approve}, entapproval.DecidedViaDashboard); err != nil {
		t.Fatal(err)
	}
	continueQueued(t, runs)
	if h.status(t, row.ID, agentrun.StatusCompleted); p.calls() != 1 {
		t.Errorf("%d calls", p.calls())
	}
}

func TestWorkspaceAndAgentMakeCallsStricter(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	p := &post{policy: policy.Allow}
	h.tools.tools = []loop.Tool{p.tool()}
	h.tools.tools[0].PolicyName = "board.post"
	system := viewer.With(t.Context(), viewer.System(h.viewer.Workspace))
	if err := h.db.Ent.Workspace.UpdateOneID(h.viewer.Workspace).SetToolPolicy(json.RawMessage(`{"tools":{"board.*":"deny"}}`)).Exec(system); err != nil {
		t.Fatal(err)
	}
	if err := h.db.Ent.Agent.UpdateOneID(h.agent.ID).SetToolPolicy(json.RawMessage(`{"tools":{"calculate":"ask"}}`)).Exec(h.ada); err != nil {
		t.Fatal(err)
	}
	reply := postReply("c1", "x")
	reply.Calls = append(reply.Calls, callReply("", "", "calculate", `{"expression":"6*7"}`).Calls[1])
	runs := h.newRuns(t, nil, reply, textReply("Done."))
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	seen := until(t, events, run.TypeWaiting)
	if a := h.asked(t, row); a.Tool != "calculate" || p.calls() != 0 || !strings.Contains(describe(seen), "do not allow this call") {
		t.Errorf("%+v\n%s", a, describe(seen))
	}
}
