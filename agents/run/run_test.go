package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/request/requestid"
)

func TestARunIsStreamedAndStored(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.memories.items = []memory.Item{{Kind: memory.Fact, Content: "Ada is in Zürich"}}
	runs := h.newRuns(t, nil,
		callReply("search_documents", `{"query":"restore backups"}`, "calculate", `{"expression":"2+2"}`, "remember", `{"kind":"fact","content":"Ada restores"}`),
		textReply("With the `xylophone` command [1", "]. And 4. No [7]."), textReply("Again [1]."))
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "How are backups restored?"})
	all := collect(t, events, 0)
	if got, want := eventTypes(all), "run_start iteration iteration tool_call tool_call tool_call tool_result tool_result tool_result iteration iteration content run_complete"; got != want {
		t.Fatalf("events %s\nwant %s", got, want)
	}
	text := describe(all)
	for _, want := range []string{
		`"runId": "` + row.ID.String() + `"`, `"conversationId": "` + row.ConversationID.String() + `"`, `"number": 1`, `"status": "planning"`, `"status": "acting"`, `"status": "answering"`,
		`"params": {"query": "restore backups"}`, `"success": true`, `"message": "2+2 = 4"`, `"message": "1 passages found, 1 shown"`, "content With the `xylophone` command [1]. And 4. No",
		`"totalTokens": 250`, `"promptTokens": 220`, `"completionTokens": 30`, `"title": "Guide"`, `"url": "https://docs.example/guide"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	done, err := runs.Get(h.ada, row.ID)
	if err != nil || done.Status != agentrun.StatusCompleted || !strings.HasPrefix(done.Answer, "With the `xylophone` command [1]. And 4.") || done.PromptTokens != 220 ||
		done.Iterations != 2 || done.ToolCalls != 3 || done.FinishedAt == nil || done.Model != "test" || done.Error != nil {
		t.Errorf("%+v, %v", done, err)
	}
	messages, err := h.db.Ent.Message.Query().Where(message.ConversationID(row.ConversationID)).Order(ent.Asc(message.FieldCreatedAt)).All(h.ada)
	if err != nil || len(messages) != 2 || messages[0].Role != message.RoleUser || *messages[0].RunID != row.ID || messages[1].Content != done.Answer || *messages[1].RunID != row.ID ||
		len(messages[1].Sources) != 1 || messages[1].Sources[0]["id"] != h.document.String() {
		t.Errorf("%+v, %v", messages, err)
	}
	if len(h.memories.items) != 2 || h.memories.items[1].Content != "Ada restores" {
		t.Errorf("%+v", h.memories.items)
	}
	// The conversation continues with its history.
	again, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "And then?", Conversation: row.ConversationID})
	if all := collect(t, events, 0); !strings.HasSuffix(eventTypes(all), "content run_complete") || again.ConversationID != row.ConversationID {
		t.Errorf("%s", describe(all))
	}
	// A later reader gets the same events from any number on.
	for _, after := range []int64{0, 3, int64(len(all)) - 1, int64(len(all)), 1000} {
		events, err := runs.Watch(h.ada, row.ID, after)
		if err != nil {
			t.Fatal(err)
		}
		rest := collect(t, events, after)
		want := all[min(after, int64(len(all))):]
		if !slices.EqualFunc(rest, want, func(a, b run.Event) bool { return a.Seq == b.Seq && string(a.Data) == string(b.Data) }) {
			t.Errorf("after %d: %s", after, describe(rest))
		}
	}
	joined, err := eventsOf(h, runs, done, 0, 1000)
	if err != nil || eventTypes(joined) != eventTypes(all) || len(joined) != 13 {
		t.Errorf("%d events, %v", len(joined), err)
	}
	if part, err := eventsOf(h, runs, done, 2, 3); err != nil || len(part) != 3 || part[0].Seq != 3 {
		t.Errorf("%s, %v", describe(part), err)
	}
}

func TestWithoutAModelTheAnswerSaysSo(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	runs := h.newRuns(t, nil)
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "How are backups restored, and what is 17% of 2340?"})
	all := collect(t, events, 0)
	done, err := runs.Get(h.ada, row.ID)
	if err != nil || done.Status != agentrun.StatusCompleted || done.Model != "" || done.PromptTokens != 0 ||
		!strings.HasPrefix(done.Answer, "No chat model is configured") || !strings.Contains(done.Answer, "17% of 2340 = 397.8") || !strings.Contains(done.Answer, "Backups are restored with the xylophone command. [1]") {
		t.Errorf("%+v, %v\n%s", done, err, describe(all))
	}
	if !strings.Contains(describe(all), h.document.String()) {
		t.Error("the answer has no source")
	}
}

func TestARunCanBeFollowedFromAnotherProcess(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	hold := make(chan struct{})
	here := h.newRuns(t, nil, llmtest.Reply{Parts: []string{"One ", "two"}, Usage: &[2]int{1, 1}, HoldAfter: hold})
	there := h.newRuns(t, nil)
	row, local := start(h.ada, t, here, run.Input{Agent: h.agent.ID, Message: "Go"})
	remote, err := there.Watch(h.ada, row.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	var first []run.Event
	for e := range remote { // the model has not ended yet
		if first = append(first, e); e.Type == run.TypeContent {
			break
		}
	}
	close(hold)
	late, err := there.Watch(h.ada, row.ID, int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	rest := collect(t, late, int64(len(first)))
	if last := rest[len(rest)-1]; last.Type != run.TypeComplete {
		t.Errorf("%s", describe(rest))
	}
	if got := collect(t, local, 0); len(got) != len(first)+len(rest) {
		t.Errorf("%d events here, %d and %d there", len(got), len(first), len(rest))
	}
	collect(t, remote, int64(len(first)))
}

func TestALongAnswerIsStoredInFewEvents(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var parts []string
	for i := range 3000 {
		parts = append(parts, fmt.Sprintf("word%d ", i))
	}
	runs := h.newRuns(t, nil, textReply(parts...))
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	all := collect(t, events, 0)
	done, err := runs.Get(h.ada, row.ID)
	if err != nil || done.Answer != strings.Join(parts, "") || !strings.Contains(describe(all), done.Answer) {
		t.Errorf("the answer has %d bytes, %v", len(done.Answer), err)
	}
	if len(all) > 500 {
		t.Errorf("%d rows for %d tokens", len(all), len(parts))
	}
}

func TestCancelEndsARunInAnyProcess(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"here", "there"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			runs := h.newRuns(t, nil, llmtest.Reply{Parts: []string{"Half an answer"}, HoldAfter: make(chan struct{})})
			canceler := runs
			if where == "there" {
				canceler = h.newRuns(t, nil)
			}
			row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
			for e := range events {
				if e.Type == run.TypeContent {
					break
				}
			}
			ended, err := canceler.Cancel(h.ada, row.ID)
			if err != nil || ended.Status != agentrun.StatusCanceled || ended.Answer != "Half an answer" {
				t.Fatalf("%+v, %v", ended, err)
			}
			rest := collect(t, events, 4)
			if last := rest[len(rest)-1]; last.Type != run.TypeError || !strings.Contains(string(last.Data), "canceled") {
				t.Errorf("%s", describe(rest))
			}
			if again, err := canceler.Cancel(h.ada, row.ID); err != nil || again.Status != agentrun.StatusCanceled {
				t.Errorf("%+v, %v", again, err)
			}
			if n, err := h.db.Ent.Message.Query().Where(message.ConversationID(row.ConversationID)).Count(h.ada); err != nil || n != 2 {
				t.Errorf("%d messages, %v", n, err)
			}
		})
	}
}

func TestARunWhoseServersGoAwayAgainAndAgainIsEnded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	// A run whose process has died: a row and its first events.
	conversation, err := h.db.Ent.Conversation.Create().SetAgentID(h.agent.ID).Save(h.ada)
	if err != nil {
		t.Fatal(err)
	}
	row, err := h.db.Ent.AgentRun.Create().SetAgentID(h.agent.ID).SetConversationID(conversation.ID).SetMessage("Go").SetAttempt(100).SetHeartbeatAt(time.Now().Add(-time.Hour)).Save(h.ada)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.db.Pool.Exec(t.Context(), `insert into agent_run_events (workspace_id, run_id, seq, type, data) values ($1, $2, 1, 'run_start', '{}'), ($1, $2, 2, 'content', '{"content":"Half"}')`,
		row.WorkspaceID, row.ID); err != nil {
		t.Fatal(err)
	}
	runs := h.newRuns(t, func(o *run.Options) { o.HeartbeatTimeout = 200 * time.Millisecond })
	events, err := runs.Watch(h.ada, row.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := collect(t, events, 0)
	ended, err := runs.Get(h.ada, row.ID)
	if err != nil || ended.Status != agentrun.StatusFailed || ended.Error == nil || ended.FinishedAt == nil || eventTypes(all) != "run_start content error" {
		t.Errorf("%+v, %v\n%s", ended, err, describe(all))
	}
	if n, err := runs.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("a second sweep ended %d runs, %v", n, err)
	}
}

func TestARunThatWasEndedElsewhereStops(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	runs := h.newRuns(t, func(o *run.Options) { o.HeartbeatInterval = 50 * time.Millisecond }, llmtest.Reply{Parts: []string{"Half"}, HoldAfter: make(chan struct{})})
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	for e := range events {
		if e.Type == run.TypeContent {
			break
		}
	}
	if _, err := h.db.Pool.Exec(t.Context(), `with ended as (update agent_runs set status = 'FAILED' where id = $1 returning id, workspace_id)
		insert into agent_run_events (workspace_id, run_id, seq, type, data) select workspace_id, id, 5, 'error', '{"code":"unavailable","message":"x"}' from ended`, row.ID); err != nil {
		t.Fatal(err)
	}
	if rest := collect(t, events, 4); eventTypes(rest) != "error" {
		t.Errorf("%s", describe(rest))
	}
	// The process notices and writes no final event of its own.
	runs.Close()
	again := h.newRuns(t, nil)
	stored, err := again.Watch(h.ada, row.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if all := collect(t, stored, 0); eventTypes(all) != "run_start iteration iteration content error" {
		t.Errorf("%s", describe(all))
	}
}

func TestARunWithoutFollowersIsCanceled(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	runs := h.newRuns(t, func(o *run.Options) { o.GracePeriod = 2 * time.Second }, llmtest.Reply{Parts: []string{"Half"}, HoldAfter: make(chan struct{})})
	status := func(id uuid.UUID) agentrun.Status {
		row, err := runs.Get(h.ada, id)
		if err != nil {
			t.Fatal(err)
		}
		return row.Status
	}
	leavingCtx, leave := context.WithCancel(h.ada)
	row, events := start(leavingCtx, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	<-events
	stayingCtx, leaveLast := context.WithCancel(h.ada)
	second, err := h.newRuns(t, func(o *run.Options) { o.GracePeriod = 2 * time.Second }).Watch(stayingCtx, row.ID, 1) // from another process
	if err != nil {
		t.Fatal(err)
	}
	<-second
	leave()
	startedAt := time.Now()
	eventually(t, "two grace periods have passed", func() bool { return time.Since(startedAt) > 5*time.Second })
	if got := status(row.ID); got != agentrun.StatusRunning {
		t.Errorf("a run with a follower is %s", got)
	}
	leaveLast()
	eventually(t, "the run ends", func() bool { return status(row.ID) == agentrun.StatusCanceled })
	// A run that never had a follower ends, too; a run without a grace period ends at once.
	never, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run without a follower ends", func() bool { return status(never.ID) == agentrun.StatusCanceled })
	long := h.newRuns(t, func(o *run.Options) { o.GracePeriod = time.Hour }, llmtest.Reply{Parts: []string{"Half"}, HoldAfter: make(chan struct{})})
	leavingCtx, leave = context.WithCancel(h.ada)
	immediate, events := start(leavingCtx, t, long, run.Input{Agent: h.agent.ID, Message: "Go", NoGracePeriod: true})
	<-events
	leave()
	eventually(t, "the run without a grace period ends", func() bool { return status(immediate.ID) == agentrun.StatusCanceled })
}

func TestARunIsCanceledBeforeItsFirstStep(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	begun := make(chan struct{})
	runs := h.newRuns(t, func(o *run.Options) {
		o.Oversight = func(ctx context.Context, _ *ent.AgentRun) (run.Oversight, error) {
			close(begun)
			<-ctx.Done()
			return run.Oversight{}, ctx.Err()
		}
	})
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	<-begun
	if _, err := runs.Cancel(h.ada, row.ID); err != nil {
		t.Fatal(err)
	}
	if all := collect(t, events, 0); !strings.Contains(describe(all), "The run was canceled.") {
		t.Errorf("%s", describe(all))
	}
	if row, err := runs.Get(h.ada, row.ID); err != nil || row.Status != agentrun.StatusCanceled {
		t.Errorf("the run is %s (%v)", row.Status, err)
	}
}

func TestRunsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	runs := h.newRuns(t, nil, textReply("Hello."))
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	collect(t, events, 0)
	bob := h.signInBob(t)
	notFound := func(what string, err error) {
		t.Helper()
		if apierr.From(err).Code != apierr.CodeNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := runs.Watch(bob, row.ID, 0)
	notFound("following another's run", err)
	_, err = runs.Cancel(bob, row.ID)
	notFound("canceling another's run", err)
	_, err = runs.Start(bob, run.Input{Agent: h.agent.ID, Message: "Go", Conversation: row.ConversationID})
	notFound("another's conversation", err)
	_, err = runs.Start(h.ada, run.Input{Agent: h.newAgent(t, "Other").ID, Message: "Go", Conversation: row.ConversationID})
	notFound("another agent's conversation", err)
	_, err = runs.Start(h.ada, run.Input{Agent: uuid.New(), Message: "Go"})
	notFound("no agent", err)
	_, err = runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go", Conversation: uuid.New()})
	notFound("no conversation", err)
	conversation, err := h.db.Ent.Conversation.Create().Save(h.ada) // of the chat
	if err != nil {
		t.Fatal(err)
	}
	_, err = runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go", Conversation: conversation.ID})
	notFound("a conversation of the chat", err)
	if _, err := runs.Start(t.Context(), run.Input{Agent: h.agent.ID, Message: "Go"}); apierr.From(err).Code != apierr.Unauthorized {
		t.Errorf("without a viewer: %v", err)
	}
	for _, text := range []string{"", " \n", "\u200b", "a\x00", "\xff", strings.Repeat("x", run.MaxMessage+1)} {
		if _, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: text}); apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("message %.20q: %v", text, err)
		}
	}
	if _, err := runs.Watch(h.ada, row.ID, -1); apierr.From(err).Code != apierr.InvalidRequest {
		t.Errorf("after -1: %v", err)
	}
}

func TestConcurrentRunsAreLimited(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	runs := h.newRuns(t, func(o *run.Options) { o.MaxPerPerson, o.MaxPerWorkspace = 2, 3 }, llmtest.Reply{Hold: make(chan struct{})})
	code := func(ctx context.Context, in run.Input) apierr.Code {
		if _, err := runs.Start(ctx, in); err != nil {
			return apierr.From(err).Code
		}
		return ""
	}
	in := run.Input{Agent: h.agent.ID, Message: "Go"}
	first, err := runs.Start(h.ada, in)
	if err != nil {
		t.Fatal(err)
	}
	same := in
	same.Conversation = first.ConversationID
	if got := code(h.ada, same); got != apierr.Conflict {
		t.Errorf("the same conversation: %s", got)
	}
	bob := h.signInBob(t)
	for i, c := range []struct {
		who  context.Context
		want apierr.Code
	}{{h.ada, ""}, {h.ada, apierr.RateLimited}, {bob, ""}, {bob, apierr.RateLimited}} {
		if got := code(c.who, in); got != c.want {
			t.Errorf("run %d: %q", i, got)
		}
	}
	if _, err := runs.Cancel(h.ada, first.ID); err != nil {
		t.Fatal(err)
	}
	if got := code(h.ada, in); got != "" {
		t.Errorf("after one ended: %s", got)
	}
}

func TestARefusedRunStoresNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	runs := h.newRuns(t, nil, textReply("Hello."))
	refused := apierr.New(apierr.QuotaExceeded, "Query limit exceeded")
	_, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go", Admit: func(context.Context) error { return refused }})
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	for name, count := range map[string]func(context.Context) (int, error){"runs": h.db.Ent.AgentRun.Query().Count, "conversations": h.db.Ent.Conversation.Query().Count, "messages": h.db.Ent.Message.Query().Count} {
		if n, err := count(h.ada); err != nil || n != 0 {
			t.Errorf("%d %s, %v", n, name, err)
		}
	}
}

func TestCloseEndsRunsThatNobodyCanFollow(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	runs := h.newRuns(t, nil, llmtest.Reply{Parts: []string{"Half"}, HoldAfter: make(chan struct{})})
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go", NoGracePeriod: true})
	for e := range events {
		if e.Type == run.TypeContent {
			break
		}
	}
	done := make(chan []run.Event)
	go func() { done <- collect(t, events, 4) }()
	runs.Close()
	if rest := <-done; eventTypes(rest) != "error" {
		t.Errorf("%s", describe(rest))
	}
	stored, err := h.db.Ent.AgentRun.Get(h.ada, row.ID)
	if err != nil || stored.Status != agentrun.StatusFailed || stored.Answer != "Half" {
		t.Errorf("%+v, %v", stored, err)
	}
	if _, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go"}); apierr.From(err).Code != apierr.Unavailable {
		t.Errorf("after closing: %v", err)
	}
}

func TestFailureMessages(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.memories.fail = errors.New("unavailable") // must not fail the run
	for name, c := range map[string]struct {
		reply llmtest.Reply
		want  string
	}{
		"no tools": {llmtest.Reply{Status: 400, Body: `{"error":{"message":"m-1 does not support tools"}}`}, "cannot call tools"},
		"no key":   {llmtest.Reply{Status: 401, Body: `{"error":{"message":"bad sk-secret"}}`}, "did not answer"},
		"too long": {llmtest.Reply{Status: 413, Body: `{}`}, "more than the agent's chat model can read"},
		"cut":      {llmtest.Reply{Parts: []string{"Half"}, Cut: true}, "did not answer"},
	} {
		runs := h.newRuns(t, nil, c.reply)
		row, events := start(requestid.With(h.ada, "the-request"), t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
		all := collect(t, events, 0)
		last := all[len(all)-1]
		var failure run.Failure
		if err := json.Unmarshal(last.Data, &failure); err != nil || last.Type != run.TypeError || failure.Code != apierr.Unavailable || failure.RequestID != "the-request" || !strings.Contains(failure.Message, c.want) || strings.Contains(describe(all), "secret") {
			t.Errorf("%s: %s", name, describe(all))
		}
		if done, err := runs.Get(h.ada, row.ID); err != nil || done.Status != agentrun.StatusFailed || *done.Error != failure.Message {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
	slow := h.newRuns(t, func(o *run.Options) {
		o.Limits = loop.Standard()
		o.Limits.Timeout, o.Limits.AnswerReserve = 200*time.Millisecond, 100*time.Millisecond
	}, llmtest.Reply{Hold: make(chan struct{})})
	_, events := start(h.ada, t, slow, run.Input{Agent: h.agent.ID, Message: "Go"})
	if all := collect(t, events, 0); !strings.Contains(describe(all), "took too long") {
		t.Errorf("%s", describe(all))
	}
}

// BenchmarkOverhead measures the time of a run with a model that answers at
// once: to the first event, to the first piece of the answer, and to the end.
func BenchmarkOverhead(b *testing.B) {
	h := newFixture(b)
	runs := h.newRuns(b, nil, textReply("Hello", " there."))
	var begun, spoke, ended []time.Duration
	for b.Loop() {
		at := time.Now()
		_, events := start(h.ada, b, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
		first := true
		for e := range events {
			switch {
			case e.Seq == 1:
				begun = append(begun, time.Since(at))
			case e.Type == run.TypeContent && first:
				first = false
				spoke = append(spoke, time.Since(at))
			}
		}
		ended = append(ended, time.Since(at))
	}
	for name, times := range map[string][]time.Duration{"first-event-p50-ms": begun, "first-content-p50-ms": spoke, "end-p50-ms": ended} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, name)
	}
}

func eventsOf(h *fixture, runs *run.Runs, row *ent.AgentRun, after int64, limit int) ([]run.Event, error) {
	found, err := runs.EventsOf(h.ada, row.WorkspaceID, []uuid.UUID{row.ID}, after, limit)
	return found[row.ID], err
}
