package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/policy"
)

func TestTheStrictestPolicyGoverns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all  []policy.Policy
		want policy.Policy
	}{
		{nil, ""},
		{[]policy.Policy{"", ""}, ""},
		{[]policy.Policy{"", policy.Allow}, policy.Allow},
		{[]policy.Policy{policy.Allow, policy.Ask, policy.Allow}, policy.Ask},
		{[]policy.Policy{policy.Ask, policy.Deny, policy.Allow}, policy.Deny},
		{[]policy.Policy{policy.Allow, "unknown"}, policy.Deny},
	} {
		if got := policy.Strictest(c.all...); got != c.want {
			t.Errorf("%q: got %q, want %q", c.all, got, c.want)
		}
	}
}

func TestOnlyReadingIsAllowedByDefault(t *testing.T) {
	t.Parallel()
	for risk, want := range map[policy.Risk]policy.Policy{
		policy.Read: policy.Allow, "": policy.Allow, policy.Write: policy.Ask, policy.Send: policy.Ask, policy.Delete: policy.Ask,
		policy.Question: policy.Ask, "other": policy.Ask,
	} {
		if got := risk.Default(); got != want {
			t.Errorf("%q: got %q, want %q", risk, got, want)
		}
	}
	if policy.Read.Acts() || policy.Question.Acts() || !policy.Write.Acts() || !policy.Risk("other").Acts() {
		t.Error("the acting risks are wrong")
	}
}

func TestRulesLookAtTheArguments(t *testing.T) {
	t.Parallel()
	const arguments = `{"to": ["ada@example.com", "eve@other.org"], "amount": 1000000000000000001, "draft": true, "note": "Please DELETE all", "issue": {"labels": [{"name": "urgent"}]}, "n": "7"}`
	for _, c := range []struct {
		path  string
		op    policy.Op
		value any
		want  bool
	}{
		{"draft", policy.Equal, true, true},
		{"draft", policy.Equal, "true", true},
		{"draft", policy.NotEqual, true, false},
		{"missing", policy.NotEqual, "x", true},
		{"missing", policy.Equal, "x", false},
		{"amount", policy.Equal, json.Number("1000000000000000001"), true},
		{"amount", policy.Equal, json.Number("1000000000000000000"), false},
		{"amount", policy.Greater, json.Number("1000000000000000000"), true},
		{"amount", policy.Less, 5.0, false},
		{"n", policy.Less, 8.0, true},
		{"note", policy.Contains, "delete", true},
		{"to", policy.Contains, "eve@other.org", true},
		{"to", policy.Contains, "eve", false},
		{"to.*", policy.Matches, `@other\.org$`, true},
		{"to.0", policy.Matches, `@other\.org$`, false},
		{"to.9", policy.Exists, true, false},
		{"to.9", policy.Exists, false, true},
		{"issue.labels.*.name", policy.In, []any{"low", "urgent"}, true},
		{"issue.labels.*.name", policy.In, []any{"low"}, false},
		{"issue.*", policy.Exists, true, true},
	} {
		rules := []policy.Rule{{Path: c.path, Op: c.op, Value: c.value, Policy: policy.Deny}}
		if err := policy.Check("rules", rules); err != nil {
			t.Errorf("%s %s: %v", c.path, c.op, err)
		}
		if got := policy.Evaluate(rules, json.RawMessage(arguments)) == policy.Deny; got != c.want {
			t.Errorf("%s %s %v: got %v", c.path, c.op, c.value, got)
		}
	}
}

func TestAmongRulesTheStrictestGoverns(t *testing.T) {
	t.Parallel()
	rules := []policy.Rule{
		{Path: "a", Op: policy.Exists, Value: true, Policy: policy.Allow},
		{Path: "b", Op: policy.Exists, Value: true, Policy: policy.Ask},
		{Path: "c", Op: policy.Exists, Value: true, Policy: policy.Deny},
	}
	for arguments, want := range map[string]policy.Policy{
		`{}`: "", `{"a":1}`: policy.Allow, `{"a":1,"b":2}`: policy.Ask, `{"a":1,"b":2,"c":3}`: policy.Deny, `no JSON`: policy.Deny, ``: policy.Deny,
	} {
		if got := policy.Evaluate(rules, json.RawMessage(arguments)); got != want {
			t.Errorf("%s: got %q, want %q", arguments, got, want)
		}
	}
	if got := policy.Evaluate(nil, json.RawMessage(`no JSON`)); got != "" {
		t.Errorf("without rules: %q", got)
	}
}

func TestRulesThatCannotBeUsedAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	good := policy.Rule{Path: "a", Op: policy.Equal, Value: "b", Policy: policy.Ask}
	for part, bad := range map[string]policy.Rule{
		"path":   {Path: "a..b", Op: policy.Equal, Policy: policy.Ask},
		"op":     {Path: "a", Op: "like", Value: "x", Policy: policy.Ask},
		"value":  {Path: "a", Op: policy.Matches, Value: "(", Policy: policy.Ask},
		"policy": {Path: "a", Op: policy.Equal, Policy: "maybe"},
	} {
		err := policy.Check("argumentRules", []policy.Rule{good, bad})
		if err == nil || !strings.Contains(err.Error(), "argumentRules[1]."+part) {
			t.Errorf("%s: %v", part, err)
		}
		if got := policy.Evaluate([]policy.Rule{bad}, json.RawMessage(`{}`)); got != policy.Deny {
			t.Errorf("%s: evaluated to %q", part, got)
		}
	}
	if err := policy.Check("argumentRules", make([]policy.Rule, policy.MaxRules+1)); err == nil {
		t.Error("too many rules are accepted")
	}
}

func FuzzEvaluate(f *testing.F) {
	f.Add(`{"a":{"b":[1,2,{"c":"d"}]}}`, "a.b.*.c", "matches", `"d"`)
	f.Add(`[]`, "*", "in", `[1e999]`)
	f.Add(`{"a":1e400000000}`, "a", "gt", `1`)
	f.Fuzz(func(t *testing.T, arguments, path, op, value string) {
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			return
		}
		rules := []policy.Rule{{Path: path, Op: policy.Op(op), Value: v, Policy: policy.Ask}}
		got := policy.Evaluate(rules, json.RawMessage(arguments))
		if got != "" && got != policy.Ask && got != policy.Deny {
			t.Errorf("got %q", got)
		}
		if policy.Check("rules", rules) == nil && json.Valid([]byte(arguments)) && got == policy.Deny {
			t.Errorf("a usable rule gave %q", got)
		}
	})
}
