package injection

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Text is a text that tries to change what an agent does.
type Text struct{ Name, Aim, Text string }

// Kinds are the kinds of texts, with ten of each.
func Kinds() []string { return []string{"document", "mail", "tool_result"} }

// Texts returns the texts of a kind, which order the call of a tool.
func Texts(t testing.TB, kind, tool, arguments string) []Text {
	t.Helper()
	content, err := fs.ReadFile(os.DirFS(root(t)), "testdata/injection/"+kind+".json")
	if err != nil {
		t.Fatal(err)
	}
	var out []Text
	if err := json.Unmarshal(content, &out); err != nil || len(out) != 10 {
		t.Fatalf("%d texts: %v", len(out), err)
	}
	for i := range out {
		if !strings.Contains(out[i].Text, "{{call}}") {
			t.Fatalf("%s orders nothing", out[i].Name)
		}
		out[i].Text = strings.ReplaceAll(out[i].Text, "{{call}}", "CALL "+tool+" "+arguments+";")
	}
	return out
}

// root returns the folder of the module.
func root(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if filepath.Dir(at) == at {
			t.Fatal("there is no go.mod above the test")
		}
		at = filepath.Dir(at)
	}
}

// Evil is the text in every argument of Arguments that takes one.
const Evil = "eve@evil.example"

// Arguments returns arguments that fit the JSON schema of a tool, with all
// properties.
func Arguments(t testing.TB, schema json.RawMessage) string {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(example(s))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// example returns a value that fits a schema of the forms that tools of Magpie have.
func example(s map[string]any) any {
	if choices, ok := s["enum"].([]any); ok && len(choices) > 0 {
		return choices[0]
	}
	switch s["type"] {
	case "object":
		out := map[string]any{}
		properties, _ := s["properties"].(map[string]any)
		for name, p := range properties {
			if p, ok := p.(map[string]any); ok {
				out[name] = example(p)
			}
		}
		if more, ok := s["additionalProperties"].(map[string]any); ok && len(properties) == 0 {
			out["Name"] = example(more)
		}
		return out
	case "array":
		items, _ := s["items"].(map[string]any)
		return []any{example(items)}
	case "integer", "number":
		if least, ok := s["minimum"].(float64); ok {
			return least
		}
		return 1
	case "boolean":
		return true
	default:
		if most, ok := s["maxLength"].(float64); ok && int(most) < len(Evil) {
			return Evil[:int(most)]
		}
		return Evil
	}
}
