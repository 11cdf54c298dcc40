package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm"
)

// State is a run between two requests to the model, as JSON. It holds texts of
// documents and of people.
type State json.RawMessage

// ErrState reports that a state cannot be read.
var ErrState = errors.New("the state of the run cannot be read")

const stateVersion = 1

// snapshot is the content of a State.
type snapshot struct {
	Version   int                  `json:"version"`
	Step      int                  `json:"step"`
	Silent    bool                 `json:"silent,omitempty"`
	Entries   []storedEntry        `json:"entries"`
	Answer    string               `json:"answer,omitempty"`
	Usage     llm.Usage            `json:"usage"`
	ToolCalls int                  `json:"toolCalls,omitempty"`
	CallIDs   []string             `json:"callIds,omitempty"`
	Past      map[string]*pastCall `json:"past,omitempty"`
	Repeats   int                  `json:"repeats,omitempty"`
	Halvings  int                  `json:"halvings,omitempty"`
	Running   time.Duration        `json:"running"`
	Turn      *storedTurn          `json:"turn,omitempty"`
}

type storedEntry struct {
	Message llm.Message `json:"message"`
	Step    int         `json:"step,omitempty"`
	Tool    string      `json:"tool,omitempty"`
	Text    string      `json:"text,omitempty"`
	Level   int         `json:"level,omitempty"`
}

// storedTurn is a turn whose calls are not all done.
type storedTurn struct {
	Text  string       `json:"text,omitempty"`
	Calls []storedCall `json:"calls"`
}

// storedCall is the part of an invocation that outlives the process.
type storedCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"` // safe to show
	Call      llm.ToolCall    `json:"call"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Failure   string          `json:"failure,omitempty"`  // why the call is not made, or why it failed
	Key       string          `json:"key,omitempty"`      // equal for calls of the same tool with the same arguments
	Done      bool            `json:"done,omitempty"`     // it has its result, and readers have seen it
	Answered  bool            `json:"answered,omitempty"` // a person gave its result
	Unknown   bool            `json:"unknown,omitempty"`  // it began before, and it is not known whether it took effect
	Note      string          `json:"note,omitempty"`     // the model's news of the decision
	Asks      int             `json:"asks,omitempty"`     // how often a person was asked about it
	Decision  string          `json:"decision,omitempty"` // the id of the decision that it waits for, or ""
	ToolHash  string          `json:"toolHash,omitempty"` // of the tool when the person was asked
	Text      string          `json:"text,omitempty"`     // of its result
	Summary   string          `json:"summary,omitempty"`
}

// state returns the present state of the run.
func (r *run) state() (State, error) {
	s := snapshot{
		Version: stateVersion, Step: r.outcome.Iterations, Silent: r.silent, Answer: r.answer.String(), Usage: r.outcome.Usage, ToolCalls: r.outcome.ToolCalls,
		Past: r.pastCalls, Repeats: r.repeats, Halvings: r.halvings, Running: r.elapsed(),
	}
	for id := range r.callIDs {
		s.CallIDs = append(s.CallIDs, id)
	}
	for _, e := range r.window.entries {
		s.Entries = append(s.Entries, storedEntry{Message: e.message, Step: e.step, Tool: e.tool, Text: e.text, Level: e.level})
	}
	if r.turn != nil {
		s.Turn = &storedTurn{Text: r.turn.text}
		for _, inv := range r.turn.invocations {
			call := inv.storedCall
			call.Text, call.Summary = inv.result.Text, inv.result.Summary
			s.Turn.Calls = append(s.Turn.Calls, call)
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the state of a run: %w", err)
	}
	return State(data), nil
}

// restore continues from a state.
func (r *run) restore(state State) error {
	var s snapshot
	if err := json.Unmarshal(state, &s); err != nil || s.Version != stateVersion {
		return fmt.Errorf("%w: version %d", ErrState, s.Version)
	}
	r.outcome.Iterations, r.outcome.Usage, r.outcome.ToolCalls = s.Step, s.Usage, s.ToolCalls
	r.silent, r.repeats, r.halvings = s.Silent, s.Repeats, s.Halvings
	r.before = s.Running
	r.answer.WriteString(s.Answer)
	for _, id := range s.CallIDs {
		r.callIDs[id] = true
	}
	if s.Past != nil {
		r.pastCalls = s.Past
	}
	for _, e := range s.Entries {
		r.window.add(entry{message: e.Message, step: e.Step, tool: e.Tool, text: e.Text, level: e.Level})
	}
	if s.Turn == nil {
		return nil
	}
	r.turn = &openTurn{text: s.Turn.Text}
	for _, c := range s.Turn.Calls {
		r.turn.invocations = append(r.turn.invocations, &invocation{storedCall: c, result: Result{Text: c.Text, Summary: c.Summary}, tool: r.tools[c.Call.Name]})
	}
	return nil
}
