package loop

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/model/llm"
)

// Lengths to which results are shortened, in characters.
const (
	briefResult = 600 // an old result: its beginning
	leastResult = 400 // the newest ones, where nothing else can give way
)

// window is the conversation as the model is shown it: kept below a budget of tokens by shortening the oldest results
// first, then leaving out the oldest turns of earlier runs, and only then shortening what has just come.
type window struct {
	count   func(string) int
	fixed   int // the rules, the question and the tools
	entries []entry
}

// entry is a message with its size in tokens.
type entry struct {
	message llm.Message
	size    int
	step    int    // of this run; 0 for what was said before it
	tool    string // of a result
	text    string // of a result: what it said
	level   int    // how far it is shortened
}

const messageOverhead = 6

func (w *window) add(e entry) {
	e.size = w.sizeOf(e.message)
	w.entries = append(w.entries, e)
}

func (w *window) sizeOf(m llm.Message) int {
	size := messageOverhead + w.count(m.Content)
	for _, call := range m.Calls {
		size += messageOverhead + w.count(call.Name) + w.count(call.Arguments)
	}
	return size
}

func (w *window) size() int {
	total := w.fixed
	for _, e := range w.entries {
		total += e.size
	}
	return total
}

// fit shortens until everything is within the budget, or nothing is left to shorten.
func (w *window) fit(budget int) {
	over := w.size() - budget
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
	for over > 0 && w.earlier() > 0 {
		n := 1
		if w.earlier() > 1 && w.entries[1].message.Role == llm.RoleAssistant {
			n = 2 // a question goes with its answer
		}
		for _, e := range w.entries[:n] {
			over -= e.size
		}
		w.entries = slices.Delete(w.entries, 0, n)
	}
	for share := 8 * leastResult; over > 0 && share >= leastResult; share /= 2 {
		for i := range w.entries {
			if e := &w.entries[i]; over > 0 && e.message.Role == llm.RoleTool && e.step == last && utf8.RuneCountInString(e.text) > share {
				over -= w.set(e, clipped(e.text, share))
			}
		}
	}
}

// earlier is how many messages come from earlier runs.
func (w *window) earlier() int {
	n := 0
	for n < len(w.entries) && w.entries[n].step == 0 && n < len(w.entries)-1 {
		n++
	}
	return n
}

func (w *window) shorten(e *entry, level int) int {
	e.level = level
	if level == 1 {
		if utf8.RuneCountInString(e.text) <= briefResult {
			return 0
		}
		return w.set(e, clipped(e.text, briefResult))
	}
	return w.set(e, fmt.Sprintf("[left out for want of room: %d bytes]", len(e.text)))
}

// set replaces what a result says and returns how many tokens that saves.
func (w *window) set(e *entry, text string) int {
	before := e.size
	e.message.Content = data(e.tool, text)
	e.size = w.sizeOf(e.message)
	return before - e.size
}

// whole reports whether the model is still shown all of a call's result.
func (w *window) whole(call string) bool {
	return slices.ContainsFunc(w.entries, func(e entry) bool { return e.message.CallID == call && e.level == 0 })
}

func (w *window) messages() []llm.Message {
	out := make([]llm.Message, len(w.entries))
	for i, e := range w.entries {
		out[i] = e.message
	}
	return out
}
