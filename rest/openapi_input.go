package rest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/rest/openapi"
)

// uuidPattern is the pattern of the UUIDs that parseUUID accepts.
const uuidPattern = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"

// pathParameters describes the parameters of a path.
func (d *describer) pathParameters(r *route) []*openapi.Parameter {
	var out []*openapi.Parameter
	for i, s := range r.segments {
		if s.parameter == "" {
			continue
		}
		schema := openapi.Of(openapi.String)
		if r.nameVariable != "" {
			schema.Pattern = namePattern
			out = append(out, &openapi.Parameter{
				Name: s.parameter, In: "path", Required: true, Schema: schema, Example: "google",
				Description: "The name of the " + strings.ToLower(noun(r.segments[i-1].literal)) + ". An unknown name is answered with 404.",
			})
			continue
		}
		what := strings.ToLower(noun(r.segments[i-1].literal))
		if s.parameter == r.textParameter {
			out = append(out, &openapi.Parameter{
				Name: s.parameter, In: "path", Required: true, Schema: schema, Example: "example",
				Description: "The name or the source's id of the " + what + ". An unknown one is answered with 404.",
			})
			continue
		}
		schema.Format, schema.Pattern = "uuid", uuidPattern
		out = append(out, &openapi.Parameter{
			Name: s.parameter, In: "path", Required: true, Schema: schema,
			Description: "The ID of the " + what + ". A malformed ID is answered with 404.",
		})
	}
	return out
}

// queryParameters describes the query parameters: for a group, each field as
// group[field], and the group as a JSON object.
func (d *describer) queryParameters(r *route) []*openapi.Parameter {
	var out []*openapi.Parameter
	for _, f := range r.fields {
		if f.kind != group {
			out = append(out, d.queryParameter(r, &f, f.name))
			continue
		}
		for _, inner := range f.fields {
			out = append(out, d.queryParameter(r, &inner, f.name+"["+inner.name+"]"))
		}
		schema := d.fieldSchema(r, &f)
		out = append(out, &openapi.Parameter{
			Name: f.name, In: "query",
			Description: "An alternative to " + f.name + "[…]: a JSON object with the same fields.",
			Content:     openapi.MapOf("application/json", &openapi.MediaType{Schema: schema}),
		})
	}
	return out
}

func (d *describer) queryParameter(r *route, f *field, name string) *openapi.Parameter {
	schema := d.fieldSchema(r, f)
	if f.commas {
		value := "(" + strings.Join(f.allowed, "|") + ")"
		list := openapi.Of(openapi.String)
		list.Description, list.Pattern = strings.TrimSpace(schema.Description+" Several values are separated by commas."), "^"+value+"(,"+value+")*$"
		schema = list
	}
	p := &openapi.Parameter{
		Name: name, In: "query", Required: f.required, Description: schema.Description, Deprecated: schema.Deprecated,
		Schema: schema,
	}
	if f.variable != "after" { // an example cursor would not be valid
		p.Example = d.sample(f.name, schema)
	}
	schema.Description, schema.Deprecated = "", false
	if f.kind == textList && !f.commas {
		p.Style, p.Explode = "form", true
		p.Description = strings.TrimSpace(p.Description + " Repeated for each value, also as " + name + "[].")
	}
	return p
}

// requestBody describes a JSON body.
func (d *describer) requestBody(r *route, id string) *openapi.RequestBody {
	schema := d.objectSchema(r, r.fields)
	name := title(id) + "Request"
	d.doc.Components.Schemas.Set(name, schema)
	return &openapi.RequestBody{
		Required:    len(schema.Required)+len(schema.OneOf) > 0 && !r.refreshes, // whose token may be in a cookie
		Description: "At most " + bytesText(d.limits.Body) + ".",
		Content:     openapi.MapOf("application/json", &openapi.MediaType{Schema: openapi.Refer(name), Example: d.sample("", schema)}),
	}
}

// objectSchema describes an object with fields. Optional fields may be null.
func (d *describer) objectSchema(r *route, fields []field) *openapi.Schema {
	schema := openapi.Of(openapi.Object)
	for at, f := range fields {
		if f.required && f.unless != "" {
			return &openapi.Schema{OneOf: []*openapi.Schema{d.objectSchema(r, alternative(fields, at, f.unless)), d.objectSchema(r, alternative(fields, -1, f.name))}}
		}
		inner := withoutDefault(d.fieldSchema(r, &f))
		if f.required {
			schema.Required = append(schema.Required, f.name)
		} else if f.single == "" {
			inner = openapi.Nullable(inner)
		}
		schema.Properties.Set(f.name, inner)
		if f.single != "" {
			schema.Required = append(schema.Required, f.name)
			return &openapi.Schema{OneOf: []*openapi.Schema{schema, d.item(r, &f)}}
		}
	}
	return schema
}

// withoutDefault moves the default of a field of a body to its description: generated
// types require fields that have a default.
func withoutDefault(s *openapi.Schema) *openapi.Schema {
	if s.Default == nil {
		return s
	}
	if !strings.Contains(strings.ToLower(s.Description), "default") {
		s.Description = strings.TrimSpace(fmt.Sprintf("%s The default is %v.", s.Description, s.Default))
	}
	s.Default = nil
	return s
}

