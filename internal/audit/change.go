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

// Change is what happened to one field. The values of a hidden one are nil.
type Change struct {
	Field  string `json:"field"`
	Old    any    `json:"old"`
	New    any    `json:"new"`
	Hidden bool   `json:"hidden"`
}

const (
	// maxText is how many characters of a text an entry keeps.
	maxText = 200
	// maxJSON is how many bytes of a list or an object it keeps.
	maxJSON = 1000
	// maxChanges is how many fields an entry names.
	maxChanges = 100
)

// bookkeeping are fields of every entity that say nothing.
func bookkeeping(field string) bool {
	return slices.Contains([]string{"id", "workspace_id", "created_at", "updated_at"}, field)
}

// The names of fields, and of the options of connectors, whose values are
// nobody's to read.
var secretive = regexp.MustCompile(`(?i)hash|secret|token|passw|credential|private|api_?key|access_?key|embedding$`)

// userinfo is a name and a password inside an address.
var userinfo = regexp.MustCompile(`://[^/@\s]+@`)

// differences are the changes from one state of a row to another; nil is no row.
func differences(old, current map[string]any, hidden func(field string) bool) []Change {
	old, current = flattened(old), flattened(current)
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
		if bookkeeping(name) || reflect.DeepEqual(was, is) || empty(was) && empty(is) {
			continue
		}
		if len(changes) == maxChanges {
			changes = append(changes, Change{Field: "…", Hidden: true})
			break
		}
		c := Change{Field: name, Old: shown(was), New: shown(is)}
		if root, _, _ := strings.Cut(name, "."); hidden(root) || secretive.MatchString(name) || isBytes(was) || isBytes(is) {
			c = Change{Field: name, Hidden: true}
		}
		changes = append(changes, c)
	}
	return changes
}

// flattened takes the entries of objects out of them, one level deep.
func flattened(row map[string]any) map[string]any {
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

// empty says that a value is as good as none: a new row has many of those.
func empty(v any) bool {
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

// isBytes recognises the database's way of writing bytes in JSON.
func isBytes(v any) bool {
	text, ok := v.(string)
	return ok && strings.HasPrefix(text, `\x`)
}

// shown is a value as entries keep it: bounded, and without the credentials of
// addresses.
func shown(v any) any {
	switch v := v.(type) {
	case string:
		return shortened(userinfo.ReplaceAllString(v, "://…@"))
	case []any, map[string]any:
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(masked(v)); err != nil {
			return nil
		}
		if text.Len() > maxJSON {
			return shortened(text.String())
		}
		return masked(v)
	default:
		return v
	}
}

// masked hides what secretive names hold inside lists and objects.
func masked(v any) any {
	switch v := v.(type) {
	case string:
		return userinfo.ReplaceAllString(v, "://…@")
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = masked(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			if out[name] = masked(value); secretive.MatchString(name) {
				out[name] = "…"
			}
		}
		return out
	default:
		return v
	}
}

// shortened cuts a long text and says how long it was.
func shortened(text string) string {
	n := utf8.RuneCountInString(text)
	if n <= maxText {
		return text
	}
	return fmt.Sprintf("%s… (%d characters)", string([]rune(text)[:maxText]), n)
}
