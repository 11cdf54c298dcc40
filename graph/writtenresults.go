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
)

// writtenResults writes the results of searches to the answer itself, in the
// bytes that the executor would write. That one gives each result a goroutine
// and each of its fields a context, a guard against panics and a place in a
// tree, which costs more than a search; a result has nothing to resolve that
// could need those. A resolver may answer what writes itself in place of a
// value: that is all that is made use of. Whatever is out of the ordinary is
// left to the executor, a value that cannot be shown among it.
type writtenResults struct{}

var _ graphql.OperationContextMutator = writtenResults{}

func (writtenResults) ExtensionName() string                   { return "WrittenResults" }
func (writtenResults) Validate(graphql.ExecutableSchema) error { return nil }

func (writtenResults) MutateOperationContext(_ context.Context, rc *graphql.OperationContext) *graphqlError {
	for _, s := range rc.Operation.SelectionSet {
		if f, ok := s.(*ast.Field); ok && f.Name == "search" {
			resolve := rc.ResolverMiddleware
			rc.ResolverMiddleware = func(ctx context.Context, next graphql.Resolver) (any, error) {
				value, err := resolve(ctx, next)
				if results, ok := value.([]*model.SearchResult); ok && err == nil {
					if written := writeResults(ctx, results); written != nil {
						return written, nil
					}
				}
				return value, err
			}
			break
		}
	}
	return nil
}

// resultWriter writes results in the fields that were asked for.
type resultWriter struct {
	results []*model.SearchResult
	fields  []resultField
}

// resultField is a field of a result.
type resultField struct {
	start string // what comes before its value
	write func(*model.SearchResult) graphql.Marshaler
}

// writeResults makes the writer of a field's results; nil when they have to be
// left to the executor.
func writeResults(ctx context.Context, results []*model.SearchResult) graphql.Marshaler {
	for _, r := range results {
		if r == nil || r.ID == uuid.Nil || r.DocumentID == uuid.Nil || r.CollectionID == uuid.Nil || r.Metadata == nil || math.IsNaN(r.Score) || math.IsInf(r.Score, 0) {
			return nil
		}
	}
	asked := graphql.CollectFields(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field.Selections, []string{"SearchResult"})
	w := &resultWriter{results: results, fields: make([]resultField, len(asked))}
	start := ""
	for i, f := range asked {
		w.fields[i] = resultField{start: start + `"` + f.Alias + `":`, write: writerOf(f.Name)}
		if w.fields[i].write == nil || len(f.Deferrables) > 0 {
			return nil
		}
		start = ","
	}
	return w
}

// MarshalGQL writes the list.
func (w *resultWriter) MarshalGQL(to io.Writer) {
	if b, ok := to.(*bytes.Buffer); ok {
		b.Grow(w.size())
	}
	say := func(text string) { _, _ = io.WriteString(to, text) }
	start := "[{"
	for _, r := range w.results {
		say(start)
		for _, f := range w.fields {
			say(f.start)
			f.write(r).MarshalGQL(to)
		}
		start = "},{"
	}
	if len(w.results) == 0 {
		say("[]")
	} else {
		say("}]")
	}
}

// size is about how many bytes the list has.
func (w *resultWriter) size() int {
	n := 0
	for _, r := range w.results {
		n += 1024 + len(r.Snippet)
		for _, f := range w.fields {
			n += len(f.start)
		}
	}
	return n
}

// writerOf is how a field of a result is written; nil for one that is not known.
func writerOf(field string) func(*model.SearchResult) graphql.Marshaler {
	text := func(of func(*model.SearchResult) string) func(*model.SearchResult) graphql.Marshaler {
		return func(r *model.SearchResult) graphql.Marshaler { return graphql.MarshalString(of(r)) }
	}
	known := func(of func(*model.SearchResult) *string) func(*model.SearchResult) graphql.Marshaler {
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
		return known(func(r *model.SearchResult) *string { return r.URL })
	case "snippet":
		return text(func(r *model.SearchResult) string { return r.Snippet })
	case "score":
		return func(r *model.SearchResult) graphql.Marshaler { return graphql.MarshalFloat(r.Score) }
	case "section":
		return known(func(r *model.SearchResult) *string { return r.Section })
	case "version":
		return known(func(r *model.SearchResult) *string { return r.Version })
	case "tags":
		return list(func(r *model.SearchResult) []string { return r.Tags })
	case "docType":
		return known(func(r *model.SearchResult) *string { return r.DocType })
	case "language":
		return known(func(r *model.SearchResult) *string { return r.Language })
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
	default:
		return nil
	}
}
