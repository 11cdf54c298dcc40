package connectors

import (
	"maps"
	"slices"
)

// CheckOptions checks the values of one table of options. section is the path of the
// table in errors: config or credentials. It returns an *OptionError for the first
// unknown field, value of a wrong type or out of range, or missing required field.
func CheckOptions(section string, options []Option, values map[string]any) error {
	if err := checkFieldNames(section, slices.Collect(maps.Keys(values)), options); err != nil {
		return err
	}
	for _, option := range options {
		if err := option.within(options, values).validate(section+"."+option.Name, values[option.Name]); err != nil {
			return err
		}
	}
	return nil
}
