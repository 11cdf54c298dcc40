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

// readQuery checks the parameters of a query string and copies them to the
// variables. A field of a group has the name group[field]; the group may also be a
// JSON object. A list repeats its parameter, with or without [] in the name.
// Unknown parameters are ignored, except that a closed group rejects every
// parameter of the form name[field].
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
			if f.looksLikeMember(name) && !slices.ContainsFunc(fields, func(other field) bool { return other.hasName(name) }) {
				return f.unknownField(name)
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
		if f.kind == textList {
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
		read, problem := f.fromParameters(given)
		if err := f.store(name, read, problem, into); err != nil {
			return err
		}
	}
	return nil
}

// withoutEmpty removes empty texts, which HTML forms send for empty inputs.
func withoutEmpty(k kind, given []string) []string {
	if k != text && k != textList {
		return given
	}
	return slices.DeleteFunc(slices.Clone(given), func(s string) bool { return s == "" })
}

func (f *field) fromParameters(given []string) (read any, problem string) {
	if f.kind == textList {
		if f.commas && len(given) > 1 {
			return nil, "is given more than once"
		}
		if f.commas {
			given = withoutEmpty(f.kind, strings.Split(strings.Join(given, ","), ","))
		}
		list := make([]any, 0, len(given))
		for _, s := range given {
			if problem := f.checkItem(s); problem != "" {
				return nil, problem
			}
			list = append(list, s)
		}
		return list, ""
	}
	if len(given) > 1 {
		return nil, "is given more than once"
	}
	if given[0] == "" && (f.kind == integer || f.kind == number) {
		return nil, f.numberProblem()
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
	return readGroupObject(inner, &f, f.name+".", into)
}

// looksLikeMember reports whether a parameter is meant as a member of a group:
// group[field], also with other case, spaces or a misspelled name.
func (f *field) looksLikeMember(parameter string) bool {
	meant := strings.ToLower(strings.TrimSpace(parameter))
	if strings.Contains(meant, "[") && strings.HasSuffix(meant, "]") {
		return true
	}
	suffix, found := strings.CutPrefix(meant, f.name)
	if !found {
		return false
	}
	first, _ := utf8.DecodeRuneInString(suffix)
	return suffix == "" || first != '_' && !unicode.IsLetter(first) && !unicode.IsDigit(first)
}

// hasName reports whether a parameter belongs to the field or one of its members.
func (f *field) hasName(parameter string) bool {
	return parameter == f.name || f.kind == textList && parameter == f.name+"[]" || f.kind == group && f.hasMember(parameter)
}

// hasMember reports whether a parameter is group[field] or, for a list,
// group[field][].
func (f *field) hasMember(parameter string) bool {
	return slices.ContainsFunc(f.fields, func(inner field) bool {
		name := f.name + "[" + inner.name + "]"
		return parameter == name || inner.kind == textList && parameter == name+"[]"
	})
}
