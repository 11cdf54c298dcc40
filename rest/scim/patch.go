package scim

import (
	"fmt"
	"strings"

	filter "github.com/scim2/filter-parser/v2"
)

// maxOperations is the maximum number of operations of a PATCH.
const maxOperations = 1000

// operation is an operation of a PATCH on one attribute.
type operation struct {
	op        string // add, replace or remove
	attribute string // in lower case, with its sub-attribute
	// selector is the filter of values, such as members[value eq "…"].
	selector filter.Expression
	value    any // nil for none
}

// operationsOf returns the operations of a PATCH. An operation without a path becomes one
// for each member of its value.
func operationsOf(body object) ([]operation, error) {
	given, ok := body.get("Operations")
	list, isList := given.([]any)
	if !ok || !isList || len(list) == 0 {
		return nil, syntaxError("Operations is required, a list of operations")
	}
	if len(list) > maxOperations {
		return nil, syntaxError(fmt.Sprintf("A request may have at most %d operations", maxOperations))
	}
	var out []operation
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, syntaxError(fmt.Sprintf("Operations[%d] must be an object", i))
		}
		of := object(fields)
		op, _ := of.get("op")
		name, _ := op.(string)
		name = strings.ToLower(name) // Entra ID writes Add
		if name != "add" && name != "replace" && name != "remove" {
			return nil, syntaxError(fmt.Sprintf("Operations[%d].op must be add, replace or remove", i))
		}
		value, _ := of.get("value")
		path, given := of.get("path")
		text, isText := path.(string)
		switch {
		case given && path != nil && !isText:
			return nil, pathError(fmt.Sprintf("Operations[%d].path must be a text", i))
		case text != "":
			parsed, err := parsePath(text)
			if err != nil {
				return nil, err
			}
			parsed.op, parsed.value = name, value
			out = append(out, parsed)
		case name == "remove":
			return nil, &protocolError{"noTarget", fmt.Sprintf("Operations[%d] removes something, and needs a path", i)}
		default:
			members, ok := value.(map[string]any)
			if !ok {
				return nil, valueError(fmt.Sprintf("Operations[%d].value must be an object, since there is no path", i))
			}
			for key, value := range members {
				if strings.HasPrefix(strings.ToLower(key), "urn:") && !strings.HasPrefix(strings.ToLower(key), strings.ToLower(coreUser)+":") &&
					!strings.HasPrefix(strings.ToLower(key), strings.ToLower(coreGroup)+":") {
					continue // an extension
				}
				parsed, err := parsePath(key) // Entra ID writes name.givenName
				if err != nil {
					return nil, err
				}
				parsed.op, parsed.value = name, value
				out = append(out, parsed)
			}
		}
	}
	return out, nil
}

func parsePath(text string) (operation, error) {
	if !checkLength(text) {
		return operation{}, pathError("The path is too long or too deep")
	}
	parsed, err := filter.ParsePath([]byte(text))
	if err != nil {
		return operation{}, pathError("The path is malformed")
	}
	uri := strings.ToLower(parsed.AttributePath.URI())
	out := operation{attribute: strings.ToLower(attributeName(parsed.AttributePath)), selector: parsed.ValueExpression}
	if parsed.SubAttribute != nil {
		out.attribute += "." + strings.ToLower(*parsed.SubAttribute)
	}
	if uri != "" && uri != strings.ToLower(coreUser) && uri != strings.ToLower(coreGroup) {
		out.attribute = "urn:" + out.attribute // of an extension: it is ignored
	}
	return out, nil
}

// textOf returns a text. Null and a removal are the empty text.
func (o operation) text() (string, error) {
	if o.op == "remove" || o.value == nil {
		return "", nil
	}
	switch value := o.value.(type) {
	case string:
		return value, nil
	case []any: // Entra ID sends single values as lists in some operations
		if len(value) == 1 {
			if fields, ok := value[0].(map[string]any); ok {
				inner, _ := object(fields).get("value")
				if text, ok := inner.(string); ok {
					return text, nil
				}
			}
			if text, ok := value[0].(string); ok {
				return text, nil
			}
		}
	}
	return "", valueError(o.attribute + " must be a text")
}

// boolean returns a truth value, which Entra ID sends as the texts True and False.
func boolean(name string, value any) (bool, error) {
	switch value := value.(type) {
	case bool:
		return value, nil
	case string:
		switch strings.ToLower(value) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	case []any:
		if len(value) == 1 {
			if fields, ok := value[0].(map[string]any); ok {
				if inner, ok := object(fields).get("value"); ok {
					return boolean(name, inner)
				}
			}
		}
	}
	return false, valueError(name + " must be true or false")
}