// alternative returns fields without the named one. Instead, the field at an index is
// required, or every field if the index is -1.
func alternative(fields []field, required int, without string) []field {
	var out []field
	for i, f := range fields {
		if f.name == without {
			continue
		}
		f.unless = ""
		f.required = f.required || required < 0 || i == required
		out = append(out, f)
	}
	return out
}

// item describes an item of an array.
func (d *describer) item(r *route, f *field) *openapi.Schema {
	inside := slices.Clone(f.fields)
	for i := range inside {
		inside[i].variable = f.variable + "." + inside[i].variable
	}
	return d.objectSchema(r, inside)
}

// fieldSchema describes a field with the constraints of field.check.
func (d *describer) fieldSchema(r *route, f *field) *openapi.Schema {
	var s *openapi.Schema
	switch f.kind {
	case uid:
		s = openapi.Of(openapi.String)
		s.Format, s.Pattern = "uuid", uuidPattern
	case date:
		s = openapi.Of(openapi.String)
		s.Format, s.Pattern = "date", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
	case timestamp:
		s = openapi.Of(openapi.String)
		s.Format = "date-time"
	case objects:
		s = openapi.Of(openapi.Array)
		s.Items, s.MinItems, s.MaxItems = d.item(r, f), 1, f.maxItems
	case integer:
		s = openapi.Of(openapi.Integer)
	case number:
		s = openapi.Of(openapi.Number)
	case boolean:
		s = openapi.Of(openapi.Boolean)
	case textList:
		s = openapi.Of(openapi.Array)
		s.Items, s.MaxItems = openapi.Of(openapi.String), f.maxItems
		if f.uuids {
			s.Items.Format, s.Items.Pattern = "uuid", uuidPattern
		}
		if f.format != nil {
			s.Items.Pattern = f.format.pattern.String()
		}
		for _, value := range f.allowed {
			s.Items.Enum = append(s.Items.Enum, value)
		}
		if f.nonEmpty {
			s.MinItems = 1
		}
	case uuidList:
		s = openapi.Of(openapi.Array)
		s.Items = openapi.Of(openapi.String)
		s.Items.Format, s.Items.Pattern = "uuid", uuidPattern
		if f.nonEmpty {
			s.MinItems = 1
		}
	case group:
		s = d.objectSchema(r, f.fields)
		if f.closed {
			s.AdditionalProperties = new(false)
		}
	case freeObject:
		s = openapi.Of(openapi.Object)
		s.AdditionalProperties = new(true)
	case freeObjects:
		s = openapi.Of(openapi.Array)
		s.Items, s.MaxItems = openapi.Of(openapi.Object), f.maxItems
		s.Items.AdditionalProperties = new(true)
	default:
		s = openapi.Of(openapi.String)
		s.MaxLength = f.maxLength
		if f.nonEmpty {
			s.MinLength, s.Pattern = 1, `\S`
		}
		if f.format != nil {
			s.Pattern = f.format.pattern.String()
		}
		for _, value := range f.allowed {
			s.Enum = append(s.Enum, value)
		}
	}
	if f.bounds != nil {
		s.Minimum, s.Maximum = &f.bounds.low, &f.bounds.high
	}
	s.Description = f.description
	if definition := d.definition(r, f); definition != nil {
		if s.Description == "" {
			s.Description = sentence(definition.Description)
		}
		s.Deprecated = strings.HasPrefix(definition.Description, "Deprecated")
		if definition.DefaultValue != nil {
			s.Default, _ = definition.DefaultValue.Value(nil) // constant
			if name, ok := s.Default.(string); ok && f.enum {
				s.Default = strings.ToLower(name)
			}
		}
	}
	if f.nullable && !strings.Contains(s.Description, "Null ") {
		s.Description = strings.TrimSpace(s.Description + " Null clears it.")
	}
	if f.name == "limit" && r.pages != "" {
		s.Default = r.perPage
	}
	return s
}

// definition returns the definition of the input field that a field is copied to, or
// nil for a group and for a variable.
func (d *describer) definition(r *route, f *field) *ast.FieldDefinition {
	path, name, nested := cutLast(f.variable)
	if !nested {
		return nil
	}
	t := d.operations[r.Operation].typeAt(d.schema, path)
	if t == nil {
		return nil
	}
	return d.schema.Types[t.Name()].Fields.ForName(name)
}

func cutLast(path string) (before, last string, found bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// uploadBody describes the multipart body of an upload.
func (d *describer) uploadBody() *openapi.RequestBody {
	file := openapi.Of(openapi.String)
	file.Format, file.ContentMediaType = "binary", "application/octet-stream"
	files := openapi.Of(openapi.Array)
	files.Items, files.MinItems = file, 1
	files.Description = fmt.Sprintf("One part with a file name for each file; at most %d files of at most %s each.", d.limits.Files, bytesText(d.limits.File))
	path := openapi.Of(openapi.String)
	path.MaxLength = maxPathBytes
	paths := openapi.Of(openapi.Array)
	paths.Items = path
	paths.Description = "The path of each file, in the order of the files; none, or one for each file. A file with an empty path has its name as the path."
	schema := openapi.Of(openapi.Object)
	schema.Properties.Set("files", files)
	schema.Properties.Set("paths", paths)
	schema.Required, schema.AdditionalProperties = []string{"files"}, new(true)
	return &openapi.RequestBody{
		Required: true, Description: "At most " + bytesText(d.limits.Upload) + " in all.",
		Content: openapi.MapOf("multipart/form-data", &openapi.MediaType{Schema: schema}),
	}
}
