package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search/rank"
)

const (
	// DistinctDocument is the value of Query.Distinct for one result of each document.
	DistinctDocument = "document"
	// DistinctMetadata precedes a key of metadata in Query.Distinct.
	DistinctMetadata = "metadata."
	// MaxMetadataKey is the largest number of characters of such a key.
	MaxMetadataKey = 100
)

// DistinctFields returns the values of Query.Distinct but for keys of metadata.
func DistinctFields() []string {
	return []string{DistinctDocument, "section", "version", "doc_type", "language", "collection", "source"}
}

func validateDistinct(by string) error {
	key, isMetadata := strings.CutPrefix(by, DistinctMetadata)
	switch {
	case by == "" || slices.Contains(DistinctFields(), by):
		return nil
	case isMetadata && key != "" && utf8.RuneCountInString(key) <= MaxMetadataKey && !strings.ContainsRune(key, 0):
		return nil
	}
	return apierr.Invalid("distinct", fmt.Sprintf("must be one of %s, or %s and a key of at most %d characters",
		strings.Join(DistinctFields(), ", "), DistinctMetadata, MaxMetadataKey))
}

// distinctQuery returns the statement that reads the values of a field of documents ($1),
// and its further arguments.
func distinctQuery(by string) (query string, arguments []any) {
	value := "d." + by // a column
	if key, ok := strings.CutPrefix(by, DistinctMetadata); ok {
		value, arguments = "d.metadata ->> $2", []any{key}
	}
	switch by {
	case "collection":
		value = "d.collection_id::text"
	case "source":
		value = "(select k.type from connectors k where k.id = d.connector_id)"
	}
	return "select d.id, " + value + " from documents d where d.id = any($1) and " + value + " <> ''", arguments
}

// A grouping says which results are alike: those with the same group. The zero value
// makes each result a group of its own.
type grouping struct {
	editions editions
	distinct bool
	values   map[uuid.UUID]string // of documents; those without a value are groups of their own
}

// group identifies the results that are alike.
type group struct {
	id    uuid.UUID // of a passage or document
	value string
}

func (g *grouping) of(r *rank.Result) group {
	r = g.editions.leader(r)
	if !g.distinct {
		return group{id: r.Passage}
	}
	if value, ok := g.values[r.Document]; ok {
		return group{value: value}
	}
	return group{id: r.Document}
}

// first returns the first result of each group, in their order.
func (g *grouping) first(results []rank.Result) []rank.Result {
	if !g.distinct {
		return results
	}
	out := make([]rank.Result, 0, len(results))
	seen := make(map[group]bool, len(results))
	for i := range results {
		if key := g.of(&results[i]); !seen[key] {
			seen[key] = true
			out = append(out, results[i])
		}
	}
	return out
}

// grouping reads what the query's Collapse and Distinct need of results.
func (s *searcher) grouping(ctx context.Context, q *Query, results []rank.Result) (grouping, error) {
	editions, err := s.editions(ctx, q, results)
	g := grouping{editions: editions, distinct: q.Distinct != ""}
	if err != nil {
		return g, err
	}
	if !g.distinct || q.Distinct == DistinctDocument || len(results) == 0 {
		return g, nil
	}
	g.values = make(map[uuid.UUID]string)
	firsts := make([]rank.Result, 0, len(results)) // of each document
	seen := make(map[uuid.UUID]bool, len(results))
	for i := range results {
		if id := results[i].Document; !seen[id] {
			seen[id] = true
			firsts = append(firsts, results[i])
		}
	}
	query, arguments := distinctQuery(q.Distinct)
	read := func(rows pgx.Rows) error {
		var id uuid.UUID
		var value string
		_, err := pgx.ForEachRow(rows, []any{&id, &value}, func() error {
			g.values[id] = value
			return nil
		})
		return err
	}
	if err := s.readRows(ctx, firsts, func(r *rank.Result) uuid.UUID { return r.Document }, read, query, arguments...); err != nil {
		return g, fmt.Errorf("read %s of documents: %w", q.Distinct, err)
	}
	return g, nil
}
