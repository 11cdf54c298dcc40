package tools

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
)

// decode reads the arguments of a call into an input type and checks its rules. What models often get wrong and cannot be
// misunderstood is taken: numbers and booleans as text, one text for a list of one, null for nothing. The message of an
// error tells the model what to do better.
func decode[In any](arguments json.RawMessage) (In, error) {
	var in In
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil || fields == nil {
		return in, apierr.New(apierr.InvalidRequest, "The arguments must be one JSON object.")
	}
	return in, fill(reflect.ValueOf(&in).Elem(), fields, "")
}

func fill(target reflect.Value, fields map[string]any, prefix string) error {
	known := make([]string, 0, target.NumField())
	for _, f := range reflect.VisibleFields(target.Type()) {
		name := nameOf(f)
		known = append(known, name)
		r := ruleOf(f)
		value := fields[name]
		if value == nil {
			if r.required {
				return apierr.Invalid(prefix+name, "is required")
			}
			continue
		}
		if wrong := set(target.FieldByIndex(f.Index), value, r); wrong != "" {
			return apierr.Invalid(prefix+name, wrong)
		}
		if f.Type.Kind() != reflect.Struct {
			continue
		}
		inner, ok := value.(map[string]any)
		if !ok {
			return apierr.Invalid(prefix+name, "must be an object")
		}
		if err := fill(target.FieldByIndex(f.Index), inner, prefix+name+"."); err != nil {
			return err
		}
	}
	for name := range fields {
		if !slices.Contains(known, name) {
			return apierr.Invalid(prefix+cut(name, 40), "is not known; known are "+strings.Join(known, ", "))
		}
	}
	return nil
}

// set puts a value into a field, or says what is wrong with it.
func set(target reflect.Value, value any, r rule) (wrong string) {
	switch target.Kind() {
	case reflect.String:
		text, ok := value.(string)
		if !ok {
			return "must be a string"
		}
		target.SetString(text)
		return r.text(text)
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
	case reflect.Slice:
		if text, ok := value.(string); ok {
			value = []any{text}
		}
		list, ok := value.([]any)
		if !ok {
			return "must be an array of strings"
		}
		if r.max != nil && len(list) > int(*r.max) {
			return "must have at most " + number(*r.max) + " items"
		}
		for _, item := range list {
			text, ok := item.(string)
			if !ok || utf8.RuneCountInString(text) > maxItem {
				return "must be an array of strings of at most " + strconv.Itoa(maxItem) + " characters"
			}
			target.Set(reflect.Append(target, reflect.ValueOf(text)))
		}
	}
	return ""
}

const maxItem = 300

func (r rule) text(text string) (wrong string) {
	n := float64(utf8.RuneCountInString(text))
	switch {
	case r.enum != nil && !slices.Contains(r.enum, text):
		return "must be one of " + strings.Join(r.enum, ", ")
	case r.min != nil && (n < *r.min || strings.TrimSpace(text) == ""):
		return "must not be blank"
	case r.max != nil && n > *r.max:
		return "must have at most " + number(*r.max) + " characters"
	}
	return ""
}

func setNumber(target reflect.Value, value any, r rule) (wrong string) {
	whole := target.Kind() == reflect.Int
	kind := "must be a number"
	if whole {
		kind = "must be a whole number"
	}
	n, ok := value.(json.Number)
	if text, isText := value.(string); isText {
		n, ok = json.Number(strings.TrimSpace(text)), true
	}
	if !ok {
		return kind
	}
	x, err := n.Float64()
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || whole && (x != math.Trunc(x) || math.Abs(x) > math.MaxInt32) {
		return kind
	}
	if r.min != nil && x < *r.min || r.max != nil && x > *r.max {
		return "must be between " + number(*r.min) + " and " + number(*r.max)
	}
	if whole {
		target.SetInt(int64(x))
	} else {
		target.SetFloat(x)
	}
	return ""
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// cut shortens text to so many characters.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
