package yamldoc

import (
	"context"
	"errors"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/code"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatree"
	"github.com/magpie-search/magpie/internal/ingest/parse/openapi"
	"github.com/magpie-search/magpie/internal/safetext"
)

// maxBytes is the longest YAML whose values are parsed.
const maxBytes = 8 << 20

// Read reads YAML. People write it, with comments for each other, so it stays as it is, cut at its keys, which become the
// headings. Only an OpenAPI description is read as a reference. Malformed YAML is still readable text.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	if len(in.Text) > maxBytes || !mayBeOpenAPI(in.Text) {
		return code.Read(ctx, in)
	}
	tree, err := datatree.FromYAML(ctx, in.Text, in.Limits.MaxDepth)
	switch {
	case err != nil && !errors.Is(err, datatree.ErrYAML):
		return nil, err
	case err != nil || len(tree) == 0 || !openapi.Is(tree, 0):
		return code.Read(ctx, in)
	}
	return openapi.Read(ctx, tree, 0, in.Limits)
}

// mayBeOpenAPI reports whether a text has one of the keys of an OpenAPI description at its left margin.
func mayBeOpenAPI(text string) bool {
	const maxHead = 64 << 10
	head := safetext.TruncateBytes(text, maxHead)
	for _, key := range []string{"openapi:", "swagger:", `"openapi":`, `"swagger":`} {
		if strings.HasPrefix(head, key) || strings.Contains(head, "\n"+key) {
			return true
		}
	}
	return false
}
