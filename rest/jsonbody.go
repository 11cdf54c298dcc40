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
)

// checkContentType refuses a body that is not said to be JSON, or is compressed.
func checkContentType(h http.Header) error {
	const wanted = "send the body as Content-Type: application/json"
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "application/json" || len(h.Values("Content-Type")) > 1 {
		return apierr.New(apierr.UnsupportedMediaType, wanted)
	}
	if set := parameters["charset"]; set != "" && !strings.EqualFold(set, "utf-8") && !strings.EqualFold(set, "utf8") {
		return apierr.New(apierr.UnsupportedMediaType, wanted+"; its only charset is utf-8")
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return apierr.New(apierr.UnsupportedMediaType, "send the body without a Content-Encoding")
	}
	return nil
}

// parseBody reads a JSON object. No body at all is an empty object.
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
		return nil, malformed(raw, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, apierr.Invalid("body", "must be one JSON object; there is more after it, at "+place(raw, int(decoder.InputOffset())))
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, apierr.Invalid("body", "must be a JSON object")
	}
	return fields, nil
}

func malformed(raw []byte, err error) error {
	at := len(raw)
	reason := "it ends too early"
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		at, reason = int(syntax.Offset), syntax.Error()
	}
	return apierr.Invalid("body", "malformed JSON at "+place(raw, at)+": "+reason)
}

// place names a byte of the body for people.
func place(raw []byte, offset int) string {
	offset = min(max(offset, 0), len(raw))
	before := raw[:offset]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := offset - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Sprintf("byte %d (line %d, column %d)", offset, line, column)
}

// readObject moves the fields of an object into variables, each checked.
// Unknown fields are ignored, but in a closed group.
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
			if err := readInner(inner, &f, name+".", into); err != nil {
				return err
			}
			continue
		}
		if at, wrong := f.badItem(value); wrong != "" {
			return apierr.Invalid(name+at, wrong)
		}
		read, wrong := f.fromJSON(value)
		if err := f.accept(name, read, wrong, into); err != nil {
			return err
		}
	}
	return nil
}

// readInner moves the fields of a group's object into variables.
func readInner(values map[string]any, f *field, prefix string, into variables) error {
	if f.closed {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !f.has(name) {
				return f.unknown(prefix + name)
			}
		}
	}
	return readObject(values, f.fields, prefix, into)
}

// has reports whether a group has a field of a name.
func (f *field) has(name string) bool {
	return slices.ContainsFunc(f.fields, func(inner field) bool { return inner.name == name })
}

