package loop

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/model/llm"
)

// Lengths of shortened results, in characters.
const (
	shortResult = 600 // of a result of an earlier step
	minResult   = 400 // of a result of the last step, if nothing else can be shortened
)

// window is the conversation that the model sees. It stays within a budget of
// tokens by shortening the oldest results, then by dropping the oldest turns of
// earlier runs, and only then by shortening the newest results.
type window struct {
	count       func(string) int
	fixedTokens int // of the system prompt and the tools
	entries     []entry
}

// entry is a message with its size.
type entry struct {
	message llm.Message
	tokens  int
	step    int    // of this run; 0 for earlier messages
	tool    string // of a result
	text    string // of a result: its full text
	level   int    // how far the result is shortened
}

const messageOverhead = 6

func (w *window) add(e entry) {
	e.tokens = w.tokensOf(e.message)
	w.entries = append(w.entries, e)
}

func (w *window) tokensOf(m llm.Message) int {
	size := messageOverhead + w.count(m.Content)
	for _, call := range m.Calls {
		size += messageOverhead + w.count(call.Name) + w.count(call.Arguments)
	}
	return size
}

func (w *window) tokens() int {
	total := w.fixedTokens
	for _, e := range w.entries {
		total += e.tokens
	}
	return total
}

// fit shortens the window until it is within the budget or cannot be shortened
// further.
func (w *window) fit(budget int) {
	over := w.tokens() - budget
	if over <= 0 {
		return
	}
	last := 0
	for _, e := range w.entries {
		last = max(last, e.step)
	}
	for level := 1; level <= 2 && over > 0; level++ {
		for i := range w.entries {
			if e := &w.entries[i]; over > 0 && e.message.Role == llm.RoleTool && e.step < last && e.level < level {
				over -= w.shorten(e, level)
			}
		}
	}
	for over > 0 && w.earlierMessages() > 0 {
		n := 1
		if w.earlierMessages() > 1 && w.entries[1].message.Role == llm.RoleAssistant {
			n = 2 // the question and its answer
		}
		for _, e := range w.entries[:n] {
			over -= e.tokens
		}
		w.entries = slices.Delete(w.entries, 0, n)
	}
	for limit := 8 * minResult; over > 0 && limit >= minResult; limit /= 2 {
		for i := range w.entries {
			if e := &w.entries[i]; over > 0 && e.message.Role == llm.RoleTool && e.step == last && utf8.RuneCountInString(e.text) > limit {
				over -= w.replaceText(e, truncateResult(e.text, limit))
			}
		}
	}
}

// earlierMessages returns how many messages come from earlier runs.
func (w *window) earlierMessages() int {
	n := 0
	for n < len(w.entries) && w.entries[n].step == 0 && n < len(w.entries)-1 {
		n++
	}
	return n
}

func (w *window) shorten(e *entry, level int) int {
	e.level = level
	if level == 1 {
		if utf8.RuneCountInString(e.text) <= shortResult {
			return 0
		}
		return w.replaceText(e, truncateResult(e.text, shortResult))
	}
	return w.replaceText(e, fmt.Sprintf("[left out for want of room: %d bytes]", len(e.text)))
}

// replaceText replaces the text of a result and returns how many tokens that
// saves.
func (w *window) replaceText(e *entry, text string) int {
	before := e.tokens
	e.message.Content = markData(e.tool, text)
	e.tokens = w.tokensOf(e.message)
	return before - e.tokens
}

// hasFullResult reports whether the model still sees the full result of a call.
func (w *window) hasFullResult(call string) bool {
	return slices.ContainsFunc(w.entries, func(e entry) bool { return e.message.CallID == call && e.level == 0 })
}

func (w *window) messages() []llm.Message {
	out := make([]llm.Message, len(w.entries))
	for i, e := range w.entries {
		out[i] = e.message
	}
	return out
}
