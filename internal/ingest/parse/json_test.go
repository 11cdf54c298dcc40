package parse_test

import (
	"errors"
	"strings"
	"testing"

	"magpie/internal/ingest/document"
	"magpie/internal/ingest/parse"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, content, want string }{
		"object": {"a.json", `{"name": "x", "port": 80, "on": true, "none": null, "tags": ["a", "b"], "inner": {"a b": {"c": 1.50}}}`,
			"name: x\nport: 80\non: true\nnone: null\ntags: a, b\n\ninner.\"a b\".c: 1.50"},
		"array":         {"a.json", `[{"a": 1}, {"a": [[2], 3]}]`, "[0].a: 1\n\n[1].a[0]: 2\n\n[1].a: 3"},
		"scalar":        {"a.json", `"text"`, "text"},
		"lines":         {"a.jsonl", "{\"a\":1}\n{\"a\":2}\n", "a: 1\n\na: 2"},
		"lines in JSON": {"a.json", "{\"a\":1}\n{\"a\":2}\n", "a: 1\n\na: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mustParse(t, c.file, c.content).Markdown(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if title := mustParse(t, "openapi.json", `{"openapi": "3.1", "info": {"title": "Orders", "description": "d"}}`).Title; title != "Orders" {
		t.Errorf("title is %q", title)
	}
	for content, want := range map[string]string{
		`{"a": 1,`:            "byte 8 (line 1, column 9): the file ends too early",
		"{\n  \"a\": tru,\n}": "line 2",
		`{"a": 1} x`:          "invalid JSON at byte",
		`{"a" 1}`:             "invalid JSON at byte",
		`[1, 2`:               "the file ends too early",
		`nonsense`:            "invalid JSON at byte",
	} {
		_, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: "a.json", Content: []byte(content)})
		if unsupported := (*document.UnsupportedError)(nil); err == nil || errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}
