package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

const (
	// maxCompleteScan is the largest number of passages that are all scanned for words
	// with a prefix.
	maxCompleteScan = 4000
	// completeSample is the number of passages that are scanned where there are more:
	// passages with such a word, or any passages if the prefix is short.
	completeSample = 400
	// shortPrefix is the length in characters of prefixes that too many words have.
	shortPrefix = 2

	completionsQuery = `select term, passages from collection_terms
		where collection_id = $1 and workspace_id = $2 and term collate "C" >= $3 and term collate "C" < $3 || chr(1114111)
		order by passages desc, term collate "C" limit $4`

	countCompletionsQuery = "select term, passages from magpie_complete($1, $2, $3, $4::tsquery, $5, $6, $7, $8)"
)

// Complete implements rank.Source. Common words of a large collection have the
// frequencies of the last count. Others are counted in up to some thousand passages.
func (s *Source) Complete(ctx context.Context, prefix string, limit int) ([]string, error) {
	if prefix == "" || limit <= 0 {
		return nil, nil
	}
	frequencies := make(map[string]int64)
	read := func(rows pgx.Rows) error {
		var term string
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&term, &n}, func() error {
			frequencies[term] = max(frequencies[term], n)
			return nil
		})
		return err
	}
	if err := s.readSelection(ctx); err != nil {
		return nil, err
	}
	// The counts must not be used with a filter: they include passages that it excludes.
	if s.filter == noFilter && s.state.counted > 0 {
		err := s.query(ctx, func(b *pgx.Batch) {
			b.Queue(completionsQuery, s.collection, s.workspace, prefix, limit).Query(read)
		})
		if err != nil {
			return nil, fmt.Errorf("complete a word: %w", err)
		}
	}
	if len(frequencies) < limit {
		var query strings.Builder
		writeLexeme(&query, prefix)
		query.WriteString(":*")
		anyPassage := s.selection.passages <= maxCompleteScan || utf8.RuneCountInString(prefix) <= shortPrefix
		scan := completeSample
		switch {
		case s.selection.passages <= maxCompleteScan:
			scan = maxCompleteScan
		case 2*s.selection.passages < s.state.passages: // several passages are read for each selected one
			scan /= 4
		}
		count := func() error {
			return s.query(ctx, func(b *pgx.Batch) {
				b.Queue(countCompletionsQuery, s.workspace, s.collection, s.filter, query.String(), prefix, anyPassage, scan, limit).Query(read)
			})
		}
		err := count()
		if err == nil && len(frequencies) == 0 && anyPassage && s.selection.passages > maxCompleteScan {
			anyPassage = false // few passages have such a word
			err = count()
		}
		if err != nil {
			return nil, fmt.Errorf("complete a word: %w", err)
		}
	}
	terms := slices.Collect(maps.Keys(frequencies))
	slices.SortFunc(terms, func(a, b string) int {
		return cmp.Or(cmp.Compare(frequencies[b], frequencies[a]), strings.Compare(a, b))
	})
	return terms[:min(limit, len(terms))], nil
}
