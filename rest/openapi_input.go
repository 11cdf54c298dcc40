package rest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/rest/openapi"
)

// uuidPattern is what parseUUID takes.
const uuidPattern = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"

// pathParameters describes the ids of a path.
func (d *describer) pathParameters(r *route) []*openapi.Parameter {
	var made []*openapi.Parameter
	for i, s := range r.segments {
		if s.parameter == "" {
			continue
		}
		schema := openapi.Of(openapi.String)
		if r.named != "" {
			schema.Pattern = namePattern
			made = append(made, &openapi.Parameter{
				Name: s.parameter, In: "path", Required: true, Schema: schema, Example: "google",
				Description: "The name of the " + strings.ToLower(noun(r.segments[i-1].literal)) + ". An unknown one is answered 404.",
			})
			continue
		}
		schema.Format, schema.Pattern = "uuid", uuidPattern
		what := strings.ToLower(noun(r.segments[i-1].literal))
		made = append(made, &openapi.Parameter{
			Name: s.parameter, In: "path", Required: true, Schema: schema,
			Description: "The id of the " + what + ". A malformed one names nothing: 404.",
		})
	}
	return made
}

// queryParameters describes the fields of a query string; a group's each, as
// group[field], and the group whole as JSON.
func (d *describer) queryParameters(r *route) []*openapi.Parameter {
	var made []*openapi.Parameter
	for _, f := range r.fields {
		if f.kind != group {
			made = append(made, d.queryParameter(r, &f, f.name))
			continue
		}
		for _, inner := range f.fields {
			made = append(made, d.queryParameter(r, &inner, f.name+"["+inner.name+"]"))
		}
		schema := d.input(r, &f)
		made = append(made, &openapi.Parameter{
			Name: f.name, In: "query",
			Description: "The same as " + f.name + "[…], whole as a JSON object, in place of them.",
			Content:     openapi.MapOf("application/json", &openapi.MediaType{Schema: schema}),
		})
	}
	return made
}

func (d *describer) queryParameter(r *route, f *field, name string) *openapi.Parameter {
	schema := d.input(r, f)
	if f.commas {
		one := "(" + strings.Join(f.allowed, "|") + ")"
		said := openapi.Of(openapi.String)
		said.Description, said.Pattern = strings.TrimSpace(schema.Description+" Several with commas between."), "^"+one+"(,"+one+")*$"
		schema = said
	}
	p := &openapi.Parameter{
		Name: name, In: "query", Required: f.required, Description: schema.Description, Deprecated: schema.Deprecated,
		Schema: schema,
	}
	if f.variable != "after" { // nobody can make up a cursor
		p.Example = d.sample(f.name, schema)
	}
	schema.Description, schema.Deprecated = "", false
	if f.kind == texts && !f.commas {
		p.Style, p.Explode = "form", true
		p.Description = strings.TrimSpace(p.Description + " Repeated for each value; " + name + "[] is taken, too.")
	}
	return p
}

// requestBody describes the fields of a JSON body.
func (d *describer) requestBody(r *route, id string) *openapi.RequestBody {
	schema := d.inputs(r, r.fields)
	name := strings.ToUpper(id[:1]) + id[1:] + "Request"
	d.doc.Components.Schemas.Set(name, schema)
	return &openapi.RequestBody{
		Required:    len(schema.Required)+len(schema.OneOf) > 0,
		Description: "At most " + bytesText(d.limits.Body) + ".",
		Content:     openapi.MapOf("application/json", &openapi.MediaType{Schema: openapi.Refer(name), Example: d.sample("", schema)}),
	}
}

// inputs is the object of some fields. One that may be left out may be null.
func (d *describer) inputs(r *route, fields []field) *openapi.Schema {
	schema := openapi.Of(openapi.Object)
	for at, f := range fields {
		if f.required && f.unless != "" {
			return &openapi.Schema{OneOf: []*openapi.Schema{d.inputs(r, chosen(fields, at, f.unless)), d.inputs(r, chosen(fields, -1, f.name))}}
		}
		inner := d.input(r, &f)
		if f.required {
			schema.Required = append(schema.Required, f.name)
		} else if f.alone == "" {
			inner = openapi.Nullable(inner)
		}
		schema.Properties.Set(f.name, inner)
		if f.alone != "" {
			schema.Required = append(schema.Required, f.name)
			return &openapi.Schema{OneOf: []*openapi.Schema{schema, d.item(r, &f)}}
		}
	}
	return schema
}

