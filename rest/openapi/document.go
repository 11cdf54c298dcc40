package openapi

// Document is an OpenAPI 3.1 document.
type Document struct {
	OpenAPI    string         `json:"openapi"`
	Info       Info           `json:"info"`
	Servers    []Server       `json:"servers"`
	Tags       []Tag          `json:"tags"`
	Paths      Map[*PathItem] `json:"paths"`
	Components Components     `json:"components"`
}

// Info describes the document.
type Info struct {
	Title       string  `json:"title"`
	Description string  `json:"description"` // Markdown
	License     License `json:"license"`
	Version     string  `json:"version"`
}

// License is a license with its SPDX identifier.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

// Server is a base URL, relative to the URL of the document.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
}

// Tag is a group of operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// PathItem has the operations of a path by method, in lower case.
type PathItem struct{ Map[*Operation] }

// Components has the objects that references point to.
type Components struct {
	Schemas         Map[*Schema]         `json:"schemas,omitzero"`
	Responses       Map[*Response]       `json:"responses,omitzero"`
	Parameters      Map[*Parameter]      `json:"parameters,omitzero"`
	Headers         Map[*Header]         `json:"headers,omitzero"`
	SecuritySchemes Map[*SecurityScheme] `json:"securitySchemes,omitzero"`
}

// Operation is a method of a path.
type Operation struct {
	OperationID string                `json:"operationId"`
	Summary     string                `json:"summary"`
	Description string                `json:"description,omitempty"`
	Tags        []string              `json:"tags"`
	Security    []map[string][]string `json:"security"` // empty: no authentication
	Parameters  []*Parameter          `json:"parameters,omitempty"`
	RequestBody *RequestBody          `json:"requestBody,omitempty"`
	Responses   Map[*Response]        `json:"responses"` // by status
}

// Parameter is a path, query or header parameter. A JSON parameter has Content
// instead of Schema.
type Parameter struct {
	Ref         string          `json:"$ref,omitempty"`
	Name        string          `json:"name,omitempty"`
	In          string          `json:"in,omitempty"`
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Deprecated  bool            `json:"deprecated,omitempty"`
	Style       string          `json:"style,omitempty"`
	Explode     bool            `json:"explode,omitempty"`
	Schema      *Schema         `json:"schema,omitempty"`
	Example     any             `json:"example,omitempty"`
	Content     Map[*MediaType] `json:"content,omitzero"`
}

// RequestBody is a request body by media type.
type RequestBody struct {
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Content     Map[*MediaType] `json:"content"`
}

// Response is a response by media type. Without Content it has no body.
type Response struct {
	Ref         string          `json:"$ref,omitempty"`
	Description string          `json:"description,omitempty"`
	Headers     Map[*Header]    `json:"headers,omitzero"`
	Content     Map[*MediaType] `json:"content,omitzero"`
}

// MediaType is the format of a body.
type MediaType struct {
	Schema   *Schema       `json:"schema"`
	Example  any           `json:"example,omitempty"`
	Examples Map[*Example] `json:"examples,omitzero"`
}

// Example is one of several sample values.
type Example struct {
	Summary string `json:"summary,omitempty"`
	Value   any    `json:"value"`
}

// Header is a response header.
type Header struct {
	Ref         string  `json:"$ref,omitempty"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
}

// SecurityScheme is a method of authentication.
type SecurityScheme struct {
	Type         string `json:"type"`
	Description  string `json:"description,omitempty"`
	Name         string `json:"name,omitempty"`
	In           string `json:"in,omitempty"`
	Scheme       string `json:"scheme,omitempty"`
	BearerFormat string `json:"bearerFormat,omitempty"`
}
