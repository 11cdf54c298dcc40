package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm"
)

const (
	// maxRepeats is how many calls that were made before end the search for more.
	maxRepeats = 3
	// maxAttempts is how often a call that failed may be made.
	maxAttempts = 2
	maxToolName = 64
)

// past is a call that was made before.
type past struct {
	id       string
	done     bool // it succeeded
	attempts int
	pending  bool // its turn is not over
}

// job is one call of a turn.
type job struct {
	id     string
	name   string // to show
	call   llm.ToolCall
	params map[string]any
	raw    json.RawMessage
	tool   *Tool
	wrong  string // why it is not made
	print  string // what it asks for
	result Result
	err    error
}

// act makes the calls of a turn, several at once, and shows the model what they gave.
func (r *run) act(ctx context.Context, step int, t turn) error {
	if err := r.tell(ctx, Iteration{Number: step, Status: Acting}); err != nil {
		return err
	}
	jobs := make([]*job, len(t.calls))
	said := llm.Message{Role: llm.RoleAssistant, Content: t.text}
	for i, call := range t.calls {
		jobs[i] = r.prepare(call)
		call.ID, call.Name = jobs[i].id, jobs[i].name
		said.Calls = append(said.Calls, call)
		if err := r.tell(ctx, ToolCall{Tool: jobs[i].name, CallID: jobs[i].id, Params: jobs[i].params}); err != nil {
			return err
		}
	}
	if err := r.carryOut(ctx, jobs); err != nil {
		return err
	}
	r.window.add(entry{message: said, step: step})
	for _, j := range jobs {
		r.keep(j, step)
	}
	return nil
}

// prepare reads a call and decides whether it is made.
func (r *run) prepare(call llm.ToolCall) *job {
	j := &job{id: r.newID(call.ID), name: toolName(call.Name), call: call}
	j.raw, j.params, j.wrong = arguments(call)
	if j.params == nil {
		j.params = map[string]any{}
	}
	j.tool = r.tools[call.Name]
	if j.tool == nil {
		j.wrong = "There is no such tool. The tools are: " + strings.Join(r.names(), ", ") + "."
	}
	if j.wrong != "" {
		return j
	}
	canonical, _ := json.Marshal(j.params) // it was decoded from JSON
	j.print = j.name + " " + string(canonical)
	switch before := r.made[j.print]; {
	case before == nil:
	case before.pending:
		j.wrong = "This is the same call as " + before.id + " of this turn; see its result."
		return j
	case before.done && r.window.whole(before.id), !before.done && before.attempts >= maxAttempts:
		r.repeats++
		j.wrong = "This very call was made before, as " + before.id + "; its result stands above. Use it, do something else, or answer."
		return j
	}
	if r.out.ToolCalls >= r.limits.Calls {
		j.wrong = fmt.Sprintf("Not called: the limit of %d tool calls is reached.", r.limits.Calls)
		return j
	}
	r.out.ToolCalls++
	attempts := 1
	if before := r.made[j.print]; before != nil {
		attempts = before.attempts + 1
	}
	r.made[j.print] = &past{id: j.id, attempts: attempts, pending: true}
	return j
}

// carryOut makes the calls, at most as many at once as the limit says, and tells of each result as it comes.
func (r *run) carryOut(ctx context.Context, jobs []*job) error {
	limit := min(r.limits.ToolTime, max(time.Second, r.limits.Time-r.limits.AnswerTime-time.Since(r.began)))
	done := make(chan *job, len(jobs))
	queue := make(chan *job, len(jobs))
	for _, j := range jobs {
		if j.wrong != "" {
			done <- j
		} else {
			queue <- j
		}
	}
	close(queue)
	for range min(r.limits.Parallel, len(queue)) {
		r.loop.calls.Go(func() {
			for j := range queue {
				if ctx.Err() != nil {
					j.err = context.Cause(ctx)
				} else {
					j.result, j.err = r.loop.call(ctx, j.tool, j.raw, limit)
				}
				done <- j
			}
		})
	}
	for range jobs {
		j := <-done // of each that was queued: a call ends with ctx
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if j.err != nil {
			j.wrong = r.loop.said(ctx, j.name, j.err)
		}
		message := j.result.Summary
		if j.wrong != "" {
			message = j.wrong
		}
		if err := r.tell(ctx, ToolResult{Tool: j.name, CallID: j.id, Success: j.wrong == "", Message: shortened(message, 500)}); err != nil {
			return err
		}
	}
	return nil
}

// keep puts what a call gave into the window.
func (r *run) keep(j *job, step int) {
	text := clipped(j.result.Text, r.limits.Result)
	if j.wrong != "" {
		text = j.wrong
	}
	if before := r.made[j.print]; before != nil && before.id == j.id {
		before.done, before.pending = j.wrong == "", false
	}
	r.window.add(entry{
		message: llm.Message{Role: llm.RoleTool, CallID: j.id, Content: data(j.name, text), Failed: j.wrong != ""},
		step:    step, tool: j.name, text: text,
	})
}

func (r *run) names() []string {
	names := make([]string, len(r.task.Tools))
	for i, tool := range r.task.Tools {
		names[i] = tool.Name
	}
	slices.Sort(names)
	return names
}

// newID keeps a model's id for a call where every service takes it and the run has not had it, and makes one otherwise.
func (r *run) newID(id string) string {
	if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(id) || r.ids[id] {
		for n := len(r.ids) + 1; ; n++ {
			if id = fmt.Sprintf("call_%d", n); !r.ids[id] {
				break
			}
		}
	}
	r.ids[id] = true
	return id
}

// toolName is a name of the model's own making as services take it back and people may be shown it.
func toolName(name string) string {
	var b strings.Builder
	for _, c := range name {
		if b.Len() == maxToolName {
			break
		}
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteRune(c)
		} else {
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "unnamed"
	}
	return b.String()
}
