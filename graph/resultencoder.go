package graph

import (
	"bytes"
	"context"
	"io"
	"math"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/request/storedop"
)

// resultEncoding encodes the results of searches in place of the executor, with the same
// bytes. The executor starts a goroutine for each result and makes a context for each
// field, which costs more than the search itself, although no field of a result needs a
// resolver. Unusual selections and values are left to the executor.
type resultEncoding struct{}

var _ graphql.OperationContextMutator = resultEncoding{}

func (resultEncoding) ExtensionName() string                   { return "ResultEncoding" }
func (resultEncoding) Validate(graphql.ExecutableSchema) error { return nil }

func (resultEncoding) MutateOperationContext(_ context.Context, rc *graphql.OperationContext) *graphqlError {
	for _, s := range rc.Operation.SelectionSet {
		if f, ok := s.(*ast.Field); ok && f.Name == "search" {
			resolve := rc.ResolverMiddleware
			rc.ResolverMiddleware = func(ctx context.Context, next graphql.Resolver) (any, error) {
				value, err := resolve(ctx, next)
				if results, ok := value.([]*model.SearchResult); ok && err == nil {
					if encoder := newResultEncoder(ctx, results); encoder != nil {
						return encoder, nil
					}
				}
				return value, err
			}
			break
		}
	}
	return nil
}

// A resultEncoder encodes the selected fields of results as JSON.
type resultEncoder struct {
	results []*model.SearchResult
	fields  []resultField
}

// A resultField is a selected field of a result.
type resultField struct {
	prefix string // JSON before the value
	value  func(*model.SearchResult) graphql.Marshaler
	sparse bool // duplicates are left out when null
}

// newResultEncoder returns an encoder of results, or nil if the executor must encode them.
func newResultEncoder(ctx context.Context, results []*model.SearchResult) graphql.Marshaler {
	for _, r := range results {
		if r == nil || r.ID == uuid.Nil || r.DocumentID == uuid.Nil || r.CollectionID == uuid.Nil || r.Metadata == nil || r.Explanation != nil ||
			math.IsNaN(r.Score) || math.IsInf(r.Score, 0) {
			return nil
		}
	}
	selected := graphql.CollectFields(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field.Selections, []string{"SearchResult"})
	e := &resultEncoder{results: results, fields: make([]resultField, len(selected))}
	comma := ""
	for i, f := range selected {
		e.fields[i] = resultField{prefix: comma + `"` + f.Alias + `":`, value: fieldEncoder(f.Name)}
		if f.Name == "duplicates" {
			// REST leaves it out where it is null, and copies the list as it is written here.
			e.fields[i].value, e.fields[i].sparse = duplicatesEncoder(ctx, f.Selections), i > 0 && storedop.Is(ctx)
		}
		if e.fields[i].value == nil || len(f.Deferrables) > 0 {
			return nil
		}
		comma = ","
	}
	return e
}

// MarshalGQL writes the list.
func (e *resultEncoder) MarshalGQL(w io.Writer) {
	if b, ok := w.(*bytes.Buffer); ok {
		b.Grow(e.size())
	}
	write := func(text string) { _, _ = io.WriteString(w, text) }
	separator := "[{"
	for _, r := range e.results {
		write(separator)
		for _, f := range e.fields {
			if f.sparse && r.Duplicates == nil {
				continue
			}
			write(f.prefix)
			f.value(r).MarshalGQL(w)
		}
		separator = "},{"
	}
	if len(e.results) == 0 {
		write("[]")
	} else {
		write("}]")
	}
}

// size returns about how many bytes the list has.
func (e *resultEncoder) size() int {
	n := 0
	for _, r := range e.results {
		n += 1024 + len(r.Snippet)
		for _, f := range e.fields {
			n += len(f.prefix)
		}
	}
	return n
}

