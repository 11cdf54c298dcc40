package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
)

// checkContentType fails for a body that is not declared as JSON or is compressed.
func checkContentType(h http.Header) error {
	const message = "send the body as Content-Type: application/json"
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "application/json" || len(h.Values("Content-Type")) > 1 {
		return apierr.New(apierr.UnsupportedMediaType, message)
	}
	if set := parameters["charset"]; set != "" && !strings.EqualFold(set, "utf-8") && !strings.EqualFold(set, "utf8") {
		return apierr.New(apierr.UnsupportedMediaType, message+"; its only charset is utf-8")
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return apierr.New(apierr.UnsupportedMediaType, "send the body without a Content-Encoding")
	}
	return nil
}

// parseBody parses a JSON object. An empty body is an empty object.
func parseBody(raw []byte) (map[string]any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	if !utf8.Valid(raw) {
		return nil, apierr.Invalid("body", "must be UTF-8 text")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, malformedJSON(raw, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, apierr.Invalid("body", "must be one JSON object; there is more after it, at "+position(raw, int(decoder.InputOffset())))
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, apierr.Invalid("body", "must be a JSON object")
	}
	return fields, nil
}

func malformedJSON(raw []byte, err error) error {
	offset := len(raw)
	reason := "it ends too early"
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		offset, reason = int(syntax.Offset), syntax.Error()
	}
	return apierr.Invalid("body", "malformed JSON at "+position(raw, offset)+": "+reason)
}

// position describes the position of a byte for messages.
func position(raw []byte, offset int) string {
	offset = min(max(offset, 0), len(raw))
	before := raw[:offset]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := offset - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Sprintf("byte %d (line %d, column %d)", offset, line, column)
}

// readObject checks the fields of an object and copies them to the variables.
// Unknown fields are ignored except in a closed group.
func readObject(values map[string]any, fields []field, prefix string, into variables) error {
	for _, f := range fields {
		name := prefix + f.name
		if f.kind == objects {
			if err := f.readArray(values, name, prefix, into); err != nil {
				return err
			}
			continue
		}
		value, given := values[f.name]
		if given && value == nil && f.nullable {
			into.set(f.variable, nil)
			continue
		}
		if value == nil {
			if f.required && (f.unless == "" || values[f.unless] == nil) {
				return apierr.Invalid(name, "is required")
			}
			continue
		}
		if f.kind == group {
			inner, ok := value.(map[string]any)
			if !ok {
				return apierr.Invalid(name, "must be an object")
			}
			if err := readGroupObject(inner, &f, name+".", into); err != nil {
				return err
			}
			continue
		}
		if index, problem := f.checkItems(value); problem != "" {
			return apierr.Invalid(name+index, problem)
		}
		read, problem := f.fromJSON(value)
		if err := f.store(name, read, problem, into); err != nil {
			return err
		}
	}
	return nil
}

// readGroupObject checks the fields of a group and copies them to the variables.
func readGroupObject(values map[string]any, f *field, prefix string, into variables) error {
	if f.closed {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !f.has(name) {
				return f.unknownField(prefix + name)
			}
		}
	}
	return readObject(values, f.fields, prefix, into)
}

// has reports whether a group has a field of a name.
func (f *field) has(name string) bool {
	return slices.ContainsFunc(f.fields, func(inner field) bool { return inner.name == name })
}

// unknownField returns the error of an unknown name in a closed group. The name may
// be any text.
func (f *field) unknownField(name string) error {
	const longest = 80
	if utf8.RuneCountInString(name) > longest {
		name = string([]rune(name)[:longest]) + "…"
	}
	if quoted := strconv.QuoteToGraphic(name); quoted != `"`+name+`"` {
		name = quoted
	}
	var known []string
	for _, inner := range f.fields {
		known = append(known, inner.name)
	}
	return apierr.Invalid(name, "is unknown; "+f.name+" are "+strings.Join(known, ", "))
}

// readArray checks an array of objects and copies it to the variables. The fields
// of a single item may replace the array.
func (f *field) readArray(values map[string]any, name, prefix string, into variables) error {
	value, given := values[f.name]
	if !given && f.single != "" {
		item := variables{}
		if err := readObject(values, f.fields, prefix, item); err != nil {
			return err
		}
		into.set(f.single, map[string]any(item))
		return nil
	}
	if value == nil && !f.required && f.single == "" {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		return apierr.Invalid(name, "must be an array of objects")
	}
	if len(list) < 1 || len(list) > f.maxItems {
		return apierr.Invalid(name, fmt.Sprintf("must have 1 to %d items", f.maxItems))
	}
	items := make([]any, len(list))
	for i, value := range list {
		at := fmt.Sprintf("%s[%d]", name, i)
		inner, ok := value.(map[string]any)
		if !ok {
			return apierr.Invalid(at, "must be an object")
		}
		item := variables{}
		if err := readObject(inner, f.fields, at+".", item); err != nil {
			return err
		}
		items[i] = map[string]any(item)
	}
	into.set(f.variable, items)
	return nil
}

