package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

const (
	// completeWhole is how many passages are looked at one by one for words
	// that begin with a prefix.
	completeWhole = 4000
	// completeSample is how many passages are looked at where there are more:
	// those that have such a word, or any for a short prefix.
	completeSample = 400
	// shortPrefix is up to how many characters too many words begin with.
	shortPrefix = 2

	readCompletions = `select term, passages from collection_terms
		where collection_id = $1 and workspace_id = $2 and term collate "C" >= $3 and term collate "C" < $3 || chr(1114111)
		order by passages desc, term collate "C" limit $4`

	countCompletions = "select term, passages from magpie_complete($1, $2, $3, $4::tsquery, $5, $6, $7, $8)"
)

// Complete implements rank.Source. Common words of a large collection come with
// the counts that were taken of them; otherwise the words of up to some thousand
// passages are counted.
func (s *Source) Complete(ctx context.Context, prefix string, limit int) ([]string, error) {
	if prefix == "" || limit <= 0 {
		return nil, nil
	}
	found := make(map[string]int64)
	read := func(rows pgx.Rows) error {
		var term string
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&term, &n}, func() error {
			found[term] = max(found[term], n)
			return nil
		})
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	// What has been counted tells of passages that a filter would leave out.
	if s.filter == noFilter && s.state.counted > 0 {
		err := s.ask(ctx, func(b *pgx.Batch) {
			b.Queue(readCompletions, s.collection, s.workspace, prefix, limit).Query(read)
		})
		if err != nil {
			return nil, fmt.Errorf("complete a word: %w", err)
		}
	}
	if len(found) < limit {
		var query strings.Builder
		writeLexeme(&query, prefix)
		query.WriteString(":*")
		each := s.left.passages <= completeWhole || utf8.RuneCountInString(prefix) <= shortPrefix
		most := completeSample
		switch {
		case s.left.passages <= completeWhole:
			most = completeWhole
		case 2*s.left.passages < s.state.passages: // several are looked at for each that the filter leaves
			most /= 4
		}
		err := s.ask(ctx, func(b *pgx.Batch) {
			b.Queue(countCompletions, s.workspace, s.collection, s.filter, query.String(), prefix, each, most, limit).Query(read)
		})
		if err != nil {
			return nil, fmt.Errorf("complete a word: %w", err)
		}
	}
	terms := make([]string, 0, len(found))
	for term := range found {
		terms = append(terms, term)
	}
	slices.SortFunc(terms, func(a, b string) int { return cmp.Or(cmp.Compare(found[b], found[a]), strings.Compare(a, b)) })
	return terms[:min(limit, len(terms))], nil
}
