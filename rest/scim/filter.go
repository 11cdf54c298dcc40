package scim

import (
	"encoding/json"
	"strings"

	filter "github.com/scim2/filter-parser/v2"
)

const (
	maxFilter = 1000 // bytes of a filter or path
	// maxFilterDepth bounds the parentheses and negations, which the parser follows by
	// recursion.
	maxFilterDepth = 8
)

const (
	coreUser  = "urn:ietf:params:scim:schemas:core:2.0:User"
	coreGroup = "urn:ietf:params:scim:schemas:core:2.0:Group"
)

// checkLength refuses a text that would cost the parser much.
func checkLength(text string) bool {
	return len(text) <= maxFilter && strings.Count(text, "(") <= maxFilterDepth && strings.Count(text, "[") <= maxFilterDepth
}

// parseFilter returns the comparisons of a filter, by the attribute in lower case. Only
// eq and and are supported, which is what directories ask.
func parseFilter(text string) (map[string]string, error) {
	out := map[string]string{}
	if text == "" {
		return out, nil
	}
	if !checkLength(text) {
		return nil, filterError("The filter is too long or too deep")
	}
	parsed, err := filter.ParseFilter([]byte(text))
	if err != nil {
		return nil, filterError("The filter is malformed")
	}
	if err := comparisons(parsed, "", out); err != nil {
		return nil, err
	}
	return out, nil
}

func comparisons(e filter.Expression, prefix string, into map[string]string) error {
	switch e := e.(type) {
	case *filter.AttributeExpression:
		name := prefix + strings.ToLower(attributeName(e.AttributePath))
		value, ok := e.CompareValue.(string)
		if e.Operator != filter.EQ || !ok {
			return filterError("Only comparisons by eq with a text are supported")
		}
		if err := json.Unmarshal([]byte(`"`+value+`"`), &value); err != nil { // the parser keeps escapes
			return filterError("The filter is malformed")
		}
		if earlier, twice := into[name]; twice && earlier != value {
			return filterError("An attribute is compared twice")
		}
		into[name] = value
		return nil
	case *filter.LogicalExpression:
		if e.Operator != filter.AND {
			return filterError("Only and combines comparisons")
		}
		if err := comparisons(e.Left, prefix, into); err != nil {
			return err
		}
		return comparisons(e.Right, prefix, into)
	case *filter.ValuePath:
		return comparisons(e.ValueFilter, strings.ToLower(e.AttributePath.AttributeName)+".", into)
	default:
		return filterError("Only comparisons by eq, combined by and, are supported")
	}
}

// attributeName returns an attribute with its sub-attribute.
func attributeName(p filter.AttributePath) string {
	if p.SubAttribute != nil {
		return p.AttributeName + "." + *p.SubAttribute
	}
	return p.AttributeName
}
