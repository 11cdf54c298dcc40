package rest

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr"
)

// readQuery moves a query string's parameters into variables, each checked.
// A group's fields are named group[field], lists are repeated (with or without
// [] at the end of the name), and a group may also be given whole as JSON.
// Unknown parameters are ignored, but those of a closed group and, where there
// is one, what is meant so: whatever is named name[field].
func readQuery(raw string, fields []field, into variables) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return apierr.New(apierr.InvalidRequest, "the query string is malformed; escape its parameters as in a URL")
	}
	if err := readParameters(values, fields, "", into); err != nil {
		return err
	}
	for i := range fields {
		f := &fields[i]
		if f.kind != group || !f.closed {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if f.claims(name) && !slices.ContainsFunc(fields, func(other field) bool { return other.takes(name) }) {
				return f.unknown(name)
			}
		}
	}
	return nil
}

func readParameters(values url.Values, fields []field, prefix string, into variables) error {
	for _, f := range fields {
		name := f.name
		if prefix != "" {
			name = prefix + "[" + f.name + "]"
		}
		given := slices.Clone(values[name])
		if f.kind == texts {
			given = append(given, values[name+"[]"]...)
		}
		if f.kind == group {
			if err := readGroup(given, values, f, into); err != nil {
				return err
			}
			continue
		}
		if !f.required {
			given = withoutEmpty(f.kind, given)
		}
		if len(given) == 0 {
			if f.required {
				return apierr.Invalid(name, "is required")
			}
			continue
		}
		read, wrong := f.fromParameters(given)
		if err := f.accept(name, read, wrong, into); err != nil {
			return err
		}
	}
	return nil
}

// withoutEmpty drops empty texts: a form sends what was not filled in so.
func withoutEmpty(k kind, given []string) []string {
	if k != text && k != texts {
		return given
	}
	return slices.DeleteFunc(slices.Clone(given), func(s string) bool { return s == "" })
}

func (f *field) fromParameters(given []string) (read any, wrong string) {
	if f.kind == texts {
		if f.commas && len(given) > 1 {
			return nil, "is given more than once"
		}
		if f.commas {
			given = withoutEmpty(f.kind, strings.Split(strings.Join(given, ","), ","))
		}
		list := make([]any, 0, len(given))
		for _, s := range given {
			if wrong := f.examineItem(s); wrong != "" {
				return nil, wrong
			}
			list = append(list, s)
		}
		return list, ""
	}
	if len(given) > 1 {
		return nil, "is given more than once"
	}
	if given[0] == "" && (f.kind == integer || f.kind == number) {
		return nil, f.numberWanted()
	}
	return f.fromText(given[0])
}

func readGroup(whole []string, values url.Values, f field, into variables) error {
	if len(whole) == 0 {
		return readParameters(values, f.fields, f.name, into)
	}
	for name := range values {
		if strings.HasPrefix(name, f.name+"[") {
			return apierr.Invalid(f.name, "is given twice, whole and as "+f.name+"[…]")
		}
	}
	if len(whole) > 1 {
		return apierr.Invalid(f.name, "is given more than once")
	}
	inner, err := parseBody([]byte(whole[0]))
	if err != nil || whole[0] == "" {
		return apierr.Invalid(f.name, "must be a JSON object, or be given as "+f.name+"["+f.fields[0].name+"]=…")
	}
	return readInner(inner, &f, f.name+".", into)
}

// claims reports whether a parameter wants to be one of a group: group[field],
// and what was meant so, in another case, with blanks or with a slip in the
// group's name.
func (f *field) claims(parameter string) bool {
	meant := strings.ToLower(strings.TrimSpace(parameter))
	if strings.Contains(meant, "[") && strings.HasSuffix(meant, "]") {
		return true
	}
	rest, found := strings.CutPrefix(meant, f.name)
	if !found {
		return false
	}
	first, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || first != '_' && !unicode.IsLetter(first) && !unicode.IsDigit(first)
}

// takes reports whether a parameter is the field's, or one of its fields'.
func (f *field) takes(parameter string) bool {
	return parameter == f.name || f.kind == texts && parameter == f.name+"[]" || f.kind == group && f.hasParameter(parameter)
}

// hasParameter reports whether a parameter is group[field], or for a list
// group[field][].
func (f *field) hasParameter(parameter string) bool {
	return slices.ContainsFunc(f.fields, func(inner field) bool {
		name := f.name + "[" + inner.name + "]"
		return parameter == name || inner.kind == texts && parameter == name+"[]"
	})
}
