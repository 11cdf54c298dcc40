package mcp

import (
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
)

func invalid(argument, problem string) error { return apierr.Invalid(argument, problem) }

// setID sets a variable to an id, unless the argument is empty.
func setID(variables map[string]any, argument, value string) error {
	if value == "" {
		return nil
	}
	id, err := uuid.Parse(value)
	if err != nil || len(value) != len(id.String()) {
		return invalid(argument, "must be an id, such as list_collections and search give it")
	}
	variables[argument] = id.String()
	return nil
}

// text returns the text that a pointer points to; "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// variables returns the filters as the operation expects them.
func (f *searchFilters) variables() (map[string]any, error) {
	out := map[string]any{}
	for name, value := range map[string]string{"section": f.Section, "version": f.Version, "language": f.Language} {
		if value != "" {
			out[name] = value
		}
	}
	for _, day := range []struct{ argument, variable, value string }{
		{"filters.date_after", "dateAfter", f.DateAfter}, {"filters.date_before", "dateBefore", f.DateBefore},
	} {
		if day.value == "" {
			continue
		}
		if _, err := time.Parse(time.DateOnly, day.value); err != nil {
			return nil, invalid(day.argument, "must be a day as YYYY-MM-DD")
		}
		out[day.variable] = day.value
	}
	if len(f.Tags) > 0 {
		out["tags"] = f.Tags
	}
	if len(f.DocTypes) > 0 {
		out["docTypes"] = f.DocTypes
	}
	if f.Source != "" {
		out["sources"] = []string{f.Source}
	}
	return out, nil
}