// unknown refuses a name in a closed group. It is a caller's and may be anything.
func (f *field) unknown(name string) error {
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

// readArray moves an array of objects into variables, or the one object whose
// fields stand in its place.
func (f *field) readArray(values map[string]any, name, prefix string, into variables) error {
	value, given := values[f.name]
	if !given && f.alone != "" {
		item := variables{}
		if err := readObject(values, f.fields, prefix, item); err != nil {
			return err
		}
		into.set(f.alone, map[string]any(item))
		return nil
	}
	if value == nil && !f.required && f.alone == "" {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		return apierr.Invalid(name, "must be an array of objects")
	}
	if len(list) < 1 || len(list) > f.most {
		return apierr.Invalid(name, fmt.Sprintf("must have 1 to %d items", f.most))
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

// fromJSON turns a JSON value into what the operation takes, or says what is wrong.
func (f *field) fromJSON(value any) (read any, wrong string) {
	switch f.kind {
	case text, uid, date, moment:
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
			return nil, f.numberWanted()
		}
		return f.fromNumber(n)
	case boolean:
		b, ok := value.(bool)
		if !ok {
			return nil, "must be true or false"
		}
		return b, ""
	case texts:
		list, ok := value.([]any)
		if !ok {
			return nil, "must be an array of strings"
		}
		return list, "" // its items were looked at
	case uids:
		return uuidsOf(value)
	case anything:
		inner, ok := value.(map[string]any)
		if !ok {
			return nil, "must be an object"
		}
		return inner, badContent(inner)
	default:
		return nil, "cannot be read"
	}
}

func uuidsOf(value any) (read any, wrong string) {
	const wanted = "must be an array of UUIDs"
	list, ok := value.([]any)
	if !ok {
		return nil, wanted
	}
	ids := make([]any, len(list))
	for i, item := range list {
		text, _ := item.(string)
		id, ok := parseUUID(text)
		if !ok {
			return nil, wanted
		}
		ids[i] = id
	}
	return ids, ""
}

// fromText reads a value that is text on the wire, in a body or a query string.
func (f *field) fromText(s string) (read any, wrong string) {
	if wrong := badText(s); wrong != "" {
		return nil, wrong
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
	case moment:
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			return nil, "must be a time such as 2026-01-31T12:00:00Z"
		}
		return s, ""
	case integer, number:
		if !json.Valid([]byte(s)) || strings.TrimSpace(s) != s || !strings.ContainsAny(s[:1], "-0123456789") {
			return nil, f.numberWanted()
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

// fromNumber takes 10 and 10.0 alike for a whole number.
func (f *field) fromNumber(n json.Number) (read any, wrong string) {
	x, err := n.Float64()
	if err != nil {
		return nil, "is out of range"
	}
	if f.kind == number {
		return x, ""
	}
	if x != math.Trunc(x) {
		return nil, f.numberWanted()
	}
	if math.Abs(x) > math.MaxInt32+1 {
		x = math.Copysign(math.MaxInt32+1, x) // out of every range
	}
	return int64(x), ""
}

func (f *field) numberWanted() string {
	if f.kind == integer {
		return "must be a whole number"
	}
	return "must be a number"
}

// accept puts a value that was read into the variables, unless something is
// wrong with it.
func (f *field) accept(name string, read any, wrong string, into variables) error {
	if wrong == "" {
		wrong = f.examine(read)
	}
	if wrong != "" {
		return apierr.Invalid(name, wrong)
	}
	into.set(f.variable, f.finish(read))
	return nil
}

// finish gives a checked value the form that the operation takes.
func (f *field) finish(value any) any {
	if s, ok := value.(string); ok && f.upper {
		value = strings.ToUpper(s)
	}
	if list, ok := value.([]any); ok && f.upper {
		raised := make([]any, len(list))
		for i, item := range list {
			s, _ := item.(string) // its items were looked at
			raised[i] = strings.ToUpper(s)
		}
		value = raised
	}
	if f.list {
		return []any{value}
	}
	return value
}

// badItem finds the first item of an array of strings that is none, and its place.
func (f *field) badItem(value any) (at, wrong string) {
	list, _ := value.([]any)
	if f.kind != texts {
		return "", ""
	}
	for i, item := range list {
		s, ok := item.(string)
		if wrong = f.examineItem(s); !ok {
			wrong = "must be a string"
		}
		if _, isID := parseUUID(s); f.ids && !isID {
			wrong = "must be a UUID"
		}
		if wrong != "" {
			return fmt.Sprintf("[%d]", i), wrong
		}
	}
	return "", ""
}

// badText refuses what the database could not store.
func badText(s string) (wrong string) {
	if !utf8.ValidString(s) {
		return "must be UTF-8 text"
	}
	if strings.ContainsRune(s, 0) {
		return "must not contain the character U+0000"
	}
	return ""
}

// badContent refuses the same anywhere inside a free object.
func badContent(value any) (wrong string) {
	switch value := value.(type) {
	case string:
		return badText(value)
	case []any:
		for _, item := range value {
			if wrong := badContent(item); wrong != "" {
				return wrong
			}
		}
	case map[string]any:
		for key, item := range value {
			if wrong := badText(key); wrong != "" {
				return wrong
			}
			if wrong := badContent(item); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// parseUUID takes the usual 36 characters, in either case, and no other form.
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
