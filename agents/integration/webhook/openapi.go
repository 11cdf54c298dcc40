package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Limits of an imported document.
const (
	MaxDocument   = 4 << 20 // bytes
	MaxOperations = 200
	maxSchema     = 32 << 10 // bytes of the schema of a tool
	maxDepth      = 8        // of nested schemas
	maxName       = 39
	maxText       = 1000 // characters of a description
)

// An Operation is an operation of a document as a tool.
type Operation struct {
	Name, Title, Description string
	Risk                     policy.Risk
	Schema                   map[string]any
	Endpoint                 Endpoint
}

// Import reads the operations of an OpenAPI 3 document in JSON or YAML. References lead only
// within the document; nothing is fetched. skipped says which operations cannot be tools.
func Import(document []byte) (operations []Operation, skipped []string, err error) {
	if len(document) > MaxDocument {
		return nil, nil, apierr.Invalid("spec", fmt.Sprintf("must have at most %d MiB", MaxDocument>>20))
	}
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	doc, err := loader.LoadFromData(document)
	if err != nil {
		return nil, nil, apierr.Invalid("spec", "is no OpenAPI 3 document: "+safetext.Truncate(safetext.Line(err.Error()), 300))
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.") || doc.Paths == nil {
		return nil, nil, apierr.Invalid("spec", "must be an OpenAPI document of version 3 with paths")
	}
	taken := map[string]bool{}
	for _, path := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(path)
		for _, method := range methods() {
			operation := item.GetOperation(method)
			if operation == nil || method == http.MethodHead {
				continue
			}
			made, reason := importOperation(path, method, item, operation)
			switch {
			case reason != "":
				skipped = append(skipped, method+" "+path+": "+reason)
				continue
			case len(operations) == MaxOperations:
				return nil, nil, apierr.Invalid("spec", fmt.Sprintf("has more than %d operations; choose a part of it", MaxOperations))
			}
			for base, n := made.Name, 2; taken[made.Name]; n++ {
				suffix := fmt.Sprintf("_%d", n)
				made.Name = base[:min(len(base), maxName-len(suffix))] + suffix
			}
			taken[made.Name] = true
			operations = append(operations, made)
		}
	}
	if len(operations) == 0 {
		return nil, skipped, apierr.Invalid("spec", "has no operation that can be a tool")
	}
	slices.SortFunc(operations, func(a, b Operation) int { return strings.Compare(a.Name, b.Name) })
	return operations, skipped, nil
}

func importOperation(path, method string, item *openapi3.PathItem, operation *openapi3.Operation) (out Operation, reason string) {
	out = Operation{
		Name: nameOf(operation.OperationID, method, path), Title: safetext.Truncate(safetext.Line(operation.Summary), 200),
		Risk: policy.Write, Endpoint: Endpoint{Method: method, Path: path},
	}
	switch method {
	case http.MethodGet:
		out.Risk = policy.Read
	case http.MethodDelete:
		out.Risk = policy.Delete
	}
	if out.Title == "" {
		out.Title = method + " " + path
	}
	text := operation.Description
	if text == "" || operation.Summary != "" && !strings.Contains(text, operation.Summary) {
		text = strings.TrimSpace(operation.Summary + "\n\n" + text)
	}
	if text == "" {
		text = out.Title
	}
	out.Description = safetext.Truncate(safetext.Storable(text), maxText)
	properties, required := map[string]any{}, []string{}
	for _, p := range parametersOf(item, operation) {
		switch {
		case p.In == openapi3.ParameterInPath, p.In == openapi3.ParameterInQuery:
		case p.Required:
			return out, "it needs the " + p.In + " parameter " + safetext.Line(p.Name)
		default:
			continue
		}
		if p.Schema == nil {
			return out, "the parameter " + safetext.Line(p.Name) + " is no plain value"
		}
		schema := inline(p.Schema, 0)
		if p.Description != "" {
			schema["description"] = safetext.Truncate(safetext.Line(p.Description), 300)
		}
		properties[p.Name] = schema
		if p.Required {
			required = append(required, p.Name)
		}
		if p.In == openapi3.ParameterInQuery {
			out.Endpoint.Query = append(out.Endpoint.Query, p.Name)
		}
	}
	if reason := out.importBody(operation, properties, &required); reason != "" {
		return out, reason
	}
	slices.Sort(required)
	out.Schema = map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out.Schema["required"] = anyList(required)
	}
	encoded, err := json.Marshal(out.Schema)
	if err != nil || len(encoded) > maxSchema {
		return out, fmt.Sprintf("its schema is larger than %d KiB", maxSchema>>10)
	}
	// The stored schema has the types of decoded JSON.
	out.Schema = nil
	if err := json.Unmarshal(encoded, &out.Schema); err != nil {
		return out, "its schema cannot be read"
	}
	if err := arguments.CheckSchema(encoded); err != nil {
		return out, "its schema cannot be used: " + safetext.Truncate(safetext.Line(err.Error()), 200)
	}
	if err := out.Endpoint.Check(encoded); err != nil {
		return out, safetext.Truncate(safetext.Line(err.Error()), 200)
	}
	return out, ""
}

