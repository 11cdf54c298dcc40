package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Set is what a workspace or an agent says about all tools, on top of what integrations
// and tools say. It makes calls stricter, never more lenient. The zero Set says nothing.
type Set struct {
	// Risks has the policies of all tools of a risk.
	Risks map[Risk]Policy `json:"risks,omitempty"`
	// Tools has the policies of tools by their names: "jira.create_issue", or "jira.*"
	// for all tools whose names begin with "jira.".
	Tools map[string]Policy `json:"tools,omitempty"`
	// Rules are about the arguments of calls.
	Rules []ToolRule `json:"rules,omitempty"`
}

// ToolRule is a rule for the calls of one tool, or of several.
type ToolRule struct {
	Tool string `json:"tool"` // as in Set.Tools; "*" for every tool
	Rule
}

// Limits of a Set.
const (
	maxSetTools = 500
	maxSetRules = 200
	maxSetBytes = 128 << 10
	maxToolName = 200
)

// ParseSet decodes and checks a Set; nothing and null are the zero Set. Its error names
// the place below field.
func ParseSet(field string, data json.RawMessage) (Set, error) {
	var s Set
	if text := bytes.TrimSpace(data); len(text) == 0 || string(text) == "null" {
		return s, nil
	}
	if len(data) > maxSetBytes {
		return s, apierr.Invalid(field, fmt.Sprintf("must have at most %d bytes", maxSetBytes))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Set{}, apierr.Invalid(field, "must be an object with risks, tools and rules: "+strings.TrimPrefix(err.Error(), "json: "))
	}
	return s, s.check(field)
}

// SetText returns a Set that a person wrote as the text to store. Nil is the zero Set.
func SetText(field string, set map[string]any) (json.RawMessage, error) {
	if set == nil {
		return json.RawMessage("{}"), nil
	}
	text, err := json.Marshal(set)
	if err != nil {
		return nil, apierr.Invalid(field, "must be a JSON object")
	}
	_, err = ParseSet(field, text)
	return text, err
}

// StoredSet returns a Set that was stored. One that this version cannot read denies
// everything.
func StoredSet(text json.RawMessage) Set {
	s, err := ParseSet("toolPolicy", text)
	if err != nil {
		return Set{Tools: map[string]Policy{"*": Deny}}
	}
	return s
}

func (s Set) check(field string) error {
	for _, risk := range slices.Sorted(maps.Keys(s.Risks)) {
		place := field + ".risks." + string(risk)
		if !slices.Contains([]Risk{Read, Write, Send, Delete}, risk) {
			return apierr.Invalid(place, "must be one of read, write, send, delete")
		}
		if err := stricter(place, s.Risks[risk]); err != nil {
			return err
		}
	}
	if len(s.Tools) > maxSetTools || len(s.Rules) > maxSetRules {
		return apierr.Invalid(field, fmt.Sprintf("must have at most %d tools and %d rules", maxSetTools, maxSetRules))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		place := field + ".tools." + name
		if err := checkToolName(place, name); err != nil {
			return err
		}
		if err := stricter(place, s.Tools[name]); err != nil {
			return err
		}
	}
	for i, r := range s.Rules {
		place := fmt.Sprintf("%s.rules[%d]", field, i)
		if err := checkToolName(place+".tool", r.Tool); err != nil {
			return err
		}
		if problem, part := r.problem(); problem != "" {
			return apierr.Invalid(place+"."+part, problem)
		}
		if err := stricter(place+".policy", r.Policy); err != nil {
			return err
		}
	}
	return nil
}

// stricter refuses a policy that would change nothing, because people would take it for
// a permission.
func stricter(field string, p Policy) error {
	if p != Ask && p != Deny {
		return apierr.Invalid(field, "must be ask or deny: a policy here can only be stricter than the tool's own")
	}
	return nil
}

func checkToolName(field, name string) error {
	stem := strings.TrimSuffix(name, "*")
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxToolName || strings.ContainsAny(stem, "* \t\r\n") ||
		stem != name && stem != "" && !strings.HasSuffix(stem, ".") {
		return apierr.Invalid(field, "must be the name of a tool, such as jira.create_issue, or of a family, such as jira.*")
	}
	return nil
}

// covers reports whether a name of a Set stands for a tool.
func covers(name, tool string) bool {
	if stem, family := strings.CutSuffix(name, "*"); family {
		return strings.HasPrefix(tool, stem)
	}
	return name == tool
}

// Of returns the policy of the set for a call, empty if it says nothing about it.
func (s Set) Of(tool string, risk Risk, arguments json.RawMessage) Policy {
	if risk == "" {
		risk = Read
	}
	out := s.Risks[risk]
	for name, p := range s.Tools {
		if covers(name, tool) {
			out = Strictest(out, p)
		}
	}
	var rules []Rule
	for _, r := range s.Rules {
		if covers(r.Tool, tool) {
			rules = append(rules, r.Rule)
		}
	}
	return Strictest(out, Evaluate(rules, arguments))
}

// Call is a call of a tool with what its integration says about it.
type Call struct {
	Tool string // "jira.create_issue"
	Risk Risk
	// Integration and Own are the policies of the integration and of the tool. If both
	// are empty, the default of Risk counts.
	Integration, Own Policy
	Rules            []Rule // of the tool
	Arguments        json.RawMessage
}

// Decide returns the policy of a call: the strictest of the integration's, the tool's,
// that of its rules and those of the sets of the workspace and the agent. It is never
// empty.
func Decide(c Call, sets ...Set) Policy {
	out := Strictest(c.Integration, c.Own)
	if out == "" {
		out = c.Risk.Default()
	}
	out = Strictest(out, Evaluate(c.Rules, c.Arguments))
	for _, s := range sets {
		out = Strictest(out, s.Of(c.Tool, c.Risk, c.Arguments))
	}
	return out
}
