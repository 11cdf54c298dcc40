package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Op compares the argument at a path with the value of a rule.
type Op string

// The operations of rules. All but NotEqual need the argument to be present; with a
// list of arguments, one that matches is enough.
const (
	Equal    Op = "eq"
	NotEqual Op = "neq"      // also holds if the argument is missing
	Contains Op = "contains" // a text contains the value, in any case; a list has it as an item
	Matches  Op = "matches"  // a text matches the regular expression
	In       Op = "in"       // the value is a list that has the argument
	Exists   Op = "exists"   // the value is true, or false for "does not exist"
	Greater  Op = "gt"       // a number is greater than the value
	Less     Op = "lt"       // a number is less than the value
)

// Rule gives calls with certain arguments a policy.
type Rule struct {
	// Path leads to the argument, such as "recipient.email". A number is the index
	// in a list, and "*" stands for every item.
	Path   string `json:"path"`
	Op     Op     `json:"op"`
	Value  any    `json:"value"`
	Policy Policy `json:"policy"`
}

// Limits of rules.
const (
	MaxRules    = 50  // of one tool
	maxPath     = 200 // characters
	maxPattern  = 500 // characters of a regular expression
	maxInValues = 500
)

// Check returns an error with the position of the first rule that cannot be used.
func Check(field string, rules []Rule) error {
	if len(rules) > MaxRules {
		return apierr.Invalid(field, fmt.Sprintf("must have at most %d rules", MaxRules))
	}
	for i, r := range rules {
		if problem, part := r.problem(); problem != "" {
			return apierr.Invalid(fmt.Sprintf("%s[%d].%s", field, i, part), problem)
		}
	}
	return nil
}

func (r Rule) problem() (problem, part string) {
	switch {
	case !utf8.ValidString(r.Path) || r.Path == "" || utf8.RuneCountInString(r.Path) > maxPath || strings.Contains("."+r.Path+".", ".."):
		return fmt.Sprintf("must be a path such as recipient.email, of at most %d characters", maxPath), "path"
	case !r.Policy.Valid():
		return "must be one of allow, ask, deny", "policy"
	}
	switch r.Op {
	case Equal, NotEqual:
		return "", ""
	case Contains:
		if r.Value == nil {
			return "is required", "value"
		}
	case Matches:
		pattern, ok := r.Value.(string)
		if _, err := regexp.Compile(pattern); !ok || err != nil || utf8.RuneCountInString(pattern) > maxPattern {
			return fmt.Sprintf("must be a regular expression of at most %d characters", maxPattern), "value"
		}
	case In:
		if list, ok := r.Value.([]any); !ok || len(list) > maxInValues {
			return fmt.Sprintf("must be a list of at most %d values", maxInValues), "value"
		}
	case Exists:
		if _, ok := r.Value.(bool); !ok {
			return "must be true or false", "value"
		}
	case Greater, Less:
		if number(r.Value) == nil {
			return "must be a number", "value"
		}
	default:
		return "must be one of eq, neq, contains, matches, in, exists, gt, lt", "op"
	}
	return "", ""
}

// Evaluate returns the strictest policy of the rules that apply to the arguments of
// a call, or an empty policy if none does. Arguments that are not JSON, and a rule
// that cannot be used, give Deny.
func Evaluate(rules []Rule, arguments json.RawMessage) Policy {
	if len(rules) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return Deny
	}
	var out Policy
	for _, r := range rules {
		if problem, _ := r.problem(); problem != "" {
			return Deny
		}
		if r.Holds(value) {
			out = Strictest(out, r.Policy)
		}
	}
	return out
}

// Holds reports whether the rule applies to a decoded JSON value.
func (r Rule) Holds(value any) bool {
	found := Values(value, r.Path)
	switch r.Op {
	case Exists:
		wanted, _ := r.Value.(bool)
		return wanted == (len(found) > 0)
	case NotEqual:
		if len(found) == 0 {
			return true
		}
	}
	for _, v := range found {
		if r.matches(v) {
			return true
		}
	}
	return false
}

func (r Rule) matches(v any) bool {
	switch r.Op {
	case Equal:
		return equal(v, r.Value)
	case NotEqual:
		return !equal(v, r.Value)
	case Contains:
		if list, ok := v.([]any); ok {
			return has(list, r.Value)
		}
		text, isText := v.(string)
		part, isPart := r.Value.(string)
		return isText && isPart && strings.Contains(strings.ToLower(text), strings.ToLower(part))
	case Matches:
		pattern, _ := r.Value.(string)
		expression, err := regexp.Compile(pattern)
		return err == nil && expression.MatchString(textOf(v))
	case In:
		list, _ := r.Value.([]any)
		return has(list, v)
	case Greater, Less:
		a, b := number(v), number(r.Value)
		if a == nil || b == nil {
			return false
		}
		if r.Op == Greater {
			return a.Cmp(b) > 0
		}
		return a.Cmp(b) < 0
	default:
		return false
	}
}

// Values returns the values at the path of a rule in a decoded JSON value.
func Values(value any, path string) []any { return valuesAt(value, strings.Split(path, ".")) }

// valuesAt returns the values at a path.
func valuesAt(value any, path []string) []any {
	if len(path) == 0 {
		return []any{value}
	}
	switch v := value.(type) {
	case map[string]any:
		if inner, ok := v[path[0]]; ok {
			return valuesAt(inner, path[1:])
		}
		if path[0] != "*" {
			return nil
		}
		var out []any
		for _, inner := range v {
			out = append(out, valuesAt(inner, path[1:])...)
		}
		return out
	case []any:
		if path[0] == "*" {
			var out []any
			for _, inner := range v {
				out = append(out, valuesAt(inner, path[1:])...)
			}
			return out
		}
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(v) {
			return valuesAt(v[i], path[1:])
		}
	}
	return nil
}

func has(list []any, value any) bool {
	for _, item := range list {
		if equal(item, value) {
			return true
		}
	}
	return false
}

// equal compares JSON values. Numbers are equal by value; a text is equal to a
// number or a boolean of the same spelling, because models mix them up.
func equal(a, b any) bool {
	if x, y := number(a), number(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	return textOf(a) == textOf(b)
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(text)
	}
}

// maxNumber is the length of the longest text that is read as a number, so that
// an exponent cannot make a huge one.
const maxNumber = 40

// number returns the value of a JSON number, or of a text that is one, or nil.
func number(v any) *big.Float {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
	case float64:
		return big.NewFloat(v)
	case int:
		return new(big.Float).SetInt64(int64(v))
	default:
		return nil
	}
	if text == "" || len(text) > maxNumber || strings.Trim(text, "0123456789+-.eE") != "" {
		return nil
	}
	f, _, err := big.ParseFloat(text, 10, 200, big.ToNearestEven)
	if err != nil {
		return nil
	}
	return f
}