// fromJSON converts a JSON value to a variable, or returns its problem.
func (f *field) fromJSON(value any) (read any, problem string) {
	switch f.kind {
	case text, uid, date, timestamp:
		s, ok := value.(string)
		if !ok {
			if f.kind == uid {
				return nil, "must be a UUID"
			}
			return nil, "must be a string"
		}
		return f.fromText(s)
	case integer, number:
		n, ok := value.(json.Number)
		if !ok {
			return nil, f.numberProblem()
		}
		return f.fromNumber(n)
	case boolean:
		b, ok := value.(bool)
		if !ok {
			return nil, "must be true or false"
		}
		return b, ""
	case textList:
		list, ok := value.([]any)
		if !ok {
			return nil, "must be an array of strings"
		}
		return list, "" // checkItems has checked the items
	case uuidList:
		return uuidsOf(value)
	case freeObject:
		inner, ok := value.(map[string]any)
		if !ok {
			return nil, "must be an object"
		}
		return inner, check.Unstorable(inner)
	case freeObjects:
		return f.freeObjects(value)
	default:
		return nil, "cannot be read"
	}
}

// freeObjects reads an array of objects with any fields.
func (f *field) freeObjects(value any) (read any, problem string) {
	list, ok := value.([]any)
	if !ok {
		return nil, "must be an array of objects"
	}
	if len(list) > f.maxItems {
		return nil, fmt.Sprintf("must have at most %d items", f.maxItems)
	}
	for _, item := range list {
		inner, ok := item.(map[string]any)
		if !ok {
			return nil, "must be an array of objects"
		}
		if problem := check.Unstorable(inner); problem != "" {
			return nil, problem
		}
	}
	return list, ""
}

func uuidsOf(value any) (read any, problem string) {
	const message = "must be an array of UUIDs"
	list, ok := value.([]any)
	if !ok {
		return nil, message
	}
	ids := make([]any, len(list))
	for i, item := range list {
		text, _ := item.(string)
		id, ok := parseUUID(text)
		if !ok {
			return nil, message
		}
		ids[i] = id
	}
	return ids, ""
}

// fromText converts a text of a body or query string to a variable, or returns its
// problem.
func (f *field) fromText(s string) (read any, problem string) {
	if problem := check.Unstorable(s); problem != "" {
		return nil, problem
	}
	switch f.kind {
	case uid:
		id, ok := parseUUID(s)
		if !ok {
			return nil, "must be a UUID"
		}
		return id, ""
	case date:
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return nil, "must be a date as YYYY-MM-DD"
		}
		return s, ""
	case timestamp:
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			return nil, "must be a time such as 2026-01-31T12:00:00Z"
		}
		return s, ""
	case integer, number:
		if !json.Valid([]byte(s)) || strings.TrimSpace(s) != s || !strings.ContainsAny(s[:1], "-0123456789") {
			return nil, f.numberProblem()
		}
		return f.fromNumber(json.Number(s))
	case boolean:
		switch s {
		case "true":
			return true, ""
		case "false":
			return false, ""
		}
		return nil, "must be true or false"
	default:
		return s, ""
	}
}

// fromNumber converts a number. Both 10 and 10.0 are whole numbers.
func (f *field) fromNumber(n json.Number) (read any, problem string) {
	x, err := n.Float64()
	if err != nil {
		return nil, "is out of range"
	}
	if f.kind == number {
		return x, ""
	}
	if x != math.Trunc(x) {
		return nil, f.numberProblem()
	}
	if math.Abs(x) > math.MaxInt32+1 {
		x = math.Copysign(math.MaxInt32+1, x) // outside of all bounds
	}
	return int64(x), ""
}

func (f *field) numberProblem() string {
	if f.kind == integer {
		return "must be a whole number"
	}
	return "must be a number"
}

// store checks a converted value and copies it to the variables.
func (f *field) store(name string, read any, problem string, into variables) error {
	if problem == "" {
		problem = f.check(read)
	}
	if problem != "" {
		return apierr.Invalid(name, problem)
	}
	into.set(f.variable, f.convert(read))
	return nil
}

// convert converts enum values and lists to the form of the variable.
func (f *field) convert(value any) any {
	if s, ok := value.(string); ok && f.enum {
		value = strings.ToUpper(s)
	}
	if list, ok := value.([]any); ok && f.enum {
		upper := make([]any, len(list))
		for i, item := range list {
			s, _ := item.(string) // checkItems has checked the items
			upper[i] = strings.ToUpper(s)
		}
		value = upper
	}
	if f.list {
		return []any{value}
	}
	return value
}

// checkItems returns the index and the problem of the first invalid item of an
// array of strings.
func (f *field) checkItems(value any) (index, problem string) {
	list, _ := value.([]any)
	if f.kind != textList {
		return "", ""
	}
	for i, item := range list {
		s, ok := item.(string)
		if problem = f.checkItem(s); !ok {
			problem = "must be a string"
		}
		if _, isID := parseUUID(s); f.uuids && !isID {
			problem = "must be a UUID"
		}
		if problem != "" {
			return fmt.Sprintf("[%d]", i), problem
		}
	}
	return "", ""
}

// parseUUID parses a UUID in the form of 36 characters, in upper or lower case.
func parseUUID(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return id.String(), true
}
