package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/policy"
)

const workspaceSet = `{"risks": {"delete": "deny", "send": "ask"}, "tools": {"jira.*": "ask", "jira.delete_project": "deny"},
	"rules": [{"tool": "gmail.send", "path": "to.*", "op": "matches", "value": "@rival\\.com$", "policy": "deny"},
		{"tool": "*", "path": "amount", "op": "gt", "value": 100, "policy": "ask"}]}`

func set(t *testing.T, text string) policy.Set {
	t.Helper()
	s, err := policy.ParseSet("toolPolicy", json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheStrictestOfAllSourcesGovernsACall(t *testing.T) {
	t.Parallel()
	workspace, agent := set(t, workspaceSet), set(t, `{"tools": {"jira.search": "deny"}}`)
	rule := []policy.Rule{{Path: "project", Op: policy.Equal, Value: "SECRET", Policy: policy.Deny}}
	for _, c := range []struct {
		call policy.Call
		want policy.Policy
	}{
		{policy.Call{Tool: "wiki.read", Risk: policy.Read}, policy.Allow},
		{policy.Call{Tool: "wiki.read"}, policy.Allow},
		{policy.Call{Tool: "wiki.write", Risk: policy.Write}, policy.Ask},
		{policy.Call{Tool: "wiki.write", Risk: policy.Write, Own: policy.Allow}, policy.Allow},
		{policy.Call{Tool: "wiki.write", Risk: policy.Write, Own: policy.Allow, Integration: policy.Deny}, policy.Deny},
		{policy.Call{Tool: "wiki.write", Risk: policy.Write, Own: policy.Allow, Arguments: json.RawMessage(`{"amount": 101}`)}, policy.Ask},
		{policy.Call{Tool: "wiki.write", Risk: policy.Write, Own: policy.Allow, Arguments: json.RawMessage(`{"amount": 100}`)}, policy.Allow},
		{policy.Call{Tool: "wiki.write", Risk: policy.Write, Own: policy.Allow, Rules: rule, Arguments: json.RawMessage(`{"project": "SECRET"}`)}, policy.Deny},
		{policy.Call{Tool: "wiki.mail", Risk: policy.Send, Own: policy.Allow}, policy.Ask},
		{policy.Call{Tool: "wiki.remove", Risk: policy.Delete, Own: policy.Allow}, policy.Deny},
		{policy.Call{Tool: "jira.get", Risk: policy.Read}, policy.Ask},
		{policy.Call{Tool: "jira.search", Risk: policy.Read}, policy.Deny},
		{policy.Call{Tool: "jirax.get", Risk: policy.Read}, policy.Allow},
		{policy.Call{Tool: "jira.delete_project", Risk: policy.Read}, policy.Deny},
		{policy.Call{Tool: "gmail.send", Risk: policy.Send, Arguments: json.RawMessage(`{"to": ["ada@example.com", "eve@rival.com"]}`)}, policy.Deny},
		{policy.Call{Tool: "gmail.send", Risk: policy.Send, Arguments: json.RawMessage(`{"to": ["ada@example.com"]}`)}, policy.Ask},
		{policy.Call{Tool: "gmail.send", Risk: policy.Send, Arguments: json.RawMessage(`no JSON`)}, policy.Deny},
		{policy.Call{Tool: "wiki.other", Risk: "unknown"}, policy.Ask},
	} {
		if c.call.Arguments == nil {
			c.call.Arguments = json.RawMessage(`{}`)
		}
		if got := policy.Decide(c.call, workspace, agent); got != c.want {
			t.Errorf("%s %s %s: %q, want %q", c.call.Tool, c.call.Own, c.call.Arguments, got, c.want)
		}
	}
}

func TestSetsThatCannotBeUsedAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                                "toolPolicy: must be an object",
		`{"other": 1}`:                      "toolPolicy: must be an object",
		`{"risks": {"write": "allow"}}`:     "toolPolicy.risks.write: must be ask or deny",
		`{"risks": {"question": "deny"}}`:   "toolPolicy.risks.question: must be one of",
		`{"tools": {"jira": "never"}}`:      "toolPolicy.tools.jira: must be ask or deny",
		`{"tools": {"": "ask"}}`:            "toolPolicy.tools.: must be the name",
		`{"tools": {"ji*ra": "ask"}}`:       "toolPolicy.tools.ji*ra: must be the name",
		`{"tools": {"jira*": "ask"}}`:       "toolPolicy.tools.jira*: must be the name",
		`{"rules": [{"tool": "a b"}]}`:      "toolPolicy.rules[0].tool: must be the name",
		`{"rules": [{"tool": "jira.get"}]}`: "toolPolicy.rules[0].path: must be a path",
		`{"rules": [{"tool": "*", "path": "a", "op": "eq", "value": 1, "policy": "allow"}]}`: "toolPolicy.rules[0].policy: must be ask or deny",
		fmt.Sprintf(`{"tools": {"%s": "ask"}}`, strings.Repeat("a", 201)):                    "must be the name",
		`{"tools": {"a": "` + strings.Repeat("a", 128<<10) + `"}}`:                           "toolPolicy: must have at most",
	} {
		if _, err := policy.ParseSet("toolPolicy", json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "null", "{}", " null "} {
		s := set(t, text)
		if got := s.Of("a", policy.Send, json.RawMessage(`{}`)); got != "" {
			t.Errorf("%q says %q", text, got)
		}
	}
}

func TestAStoredSetThatCannotBeReadDeniesEverything(t *testing.T) {
	t.Parallel()
	text, err := policy.SetText("toolPolicy", map[string]any{"risks": map[string]any{"send": "deny"}})
	if err != nil {
		t.Fatal(err)
	}
	call := policy.Call{Tool: "wiki.read", Risk: policy.Read, Arguments: json.RawMessage(`{}`)}
	for stored, want := range map[string]policy.Policy{string(text): policy.Allow, "": policy.Allow, `{"later": true}`: policy.Deny, `[`: policy.Deny} {
		if got := policy.Decide(call, policy.StoredSet(json.RawMessage(stored))); got != want {
			t.Errorf("%s: %q", stored, got)
		}
	}
	if _, err := policy.SetText("toolPolicy", map[string]any{"risks": "deny"}); err == nil {
		t.Error("a bad set was written")
	}
	if empty, err := policy.SetText("toolPolicy", nil); err != nil || string(empty) != "{}" {
		t.Errorf("none: %s, %v", empty, err)
	}
}
