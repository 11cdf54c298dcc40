package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Limits of [Validate].
const (
	maxSchemaBytes   = 128 << 10
	maxArgumentBytes = 1 << 20
	maxDepth         = 64     // of schemas in schemas and of values in values
	maxSteps         = 50_000 // applications of a schema to a value
	maxPattern       = 1000   // bytes of a regular expression
	maxShownValues   = 20     // of an enum, in a message
)

// CheckSchema returns an error if a JSON schema cannot be the schema of a tool's
// arguments: it must be a JSON object of at most 128 KiB whose type, if it has one,
// is object.
func CheckSchema(schema json.RawMessage) error {
	_, err := parseSchema(schema)
	return err
}

func parseSchema(schema json.RawMessage) (map[string]any, error) {
	if len(schema) > maxSchemaBytes {
		return nil, apierr.New(apierr.InvalidRequest, fmt.Sprintf("The schema of the tool is larger than %d KiB.", maxSchemaBytes>>10))
	}
	value, err := parseJSON(schema)
	root, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil, apierr.New(apierr.InvalidRequest, "The schema of the tool is not a JSON object.")
	}
	if kind, ok := root["type"]; ok && kind != "object" {
		return nil, apierr.New(apierr.InvalidRequest, "The schema of the tool is not that of an object.")
	}
	return root, nil
}

func parseJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one value")
	}
	return value, nil
}

// Validate checks the arguments of a call against a JSON schema (2020-12, and the
// forms of draft 7 in use). Its errors are *apierr.Error with InvalidRequest that name
// the argument and say what to change.
//
// Only references within the schema are followed. Annotations, format, dynamic
// references and unevaluated* are ignored, as are patterns that RE2 cannot match: the
// server that gave the schema checks them itself. A schema whose check needs more
// than 50,000 steps cannot be used.
func Validate(schema, arguments json.RawMessage) error {
	root, err := parseSchema(schema)
	if err != nil {
		return err
	}
	if len(arguments) > maxArgumentBytes {
		return apierr.New(apierr.InvalidRequest, fmt.Sprintf("The arguments are larger than %d MiB.", maxArgumentBytes>>20))
	}
	value, err := parseJSON(arguments)
	if _, ok := value.(map[string]any); err != nil || !ok {
		return apierr.New(apierr.InvalidRequest, errNoObject)
	}
	v := &validator{root: root, patterns: map[string]*regexp.Regexp{}}
	switch problem := v.check(root, value, "", 0); {
	case v.failure != "":
		return apierr.New(apierr.InvalidRequest, v.failure)
	case problem != nil:
		return problem.err()
	}
	return nil
}

// A mismatch says which value is wrong, and why.
type mismatch struct{ path, text string }

func (m *mismatch) err() error {
	if m.path == "" {
		return apierr.New(apierr.InvalidRequest, "The arguments "+m.text+".")
	}
	return apierr.Invalid(safetext.Line(safetext.Truncate(m.path, maxPathLength)), m.text)
}

const maxPathLength = 200

type validator struct {
	root     map[string]any
	patterns map[string]*regexp.Regexp
	steps    int
	failure  string // why the schema cannot be used
}

// check returns what is wrong with a value, nil for nothing.
func (v *validator) check(schema, value any, path string, depth int) *mismatch {
	if v.steps++; v.failure == "" && (v.steps > maxSteps || depth > maxDepth) {
		v.failure = "The schema of the tool is too complex to check these arguments."
	}
	if v.failure != "" {
		return nil
	}
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return &mismatch{path, "is not allowed"}
		}
		return nil
	}
	if reference, ok := s["$ref"].(string); ok {
		target, ok := v.resolve(reference)
		if !ok {
			v.failure = "The schema of the tool refers to something that is not in it: " + safetext.Line(safetext.Truncate(reference, maxNameLength)) + "."
			return nil
		}
		if problem := v.check(target, value, path, depth+1); problem != nil {
			return problem
		}
	}
	for _, rule := range []func(map[string]any, any, string, int) *mismatch{v.checkType, v.checkValues, v.checkSize, v.checkObject, v.checkArray, v.checkCombined} {
		if problem := rule(s, value, path, depth); problem != nil || v.failure != "" {
			return problem
		}
	}
	return nil
}

