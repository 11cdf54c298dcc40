package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Change is the change of one field. The values of a hidden field are nil.
type Change struct {
	Field  string `json:"field"`
	Old    any    `json:"old"`
	New    any    `json:"new"`
	Hidden bool   `json:"hidden"`
}

const (
	// maxTextRunes is the number of characters of a text that an entry keeps.
	maxTextRunes = 200
	// maxJSONBytes is the size of a list or an object that an entry keeps whole.
	maxJSONBytes = 1000
	// maxChanges is the number of fields that an entry lists.
	maxChanges = 100
)

// isBookkeeping reports whether a field of every entity is of no interest to
// readers of the log.
func isBookkeeping(field string) bool {
	return slices.Contains([]string{"id", "workspace_id", "created_at", "updated_at"}, field)
}

// secretName matches the names of fields, and of options of connectors, whose
// values are secret.
var secretName = regexp.MustCompile(`(?i)hash|secret|token|passw|credential|private|api_?key|access_?key|embedding$`)

// userinfo matches the name and password in a URL.
var userinfo = regexp.MustCompile(`://[^/@\s]+@`)

// diff returns the changes between two states of a row. A nil state means that
// there is no row.
func diff(old, current map[string]any, hidden func(field string) bool) []Change {
	old, current = flatten(old), flatten(current)
	names := slices.Sorted(maps.Keys(old))
	for name := range current {
		if _, both := old[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	changes := []Change{}
	for _, name := range names {
		was, is := old[name], current[name]
		if isBookkeeping(name) || reflect.DeepEqual(was, is) || isEmpty(was) && isEmpty(is) {
			continue
		}
		if len(changes) == maxChanges {
			changes = append(changes, Change{Field: "…", Hidden: true})
			break
		}
		c := Change{Field: name, Old: displayed(was), New: displayed(is)}
		if root, _, _ := strings.Cut(name, "."); hidden(root) || secretName.MatchString(name) || isBytes(was) || isBytes(is) {
			c = Change{Field: name, Hidden: true}
		}
		changes = append(changes, c)
	}
	return changes
}

// flatten replaces each object by its members, one level deep.
func flatten(row map[string]any) map[string]any {
	out := make(map[string]any, len(row))
	for name, value := range row {
		object, ok := value.(map[string]any)
		if !ok {
			out[name] = value
			continue
		}
		for inner, value := range object {
			out[name+"."+inner] = value
		}
	}
	return out
}

// isEmpty reports whether a value means the same as null. New rows have many empty
// values.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// isBytes reports whether a value is a byte string, in the JSON that the database
// writes.
func isBytes(v any) bool {
	text, ok := v.(string)
	return ok && strings.HasPrefix(text, `\x`)
}

// displayed returns a value as entries store it: bounded, and without passwords in
// URLs.
func displayed(v any) any {
	switch v := v.(type) {
	case string:
		return truncate(userinfo.ReplaceAllString(v, "://…@"))
	case []any, map[string]any:
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(mask(v)); err != nil {
			return nil
		}
		if text.Len() > maxJSONBytes {
			return truncate(text.String())
		}
		return mask(v)
	default:
		return v
	}
}

// mask hides the values of secret names in lists and objects.
func mask(v any) any {
	switch v := v.(type) {
	case string:
		return userinfo.ReplaceAllString(v, "://…@")
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = mask(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			if out[name] = mask(value); secretName.MatchString(name) {
				out[name] = "…"
			}
		}
		return out
	default:
		return v
	}
}

// truncate shortens a long text and adds its length.
func truncate(text string) string {
	n := utf8.RuneCountInString(text)
	if n <= maxTextRunes {
		return text
	}
	return fmt.Sprintf("%s… (%d characters)", string([]rune(text)[:maxTextRunes]), n)
}
