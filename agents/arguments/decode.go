package arguments

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Decode parses the arguments of a call into an input type and checks its
// rules. It accepts common mistakes of models that are not ambiguous: numbers
// and booleans as strings, a string for a list of one, null for an absent
// value. The message of an error tells the model what to change.
func Decode[In any](arguments json.RawMessage) (In, error) {
	var in In
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil || fields == nil || d.More() {
		return in, apierr.New(apierr.InvalidRequest, errNoObject)
	}
	return in, decodeFields(reflect.ValueOf(&in).Elem(), fields, "")
}

const errNoObject = "The arguments must be one JSON object."

func decodeFields(target reflect.Value, fields map[string]any, prefix string) error {
	known := make([]string, 0, target.NumField())
	for _, f := range reflect.VisibleFields(target.Type()) {
		name := jsonName(f)
		known = append(known, name)
		r := parseRule(f)
		value := fields[name]
		if value == nil {
			if r.required {
				return apierr.Invalid(prefix+name, "is required")
			}
			continue
		}
		if problem := setField(target.FieldByIndex(f.Index), value, r); problem != "" {
			return apierr.Invalid(prefix+name, problem)
		}
		if f.Type.Kind() != reflect.Struct {
			continue
		}
		inner, ok := value.(map[string]any)
		if !ok {
			return apierr.Invalid(prefix+name, "must be an object")
		}
		if err := decodeFields(target.FieldByIndex(f.Index), inner, prefix+name+"."); err != nil {
			return err
		}
	}
	for name := range fields {
		if !slices.Contains(known, name) {
			return apierr.Invalid(prefix+safetext.Truncate(name, maxNameLength), "is not known; known are "+strings.Join(known, ", "))
		}
	}
	return nil
}

// setField stores a value in a field, or returns what is wrong with the value.
func setField(target reflect.Value, value any, r fieldRule) (problem string) {
	switch target.Kind() {
	case reflect.String:
		text, ok := value.(string)
		if !ok {
			return "must be a string"
		}
		target.SetString(text)
		return r.checkText(text)
	case reflect.Int, reflect.Float64:
		return setNumber(target, value, r)
	case reflect.Bool:
		b, ok := value.(bool)
		if text, isText := value.(string); isText && (text == "true" || text == "false") {
			b, ok = text == "true", true
		}
		if !ok {
			return "must be true or false"
		}
		target.SetBool(b)
	case reflect.Map:
		return setTexts(target, value, r)
	case reflect.Slice:
		if text, ok := value.(string); ok {
			value = []any{text}
		}
		list, ok := value.([]any)
		if !ok {
			return "must be an array of strings"
		}
		if r.max != nil && len(list) > int(*r.max) {
			return "must have at most " + formatNumber(*r.max) + " items"
		}
		if r.min != nil && len(list) < int(*r.min) {
			return "must have at least " + formatNumber(*r.min) + " items"
		}
		for _, item := range list {
			text, ok := item.(string)
			if !ok || utf8.RuneCountInString(text) > maxItemLength {
				return "must be an array of strings of at most " + strconv.Itoa(maxItemLength) + " characters"
			}
			target.Set(reflect.Append(target, reflect.ValueOf(text)))
		}
	}
	return ""
}

const maxItemLength = 300

// setTexts stores an object of texts in a map. Numbers and booleans become texts.
func setTexts(target reflect.Value, value any, r fieldRule) (problem string) {
	object, ok := value.(map[string]any)
	switch {
	case !ok:
		return "must be an object"
	case r.max != nil && len(object) > int(*r.max):
		return "must have at most " + formatNumber(*r.max) + " fields"
	case r.min != nil && len(object) < int(*r.min):
		return "must have at least " + formatNumber(*r.min) + " fields"
	}
	texts := map[string]string{}
	for name, value := range object {
		switch value := value.(type) {
		case string:
			texts[name] = value
		case json.Number:
			texts[name] = value.String()
		case bool:
			texts[name] = strconv.FormatBool(value)
		default:
			return "must be an object whose values are strings; wrong is " + safetext.Truncate(name, maxNameLength)
		}
		if utf8.RuneCountInString(name) > maxItemLength || utf8.RuneCountInString(texts[name]) > maxTextLength {
			return "must be an object of names of at most " + strconv.Itoa(maxItemLength) + " and strings of at most " + strconv.Itoa(maxTextLength) + " characters"
		}
	}
	target.Set(reflect.ValueOf(texts))
	return ""
}

const (
	maxTextLength = 20_000
	maxNameLength = 40
)

func (r fieldRule) checkText(text string) (problem string) {
	n := float64(utf8.RuneCountInString(text))
	switch {
	case r.enum != nil && !slices.Contains(r.enum, text):
		return "must be one of " + strings.Join(r.enum, ", ")
	case r.min != nil && (n < *r.min || strings.TrimSpace(text) == ""):
		return "must not be blank"
	case r.max != nil && n > *r.max:
		return "must have at most " + formatNumber(*r.max) + " characters"
	}
	return ""
}

func setNumber(target reflect.Value, value any, r fieldRule) (problem string) {
	isInt := target.Kind() == reflect.Int
	problem = "must be a number"
	if isInt {
		problem = "must be a whole number"
	}
	n, ok := value.(json.Number)
	if text, isText := value.(string); isText {
		n, ok = json.Number(strings.TrimSpace(text)), true
	}
	if !ok {
		return problem
	}
	x, err := n.Float64()
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || isInt && (x != math.Trunc(x) || math.Abs(x) > math.MaxInt32) {
		return problem
	}
	switch below, above := r.min != nil && x < *r.min, r.max != nil && x > *r.max; {
	case (below || above) && r.min != nil && r.max != nil:
		return "must be between " + formatNumber(*r.min) + " and " + formatNumber(*r.max)
	case below:
		return "must be at least " + formatNumber(*r.min)
	case above:
		return "must be at most " + formatNumber(*r.max)
	}
	if isInt {
		target.SetInt(int64(x))
	} else {
		target.SetFloat(x)
	}
	return ""
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