// resolve returns the schema that a reference such as "#/$defs/name" names.
func (v *validator) resolve(reference string) (any, bool) {
	pointer, ok := strings.CutPrefix(reference, "#")
	if !ok {
		return nil, false
	}
	var at any = v.root
	if pointer == "" {
		return at, true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch inner := at.(type) {
		case map[string]any:
			at, ok = inner[part]
		case []any:
			i, err := strconv.Atoi(part)
			if ok = err == nil && i >= 0 && i < len(inner); ok {
				at = inner[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return at, true
}

func (v *validator) checkType(s map[string]any, value any, path string, _ int) *mismatch {
	var types []string
	switch t := s["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		for _, item := range t {
			if text, ok := item.(string); ok {
				types = append(types, text)
			}
		}
	}
	if len(types) == 0 || slices.ContainsFunc(types, func(name string) bool { return hasType(value, name) }) {
		return nil
	}
	return &mismatch{path, "must be " + strings.Join(safeNames(types), " or ")}
}

func hasType(value any, name string) bool {
	switch value := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	case json.Number:
		if name == "number" {
			return true
		}
		f, err := value.Float64()
		return name == "integer" && err == nil && f == math.Trunc(f)
	}
	return false
}

func (v *validator) checkValues(s map[string]any, value any, path string, _ int) *mismatch {
	if allowed, ok := s["enum"].([]any); ok {
		if v.steps += len(allowed) / 10; !slices.ContainsFunc(allowed, func(a any) bool { return sameJSON(a, value) }) {
			names := make([]string, 0, maxShownValues)
			for _, a := range allowed[:min(len(allowed), maxShownValues)] {
				names = append(names, jsonText(a))
			}
			if len(allowed) > maxShownValues {
				names = append(names, "…")
			}
			return &mismatch{path, "must be one of " + strings.Join(safeNames(names), ", ")}
		}
	}
	if wanted, ok := s["const"]; ok && !sameJSON(wanted, value) {
		return &mismatch{path, "must be " + safeNames([]string{jsonText(wanted)})[0]}
	}
	return nil
}

func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		x, errX := a.Float64()
		y, errY := b.Float64()
		return ok && (a == b || errX == nil && errY == nil && x == y)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !sameJSON(value, other) {
				return false
			}
		}
		return true
	default:
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return a == b
	}
}

func jsonText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "another value"
	}
	return string(text)
}

func safeNames(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = safetext.Line(safetext.Truncate(name, maxNameLength))
	}
	return out
}

// checkSize checks the bounds of numbers and the lengths of texts.
func (v *validator) checkSize(s map[string]any, value any, path string, _ int) *mismatch {
	switch value := value.(type) {
	case json.Number:
		return checkNumber(s, value, path)
	case string:
		length := float64(utf8.RuneCountInString(value))
		if least, ok := number(s["minLength"]); ok && length < least {
			return &mismatch{path, "must have at least " + formatNumber(least) + " characters"}
		}
		if most, ok := number(s["maxLength"]); ok && length > most {
			return &mismatch{path, "must have at most " + formatNumber(most) + " characters"}
		}
		if pattern, ok := s["pattern"].(string); ok {
			v.steps += len(value) / 100
			if expression := v.compile(pattern); expression != nil && !expression.MatchString(value) {
				return &mismatch{path, "must match the pattern " + safetext.Line(safetext.Truncate(pattern, maxPathLength))}
			}
		}
	}
	return nil
}

func checkNumber(s map[string]any, value json.Number, path string) *mismatch {
	x, err := value.Float64()
	if err != nil {
		return &mismatch{path, "must be a smaller number"}
	}
	if least, ok := number(s["minimum"]); ok && x < least {
		return &mismatch{path, "must be at least " + formatNumber(least)}
	}
	if most, ok := number(s["maximum"]); ok && x > most {
		return &mismatch{path, "must be at most " + formatNumber(most)}
	}
	if least, ok := number(s["exclusiveMinimum"]); ok && x <= least {
		return &mismatch{path, "must be more than " + formatNumber(least)}
	}
	if most, ok := number(s["exclusiveMaximum"]); ok && x >= most {
		return &mismatch{path, "must be less than " + formatNumber(most)}
	}
	if step, ok := number(s["multipleOf"]); ok && step > 0 {
		const rounding = 1e-9
		if q := x / step; math.Abs(q-math.Round(q)) > rounding*math.Max(1, math.Abs(q)) {
			return &mismatch{path, "must be a multiple of " + formatNumber(step)}
		}
	}
	return nil
}

// compile returns a pattern's expression, or nil if there is none.
func (v *validator) compile(pattern string) *regexp.Regexp {
	if expression, ok := v.patterns[pattern]; ok || len(pattern) > maxPattern {
		return expression
	}
	v.steps += len(pattern)
	expression, err := regexp.Compile(pattern)
	if err != nil {
		expression = nil
	}
	v.patterns[pattern] = expression
	return expression
}

func number(value any) (float64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
