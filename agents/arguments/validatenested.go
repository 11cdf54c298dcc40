package arguments

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkObject checks the fields of an object.
func (v *validator) checkObject(s map[string]any, value any, path string, depth int) *mismatch {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	if required, ok := s["required"].([]any); ok {
		for _, name := range required {
			if text, ok := name.(string); ok {
				if _, present := object[text]; !present {
					return &mismatch{join(path, text), "is required"}
				}
			}
		}
	}
	if least, ok := number(s["minProperties"]); ok && float64(len(object)) < least {
		return &mismatch{path, "must have at least " + formatNumber(least) + " fields"}
	}
	if most, ok := number(s["maxProperties"]); ok && float64(len(object)) > most {
		return &mismatch{path, "must have at most " + formatNumber(most) + " fields"}
	}
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	others, limited := s["additionalProperties"]
	for _, name := range slices.Sorted(maps.Keys(object)) {
		known := false
		if schema, ok := properties[name]; ok {
			known = true
			if problem := v.check(schema, object[name], join(path, name), depth+1); problem != nil {
				return problem
			}
		}
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			v.steps++
			expression := v.compile(pattern)
			if expression != nil && !expression.MatchString(name) {
				continue
			}
			known = true // also if the pattern cannot be matched
			if expression == nil {
				continue
			}
			if problem := v.check(patterns[pattern], object[name], join(path, name), depth+1); problem != nil {
				return problem
			}
		}
		if known || !limited {
			continue
		}
		if others == false {
			text := "is not known"
			if len(properties) > 0 {
				text += "; known are " + strings.Join(safeNames(firstNames(properties)), ", ")
			}
			return &mismatch{join(path, name), text}
		}
		if problem := v.check(others, object[name], join(path, name), depth+1); problem != nil {
			return problem
		}
	}
	if names, ok := s["propertyNames"]; ok {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if problem := v.check(names, name, join(path, name), depth+1); problem != nil {
				return &mismatch{problem.path, "has a name that is not allowed"}
			}
		}
	}
	return v.checkDependent(s, object, path, depth)
}

// checkDependent checks fields that need others.
func (v *validator) checkDependent(s, object map[string]any, path string, depth int) *mismatch {
	needs, _ := s["dependentRequired"].(map[string]any)
	for name, others := range needs {
		list, _ := others.([]any)
		if _, present := object[name]; !present {
			continue
		}
		for _, other := range list {
			if text, ok := other.(string); ok {
				if _, present := object[text]; !present {
					return &mismatch{join(path, text), "is required with " + safeNames([]string{name})[0]}
				}
			}
		}
	}
	schemas, _ := s["dependentSchemas"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if _, present := object[name]; !present {
			continue
		}
		if problem := v.check(schemas[name], object, path, depth+1); problem != nil {
			return problem
		}
	}
	return nil
}

func firstNames(properties map[string]any) []string {
	names := slices.Sorted(maps.Keys(properties))
	return names[:min(len(names), maxShownValues)]
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// checkArray checks the items of an array.
func (v *validator) checkArray(s map[string]any, value any, path string, depth int) *mismatch {
	list, ok := value.([]any)
	if !ok {
		return nil
	}
	if least, ok := number(s["minItems"]); ok && float64(len(list)) < least {
		return &mismatch{path, "must have at least " + formatNumber(least) + " items"}
	}
	if most, ok := number(s["maxItems"]); ok && float64(len(list)) > most {
		return &mismatch{path, "must have at most " + formatNumber(most) + " items"}
	}
	first, rest := s["prefixItems"], s["items"]
	if tuple, ok := rest.([]any); ok { // draft 7
		first, rest = tuple, s["additionalItems"]
	}
	prefix, _ := first.([]any)
	for i, item := range list {
		schema := rest
		if i < len(prefix) {
			schema = prefix[i]
		}
		if schema == nil {
			continue
		}
		if problem := v.check(schema, item, fmt.Sprintf("%s[%d]", path, i), depth+1); problem != nil {
			return problem
		}
	}
	if contained, ok := s["contains"]; ok && !slices.ContainsFunc(list, func(item any) bool { return v.check(contained, item, path, depth+1) == nil }) {
		return &mismatch{path, "lacks an item that it must contain"}
	}
	if s["uniqueItems"] == true {
		seen := map[string]bool{}
		for _, item := range list {
			text := jsonText(item)
			if _, isText := item.(string); isText {
				text = "text " + text
			}
			if seen[text] {
				return &mismatch{path, "must not have the same item twice"}
			}
			seen[text] = true
		}
	}
	return nil
}

// checkCombined checks combinations of schemas.
func (v *validator) checkCombined(s map[string]any, value any, path string, depth int) *mismatch {
	all, _ := s["allOf"].([]any)
	for _, schema := range all {
		if problem := v.check(schema, value, path, depth+1); problem != nil {
			return problem
		}
	}
	if options, ok := s["anyOf"].([]any); ok && len(options) > 0 {
		if matched, problem := v.count(options, value, path, depth); matched == 0 {
			return problem
		}
	}
	if options, ok := s["oneOf"].([]any); ok && len(options) > 0 {
		switch matched, problem := v.count(options, value, path, depth); {
		case matched == 0:
			return problem
		case matched > 1:
			return &mismatch{path, fmt.Sprintf("must have exactly one of the allowed forms; it has %d", matched)}
		}
	}
	if excluded, ok := s["not"]; ok && v.check(excluded, value, path, depth+1) == nil {
		return &mismatch{path, "has a form that is not allowed"}
	}
	if condition, ok := s["if"]; ok {
		branch := s["then"]
		if v.check(condition, value, path, depth+1) != nil {
			branch = s["else"]
		}
		if branch != nil {
			return v.check(branch, value, path, depth+1)
		}
	}
	return nil
}

// count returns how many of the schemas a value matches, and what is wrong with it by
// the schema that it fails deepest.
func (v *validator) count(options []any, value any, path string, depth int) (matched int, best *mismatch) {
	for _, option := range options {
		problem := v.check(option, value, path, depth+1)
		switch {
		case problem == nil:
			matched++
		case best == nil || len(problem.path) > len(best.path):
			best = problem
		}
	}
	if best != nil && best.path == path && len(options) > 1 {
		best = &mismatch{path, "has none of the allowed forms; in one of them it " + best.text}
	}
	return matched, best
}