// chosen are fields without the one of a name, in whose place another one is
// required: that at an index, or every one where there is none.
func chosen(fields []field, at int, without string) []field {
	var out []field
	for i, f := range fields {
		if f.name == without {
			continue
		}
		f.unless = ""
		f.required = f.required || at < 0 || i == at
		out = append(out, f)
	}
	return out
}

// item is the object of which an array has several.
func (d *describer) item(r *route, f *field) *openapi.Schema {
	inside := slices.Clone(f.fields)
	for i := range inside {
		inside[i].variable = f.variable + "." + inside[i].variable
	}
	return d.inputs(r, inside)
}

// input describes one field: what readObject and readQuery take of it.
func (d *describer) input(r *route, f *field) *openapi.Schema {
	var s *openapi.Schema
	switch f.kind {
	case uid:
		s = openapi.Of(openapi.String)
		s.Format, s.Pattern = "uuid", uuidPattern
	case date:
		s = openapi.Of(openapi.String)
		s.Format, s.Pattern = "date", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
	case moment:
		s = openapi.Of(openapi.String)
		s.Format = "date-time"
	case objects:
		s = openapi.Of(openapi.Array)
		s.Items, s.MinItems, s.MaxItems = d.item(r, f), 1, f.most
	case integer:
		s = openapi.Of(openapi.Integer)
	case number:
		s = openapi.Of(openapi.Number)
	case boolean:
		s = openapi.Of(openapi.Boolean)
	case texts:
		s = openapi.Of(openapi.Array)
		s.Items, s.MaxItems = openapi.Of(openapi.String), f.most
		if f.ids {
			s.Items.Format, s.Items.Pattern = "uuid", uuidPattern
		}
		if f.form != nil {
			s.Items.Pattern = f.form.pattern.String()
		}
		for _, value := range f.allowed {
			s.Items.Enum = append(s.Items.Enum, value)
		}
		if f.filled {
			s.MinItems = 1
		}
	case uids:
		s = openapi.Of(openapi.Array)
		s.Items = openapi.Of(openapi.String)
		s.Items.Format, s.Items.Pattern = "uuid", uuidPattern
		if f.filled {
			s.MinItems = 1
		}
	case group:
		s = d.inputs(r, f.fields)
		if f.closed {
			s.AdditionalProperties = new(false)
		}
	case anything:
		s = openapi.Of(openapi.Object)
		s.AdditionalProperties = new(true)
	default:
		s = openapi.Of(openapi.String)
		s.MaxLength = f.longest
		if f.filled {
			s.MinLength, s.Pattern = 1, `\S`
		}
		if f.form != nil {
			s.Pattern = f.form.pattern.String()
		}
		for _, value := range f.allowed {
			s.Enum = append(s.Enum, value)
		}
	}
	if f.bounds != nil {
		s.Minimum, s.Maximum = &f.bounds.low, &f.bounds.high
	}
	s.Description = f.about
	if known := d.inputAt(r, f); known != nil {
		if s.Description == "" {
			s.Description = sentence(known.Description)
		}
		s.Deprecated = strings.HasPrefix(known.Description, "Deprecated")
		if known.DefaultValue != nil {
			s.Default, _ = known.DefaultValue.Value(nil) // a constant
			if name, isText := s.Default.(string); isText && f.upper {
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

// inputAt is the field of the operation's input that a field goes to; nil for a
// group and for what is a variable of its own.
func (d *describer) inputAt(r *route, f *field) *ast.FieldDefinition {
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

// form describes the multipart body of an upload.
func (d *describer) form() *openapi.RequestBody {
	file := openapi.Of(openapi.String)
	file.Format, file.ContentMediaType = "binary", "application/octet-stream"
	files := openapi.Of(openapi.Array)
	files.Items, files.MinItems = file, 1
	files.Description = fmt.Sprintf("One part for each file, with a file name; at most %d of at most %s each.", d.limits.Files, bytesText(d.limits.File))
	path := openapi.Of(openapi.String)
	path.MaxLength = pathLength
	paths := openapi.Of(openapi.Array)
	paths.Items = path
	paths.Description = "Where each file belongs, in the order of the files; none, or one for each. A file without one goes by its name."
	schema := openapi.Of(openapi.Object)
	schema.Properties.Set("files", files)
	schema.Properties.Set("paths", paths)
	schema.Required, schema.AdditionalProperties = []string{"files"}, new(true)
	return &openapi.RequestBody{
		Required: true, Description: "At most " + bytesText(d.limits.Upload) + " in all.",
		Content: openapi.MapOf("multipart/form-data", &openapi.MediaType{Schema: schema}),
	}
}
