package graph

import (
	"bytes"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
)

// SDL returns a schema in the schema definition language, with its descriptions and
// without what GraphQL itself defines.
func SDL(schema *ast.Schema) []byte {
	var out bytes.Buffer
	formatter.NewFormatter(&out).FormatSchema(schema)
	return out.Bytes()
}
