package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/safetext"
)

// ErrUnknownOutcome says that a change may or may not have been made.
var ErrUnknownOutcome = loop.ErrUnknownOutcome

// Define completes a tool by the type In of its arguments: the schema comes from it,
// and arguments are decoded into it before they are previewed or used. preview is nil
// for tools that only read.
func Define[In any](t Tool, preview func(in In) loop.Preview, call func(ctx context.Context, a Account, in In) (loop.Result, error)) Tool {
	t.Schema = arguments.Schema[In]()
	if preview != nil {
		t.Preview = func(raw json.RawMessage) (loop.Preview, error) {
			in, err := arguments.Decode[In](raw)
			if err != nil {
				return loop.Preview{}, err
			}
			return preview(in), nil
		}
	}
	t.Call = func(ctx context.Context, a Account, raw json.RawMessage) (loop.Result, error) {
		in, err := arguments.Decode[In](raw)
		if err != nil {
			return loop.Result{}, err
		}
		return call(ctx, a, in)
	}
	return t
}

// A Field is a line of a preview. Empty values are left out.
type Field struct{ Name, Value string }

// Fields returns the fields of a map, in the order of their names.
func Fields(values map[string]string) []Field {
	out := make([]Field, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, Field{Name: name, Value: values[name]})
	}
	return out
}

// Show returns the preview of a call: a title and the fields that people decide about.
// Values are shown as they are, never as Markdown.
func Show(title string, fields ...Field) loop.Preview {
	var b strings.Builder
	for _, f := range fields {
		value := strings.TrimSpace(safetext.Storable(f.Value))
		switch {
		case value == "":
		case strings.Contains(value, "\n"):
			fence := strings.Repeat("`", max(3, longestRun(value, '`')+1))
			fmt.Fprintf(&b, "**%s:**\n\n%s\n%s\n%s\n\n", label(f.Name), fence, value, fence)
		default:
			fmt.Fprintf(&b, "**%s:** %s\n\n", label(f.Name), code(value))
		}
	}
	return loop.Preview{Title: safetext.Line(safetext.Truncate(title, maxTitle)), Text: strings.TrimSpace(b.String())}
}

const (
	maxTitle = 200
	maxLabel = 60
)

// label returns the name of a field, which may come from the arguments.
func label(name string) string {
	name = safetext.Line(safetext.Truncate(name, maxLabel))
	if strings.ContainsAny(name, "*_`[]<>\\#!:") {
		return code(name)
	}
	return name
}

// code returns a text as inline code of Markdown.
func code(text string) string {
	text = safetext.Line(text)
	ticks := strings.Repeat("`", longestRun(text, '`')+1)
	if len(ticks) > 1 {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// longestRun returns the length of the longest run of a character in a text.
func longestRun(text string, c rune) (longest int) {
	n := 0
	for _, r := range text {
		if r != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// markerLabel begins the line by which the effect of a call is found at its platform.
const markerLabel = "magpie-run: "

// Marker returns the text by which the effect of the call of a context is found at its
// platform, such as "magpie-run: 0198…". It is "" outside of a call.
func Marker(ctx context.Context) string {
	key := loop.CallInfoFrom(ctx).Key
	if key == "" {
		return ""
	}
	return markerLabel + key
}

// Marked returns a text with the [Marker] as its last line.
func Marked(ctx context.Context, text string) string {
	marker := Marker(ctx)
	switch {
	case marker == "":
		return text
	case strings.TrimSpace(text) == "":
		return marker
	}
	return strings.TrimRight(text, "\n") + "\n\n" + marker
}
