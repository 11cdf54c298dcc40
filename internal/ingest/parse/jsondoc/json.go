package jsondoc

import (
	"context"
	"errors"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/code"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatext"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatree"
	"github.com/magpie-search/magpie/internal/ingest/parse/openapi"
)

// Read reads JSON. Arrays of similar flat objects become tables, everything else lines "path: value", in sections named by the
// members near the root. A file with comments is written by people and stays as it is, cut at its members. An OpenAPI
// description is read as a reference. A file that breaks off gives everything before the break as values, and the rest as
// code.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	p := datatree.NewParser(ctx, in.Text, in.Limits.MaxDepth)
	root, err := p.Next()
	if err == nil {
		var more bool
		if more, err = p.More(); more && err == nil {
			return readValues(ctx, in, p, root)
		}
	}
	var broken *datatree.SyntaxError
	switch {
	case errors.As(err, &broken) && (p.Complete() == 0 || !p.Tree.HasScalar()):
		return nil, &document.DamagedError{Format: "JSON", Detail: broken.In(in.Text), Cause: err}
	case err != nil && broken == nil:
		return nil, err
	case broken == nil && p.HasComments:
		in.Language = "jsonc"
		return code.Read(ctx, in)
	case broken == nil && openapi.Is(p.Tree, root):
		return openapi.Read(ctx, p.Tree, root, in.Limits)
	}
	w := datatext.NewWriter(ctx, p.Tree, in.Limits)
	if err := w.Section(root, "", 2); err != nil {
		return nil, err
	}
	draft := &document.Draft{Blocks: w.Blocks}
	draft.Title, draft.Meta = datatext.Facts(p.Tree, root)
	if broken != nil {
		rest := strings.TrimLeft(in.Text[p.Complete():], ", \n\t")
		draft.Blocks = append(draft.Blocks, document.Block{Kind: document.Code, Language: "json", Text: strings.TrimRight(rest, "\n")})
		draft.Extra = map[string]any{"damaged": damage(broken, in.Text)}
	}
	return draft, nil
}

// damage describes a file of which only the part before an error could be parsed.
func damage(err *datatree.SyntaxError, text string) string {
	return err.In(text) + "; the rest is as in the file"
}

// readValues reads a file of several values as records. The first value has been parsed.
func readValues(ctx context.Context, in document.Text, p *datatree.Parser, root int32) (*document.Draft, error) {
	records := datatext.NewRecords(ctx, in.Limits)
	for {
		if err := records.Add(p.Tree, root); err != nil {
			return nil, err
		}
		more, err := p.More()
		if !more && err == nil {
			return records.Draft()
		}
		if err == nil {
			root, err = p.Next()
		}
		var broken *datatree.SyntaxError
		if errors.As(err, &broken) {
			draft, err := records.Draft(damage(broken, in.Text))
			if err == nil {
				rest := document.Block{Kind: document.Code, Language: "json", Text: strings.Trim(in.Text[p.Complete():], "\n")}
				draft.Blocks = append(draft.Blocks, rest)
			}
			return draft, err
		}
		if err != nil {
			return nil, err
		}
	}
}