// fieldEncoder returns a function that encodes a field of a result, or nil for an unknown
// field.
func fieldEncoder(field string) func(*model.SearchResult) graphql.Marshaler {
	text := func(of func(*model.SearchResult) string) func(*model.SearchResult) graphql.Marshaler {
		return func(r *model.SearchResult) graphql.Marshaler { return graphql.MarshalString(of(r)) }
	}
	optional := func(of func(*model.SearchResult) *string) func(*model.SearchResult) graphql.Marshaler {
		return func(r *model.SearchResult) graphql.Marshaler {
			if value := of(r); value != nil {
				return graphql.MarshalString(*value)
			}
			return graphql.Null
		}
	}
	list := func(of func(*model.SearchResult) []string) func(*model.SearchResult) graphql.Marshaler {
		return func(r *model.SearchResult) graphql.Marshaler {
			values := of(r)
			out := make(graphql.Array, len(values))
			for i, value := range values {
				out[i] = graphql.MarshalString(value)
			}
			return out
		}
	}
	switch field {
	case "__typename":
		return text(func(*model.SearchResult) string { return "SearchResult" })
	case "id":
		return func(r *model.SearchResult) graphql.Marshaler { return graphql.MarshalUUID(r.ID) }
	case "documentId":
		return func(r *model.SearchResult) graphql.Marshaler { return graphql.MarshalUUID(r.DocumentID) }
	case "title":
		return text(func(r *model.SearchResult) string { return r.Title })
	case "url":
		return optional(func(r *model.SearchResult) *string { return r.URL })
	case "snippet":
		return text(func(r *model.SearchResult) string { return r.Snippet })
	case "score":
		return func(r *model.SearchResult) graphql.Marshaler { return graphql.MarshalFloat(r.Score) }
	case "section":
		return optional(func(r *model.SearchResult) *string { return r.Section })
	case "version":
		return optional(func(r *model.SearchResult) *string { return r.Version })
	case "tags":
		return list(func(r *model.SearchResult) []string { return r.Tags })
	case "docType":
		return optional(func(r *model.SearchResult) *string { return r.DocType })
	case "language":
		return optional(func(r *model.SearchResult) *string { return r.Language })
	case "collection":
		return text(func(r *model.SearchResult) string { return r.Collection })
	case "collectionId":
		return func(r *model.SearchResult) graphql.Marshaler { return graphql.MarshalUUID(r.CollectionID) }
	case "source":
		return text(func(r *model.SearchResult) string { return r.Source })
	case "headingPath":
		return list(func(r *model.SearchResult) []string { return r.HeadingPath })
	case "updatedAt":
		return func(r *model.SearchResult) graphql.Marshaler {
			if r.UpdatedAt == nil {
				return graphql.Null
			}
			return graphql.MarshalTime(*r.UpdatedAt)
		}
	case "metadata":
		return func(r *model.SearchResult) graphql.Marshaler { return graphql.MarshalMap(r.Metadata) }
	case "explanation":
		return func(*model.SearchResult) graphql.Marshaler { return graphql.Null }
	default:
		return nil
	}
}

// duplicatesEncoder returns a function that encodes the selected fields of a result's
// duplicates, or nil for an unknown field.
func duplicatesEncoder(ctx context.Context, selections ast.SelectionSet) func(*model.SearchResult) graphql.Marshaler {
	selected := graphql.CollectFields(graphql.GetOperationContext(ctx), selections, []string{"SearchDuplicates"})
	encoders := make([]func(*model.SearchDuplicates) graphql.Marshaler, len(selected))
	for i, f := range selected {
		switch f.Name {
		case "__typename":
			encoders[i] = func(*model.SearchDuplicates) graphql.Marshaler { return graphql.MarshalString("SearchDuplicates") }
		case "count":
			encoders[i] = func(d *model.SearchDuplicates) graphql.Marshaler { return graphql.MarshalInt(d.Count) }
		case "versions":
			encoders[i] = func(d *model.SearchDuplicates) graphql.Marshaler {
				out := make(graphql.Array, len(d.Versions))
				for i, v := range d.Versions {
					out[i] = graphql.MarshalString(v)
				}
				return out
			}
		default:
			return nil
		}
	}
	return func(r *model.SearchResult) graphql.Marshaler {
		if r.Duplicates == nil {
			return graphql.Null
		}
		return graphql.WriterFunc(func(w io.Writer) {
			separator := `{"`
			for i, f := range selected {
				_, _ = io.WriteString(w, separator+f.Alias+`":`)
				encoders[i](r.Duplicates).MarshalGQL(w)
				separator = `,"`
			}
			_, _ = io.WriteString(w, "}")
		})
	}
}
