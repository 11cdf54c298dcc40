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
)

func TestARunIsToldAndKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.memories.items = []memory.Item{{Kind: memory.Fact, Content: "Ada is in Zürich"}}
	runs := h.node(t, nil,
		asks("search_documents", `{"query":"restore backups"}`, "calculate", `{"expression":"2+2"}`, "remember", `{"kind":"fact","content":"Ada restores"}`),
		says("With the `xylophone` command [1", "]. And 4. No [7]."), says("Again [1]."))
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "How are backups restored?"})
	all := collect(t, events, 0)
	if got, want := kinds(all), "run_start iteration iteration tool_call tool_call tool_call tool_result tool_result tool_result iteration iteration content run_complete"; got != want {
		t.Fatalf("events %s\nwant %s", got, want)
	}
	text := brief(all)
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
	said, err := h.db.Ent.Message.Query().Where(message.ConversationID(row.ConversationID)).Order(ent.Asc(message.FieldCreatedAt)).All(h.ada)
	if err != nil || len(said) != 2 || said[0].Role != message.RoleUser || *said[0].RunID != row.ID || said[1].Content != done.Answer || *said[1].RunID != row.ID ||
		len(said[1].Sources) != 1 || said[1].Sources[0]["id"] != h.document.String() {
		t.Errorf("%+v, %v", said, err)
	}
	if len(h.memories.items) != 2 || h.memories.items[1].Content != "Ada restores" {
		t.Errorf("%+v", h.memories.items)
	}
	// The conversation goes on, with what was said before.
	again, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "And then?", Conversation: row.ConversationID})
	if all := collect(t, events, 0); !strings.HasSuffix(kinds(all), "content run_complete") || again.ConversationID != row.ConversationID {
		t.Errorf("%s", brief(all))
	}
	// Reading again gives the same from everywhere.
	for _, after := range []int64{0, 3, int64(len(all)) - 1, int64(len(all)), 1000} {
		events, err := runs.Watch(h.ada, row.ID, after)
		if err != nil {
			t.Fatal(err)
		}
		rest := collect(t, events, after)
		want := all[min(after, int64(len(all))):]
		if !slices.EqualFunc(rest, want, func(a, b run.Event) bool { return a.Seq == b.Seq && string(a.Data) == string(b.Data) }) {
			t.Errorf("after %d: %s", after, brief(rest))
		}
	}
	joined, err := eventsOf(h, runs, done, 0, 1000)
	if err != nil || kinds(joined) != kinds(all) || len(joined) != 13 {
		t.Errorf("%d events, %v", len(joined), err)
	}
	if part, err := eventsOf(h, runs, done, 2, 3); err != nil || len(part) != 3 || part[0].Seq != 3 {
		t.Errorf("%s, %v", brief(part), err)
	}
}

func TestWithoutAModelTheAgentIsHonest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runs := h.node(t, nil)
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "How are backups restored, and what is 17% of 2340?"})
	all := collect(t, events, 0)
	done, err := runs.Get(h.ada, row.ID)
	if err != nil || done.Status != agentrun.StatusCompleted || done.Model != "" || done.PromptTokens != 0 ||
		!strings.HasPrefix(done.Answer, "No chat model is configured") || !strings.Contains(done.Answer, "17% of 2340 = 397.8") || !strings.Contains(done.Answer, "Backups are restored with the xylophone command. [1]") {
		t.Errorf("%+v, %v\n%s", done, err, brief(all))
	}
	if !strings.Contains(brief(all), h.document.String()) {
		t.Error("the source is not named")
	}
}

func TestOneNodeFollowsWhatAnotherRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	hold := make(chan struct{})
	here := h.node(t, nil, llmtest.Reply{Parts: []string{"One ", "two"}, Usage: &[2]int{1, 1}, HoldAfter: hold})
	there := h.node(t, nil)
	row, local := start(h.ada, t, here, run.Input{Agent: h.agent.ID, Message: "Go"})
	remote, err := there.Watch(h.ada, row.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	var first []run.Event
	for e := range remote { // live: the model has not ended yet
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
		t.Errorf("%s", brief(rest))
	}
	if got := collect(t, local, 0); len(got) != len(first)+len(rest) {
		t.Errorf("%d events here, %d and %d there", len(got), len(first), len(rest))
	}
	collect(t, remote, int64(len(first)))
}

func TestALongAnswerIsNotARowAToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var parts []string
	for i := range 3000 {
		parts = append(parts, fmt.Sprintf("word%d ", i))
	}
	runs := h.node(t, nil, says(parts...))
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	all := collect(t, events, 0)
	done, err := runs.Get(h.ada, row.ID)
	if err != nil || done.Answer != strings.Join(parts, "") || !strings.Contains(brief(all), done.Answer) {
		t.Errorf("the answer has %d bytes, %v", len(done.Answer), err)
	}
	if len(all) > 500 {
		t.Errorf("%d rows for %d tokens", len(all), len(parts))
	}
}

func TestCancelingAnywhereEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"here", "there"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			runs := h.node(t, nil, llmtest.Reply{Parts: []string{"Half an answer"}, HoldAfter: make(chan struct{})})
			canceler := runs
			if where == "there" {
				canceler = h.node(t, nil)
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
				t.Errorf("%s", brief(rest))
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

func TestALostRunIsFoundByItsHeartbeat(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	// A run whose process is gone: a row and its first events.
	talk, err := h.db.Ent.Conversation.Create().SetAgentID(h.agent.ID).Save(h.ada)
	if err != nil {
		t.Fatal(err)
	}
	row, err := h.db.Ent.AgentRun.Create().SetAgentID(h.agent.ID).SetConversationID(talk.ID).SetMessage("Go").SetHeartbeatAt(time.Now().Add(-time.Hour)).Save(h.ada)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.db.Pool.Exec(t.Context(), `insert into agent_run_events (workspace_id, run_id, seq, type, data) values ($1, $2, 1, 'run_start', '{}'), ($1, $2, 2, 'content', '{"content":"Half"}')`,
		row.WorkspaceID, row.ID); err != nil {
		t.Fatal(err)
	}
	runs := h.node(t, func(o *run.Options) { o.Stale = 200 * time.Millisecond })
	events, err := runs.Watch(h.ada, row.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := collect(t, events, 0)
	ended, err := runs.Get(h.ada, row.ID)
	if err != nil || ended.Status != agentrun.StatusFailed || ended.Error == nil || ended.FinishedAt == nil || kinds(all) != "run_start content error" {
		t.Errorf("%+v, %v\n%s", ended, err, brief(all))
	}
	if n, err := runs.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d again, %v", n, err)
	}
}

func TestARunThatWasGivenUpElsewhereStops(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runs := h.node(t, func(o *run.Options) { o.Beat = 50 * time.Millisecond }, llmtest.Reply{Parts: []string{"Half"}, HoldAfter: make(chan struct{})})
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
	if rest := collect(t, events, 4); kinds(rest) != "error" {
		t.Errorf("%s", brief(rest))
	}
	// The process notices and does not write an end of its own.
	runs.Close()
	again := h.node(t, nil)
	stored, err := again.Watch(h.ada, row.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if all := collect(t, stored, 0); kinds(all) != "run_start iteration iteration content error" {
		t.Errorf("%s", brief(all))
	}
}

func TestARunThatNobodyFollowsIsEnded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runs := h.node(t, func(o *run.Options) { o.Grace = 2 * time.Second }, llmtest.Reply{Parts: []string{"Half"}, HoldAfter: make(chan struct{})})
	status := func(id uuid.UUID) agentrun.Status {
		row, err := runs.Get(h.ada, id)
		if err != nil {
			t.Fatal(err)
		}
		return row.Status
	}
	leaving, leave := context.WithCancel(h.ada)
	row, events := start(leaving, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	<-events
	staying, goAway := context.WithCancel(h.ada)
	second, err := h.node(t, func(o *run.Options) { o.Grace = 2 * time.Second }).Watch(staying, row.ID, 1) // from another process
	if err != nil {
		t.Fatal(err)
	}
	<-second
	leave()
	began := time.Now()
	eventually(t, "two graces have passed", func() bool { return time.Since(began) > 5*time.Second })
	if got := status(row.ID); got != agentrun.StatusRunning {
		t.Errorf("a run that somebody follows is %s", got)
	}
	goAway()
	eventually(t, "the run ends", func() bool { return status(row.ID) == agentrun.StatusCanceled })
	// A run that is never followed ends, too, and one of REST as soon as its client leaves.
	never, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run that nobody followed ends", func() bool { return status(never.ID) == agentrun.StatusCanceled })
	long := h.node(t, func(o *run.Options) { o.Grace = time.Hour }, llmtest.Reply{Parts: []string{"Half"}, HoldAfter: make(chan struct{})})
	leaving, leave = context.WithCancel(h.ada)
	atOnce, events := start(leaving, t, long, run.Input{Agent: h.agent.ID, Message: "Go", AtOnce: true})
	<-events
	leave()
	eventually(t, "the run of REST ends", func() bool { return status(atOnce.ID) == agentrun.StatusCanceled })
}

func TestWhatIsNotOnesOwnIsNotFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runs := h.node(t, nil, says("Hello."))
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	collect(t, events, 0)
	bob := h.bob(t)
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
	talk, err := h.db.Ent.Conversation.Create().Save(h.ada) // of the chat
	if err != nil {
		t.Fatal(err)
	}
	_, err = runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go", Conversation: talk.ID})
	notFound("a conversation of the chat", err)
	if _, err := runs.Start(t.Context(), run.Input{Agent: h.agent.ID, Message: "Go"}); apierr.From(err).Code != apierr.Unauthorized {
		t.Errorf("nobody: %v", err)
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

func TestRunsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runs := h.node(t, func(o *run.Options) { o.PerPerson, o.PerWorkspace = 2, 3 }, llmtest.Reply{Hold: make(chan struct{})})
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
	bob := h.bob(t)
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

func TestARunThatIsNotAdmittedLeavesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runs := h.node(t, nil, says("Hello."))
	refused := apierr.New(apierr.QuotaExceeded, "Query limit exceeded")
	_, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go", Admit: func(context.Context) error { return refused }})
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	for what, count := range map[string]func(context.Context) (int, error){"runs": h.db.Ent.AgentRun.Query().Count, "conversations": h.db.Ent.Conversation.Query().Count, "messages": h.db.Ent.Message.Query().Count} {
		if n, err := count(h.ada); err != nil || n != 0 {
			t.Errorf("%d %s, %v", n, what, err)
		}
	}
}

func TestClosingEndsRunsAndStoresThem(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runs := h.node(t, nil, llmtest.Reply{Parts: []string{"Half"}, HoldAfter: make(chan struct{})})
	row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	for e := range events {
		if e.Type == run.TypeContent {
			break
		}
	}
	done := make(chan []run.Event)
	go func() { done <- collect(t, events, 4) }()
	runs.Close()
	if rest := <-done; kinds(rest) != "error" {
		t.Errorf("%s", brief(rest))
	}
	stored, err := h.db.Ent.AgentRun.Get(h.ada, row.ID)
	if err != nil || stored.Status != agentrun.StatusFailed || stored.Answer != "Half" {
		t.Errorf("%+v, %v", stored, err)
	}
	if _, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Go"}); apierr.From(err).Code != apierr.Unavailable {
		t.Errorf("after closing: %v", err)
	}
}

func TestWhatPeopleAreToldOfFailures(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.memories.fail = errors.New("away") // which is no reason not to run
	for name, c := range map[string]struct {
		reply llmtest.Reply
		want  string
	}{
		"no tools": {llmtest.Reply{Status: 400, Body: `{"error":{"message":"m-1 does not support tools"}}`}, "cannot call tools"},
		"no key":   {llmtest.Reply{Status: 401, Body: `{"error":{"message":"bad sk-secret"}}`}, "did not answer"},
		"too long": {llmtest.Reply{Status: 413, Body: `{}`}, "more than the agent's chat model can read"},
		"cut":      {llmtest.Reply{Parts: []string{"Half"}, Cut: true}, "did not answer"},
	} {
		runs := h.node(t, nil, c.reply)
		row, events := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
		all := collect(t, events, 0)
		last := all[len(all)-1]
		var told run.Failure
		if err := json.Unmarshal(last.Data, &told); err != nil || last.Type != run.TypeError || told.Code != apierr.Unavailable || !strings.Contains(told.Message, c.want) || strings.Contains(brief(all), "secret") {
			t.Errorf("%s: %s", name, brief(all))
		}
		if done, err := runs.Get(h.ada, row.ID); err != nil || done.Status != agentrun.StatusFailed || *done.Error != told.Message {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
	slow := h.node(t, func(o *run.Options) {
		o.Limits = loop.Standard()
		o.Limits.Timeout, o.Limits.AnswerReserve = 200*time.Millisecond, 100*time.Millisecond
	}, llmtest.Reply{Hold: make(chan struct{})})
	_, events := start(h.ada, t, slow, run.Input{Agent: h.agent.ID, Message: "Go"})
	if all := collect(t, events, 0); !strings.Contains(brief(all), "took too long") {
		t.Errorf("%s", brief(all))
	}
}

// BenchmarkOverhead measures what a run costs beyond its model, which answers at once: to the first event, to the first
// piece of the answer, and to the end.
func BenchmarkOverhead(b *testing.B) {
	h := newHouse(b)
	runs := h.node(b, nil, says("Hello", " there."))
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

func eventsOf(h *house, runs *run.Runs, row *ent.AgentRun, after int64, most int) ([]run.Event, error) {
	found, err := runs.EventsOf(h.ada, row.WorkspaceID, []uuid.UUID{row.ID}, after, most)
	return found[row.ID], err
}