// importBody adds the arguments of the JSON body.
func (o *Operation) importBody(operation *openapi3.Operation, properties map[string]any, required *[]string) (reason string) {
	if operation.RequestBody == nil || operation.RequestBody.Value == nil || !hasBody(o.Endpoint.Method) {
		return ""
	}
	body := operation.RequestBody.Value
	media := body.Content.Get("application/json")
	if media == nil || media.Schema == nil || media.Schema.Value == nil {
		if body.Required {
			return "its body is no JSON"
		}
		return ""
	}
	schema := inline(media.Schema, 0)
	fields, isObject := schema["properties"].(map[string]any)
	clash := false
	for name := range fields {
		clash = clash || properties[name] != nil
	}
	if !isObject || clash || len(fields) == 0 {
		const whole = "body"
		if properties[whole] != nil {
			return "it has a parameter and a body of the same name"
		}
		o.Endpoint.Whole = whole
		properties[whole] = schema
		if body.Required {
			*required = append(*required, whole)
		}
		return ""
	}
	names := make([]string, 0, len(fields))
	for name, field := range fields {
		properties[name] = field
		names = append(names, name)
	}
	slices.Sort(names)
	o.Endpoint.Body = names
	if body.Required {
		for _, name := range media.Schema.Value.Required {
			if fields[name] != nil {
				*required = append(*required, name)
			}
		}
	}
	return ""
}

// parametersOf returns the parameters of an operation with those of its path that it does
// not replace.
func parametersOf(item *openapi3.PathItem, operation *openapi3.Operation) []*openapi3.Parameter {
	var out []*openapi3.Parameter
	for _, list := range []openapi3.Parameters{operation.Parameters, item.Parameters} {
		for _, p := range list {
			if p.Value != nil && !slices.ContainsFunc(out, func(o *openapi3.Parameter) bool { return o.Name == p.Value.Name && o.In == p.Value.In }) {
				out = append(out, p.Value)
			}
		}
	}
	return out
}

// nameOf returns the name of a tool.
func nameOf(id, method, path string) string {
	if id == "" {
		id = strings.ToLower(method) + path
	}
	var b strings.Builder
	lower := false // the character before was a lower-case letter or a digit
	for _, r := range id {
		switch {
		case r >= 'A' && r <= 'Z':
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(r - 'A' + 'a')
			lower = false
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
			lower = true
		default:
			b.WriteByte('_')
			lower = false
		}
	}
	parts := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '_' })
	name := strings.Join(parts, "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "op_" + name
	}
	return strings.TrimRight(name[:min(len(name), maxName)], "_")
}

// inline returns a schema without references. What is nested too deeply accepts anything.
func inline(ref *openapi3.SchemaRef, depth int) map[string]any {
	out := map[string]any{}
	if ref == nil || ref.Value == nil || depth > maxDepth {
		return out
	}
	s := ref.Value
	if s.Type != nil && len(*s.Type) > 0 {
		types := slices.Clone([]string(*s.Type))
		if s.Nullable && !slices.Contains(types, "null") {
			types = append(types, "null")
		}
		out["type"] = any(types[0])
		if len(types) > 1 {
			out["type"] = anyList(types)
		}
	}
	if s.Description != "" {
		out["description"] = safetext.Truncate(safetext.Line(s.Description), 300)
	}
	if len(s.Enum) > 0 {
		out["enum"] = s.Enum
	}
	if s.Format != "" {
		out["format"] = s.Format
	}
	if s.Pattern != "" {
		out["pattern"] = s.Pattern
	}
	if s.Min != nil {
		out["minimum"] = *s.Min
	}
	if s.Max != nil {
		out["maximum"] = *s.Max
	}
	if s.MinLength > 0 {
		out["minLength"] = s.MinLength
	}
	if s.MaxLength != nil {
		out["maxLength"] = *s.MaxLength
	}
	if s.MaxItems != nil {
		out["maxItems"] = *s.MaxItems
	}
	if s.Items != nil {
		out["items"] = inline(s.Items, depth+1)
	}
	if len(s.Properties) > 0 {
		properties := map[string]any{}
		for name, p := range s.Properties {
			if p.Value == nil || !p.Value.ReadOnly {
				properties[name] = inline(p, depth+1)
			}
		}
		out["properties"] = properties
	}
	var required []string
	for _, name := range s.Required {
		if p := s.Properties[name]; p == nil || p.Value == nil || !p.Value.ReadOnly {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		out["required"] = anyList(required)
	}
	for name, list := range map[string]openapi3.SchemaRefs{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf} {
		var all []any
		for _, r := range list {
			all = append(all, inline(r, depth+1))
		}
		if len(all) > 0 {
			out[name] = all
		}
	}
	return out
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
