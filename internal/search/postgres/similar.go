package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

const (
	// maxSimilarScan is the largest number of words that a statement returns for
	// comparison with a misspelled word.
	maxSimilarScan = 20_000
	// maxSimilarPassages is the number of passages that are scanned for words that are
	// too rare for the count of common words.
	maxSimilarPassages = 400
	// maxVerified is the number of passages in which a similar term is counted if a
	// filter applies.
	maxVerified = 20

	similarQuery = `select term, passages from collection_terms
		where collection_id = $1 and workspace_id = $2 and term collate "C" >= $3 and term collate "C" < $4
			and char_length(term) between $5 and $6
		limit $7`
)

// Similar implements rank.Source. In a large collection it compares the common words of
// the last count, and other words that begin with the same letters. In others it
// compares the words of up to some thousand passages.
func (s *Source) Similar(ctx context.Context, pattern *spelling.Pattern, limit int) ([]rank.SimilarTerm, error) {
	if err := s.readSelection(ctx); err != nil {
		return nil, err
	}
	found := make(map[string]rank.SimilarTerm)
	read := func(rows pgx.Rows) error {
		var term string
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&term, &n}, func() error {
			if distance, ok := pattern.Distance(term); ok {
				found[term] = rank.SimilarTerm{Term: term, Distance: distance, Frequency: max(found[term].Frequency, int(n))}
			}
			return nil
		})
		return err
	}
	err := s.query(ctx, func(b *pgx.Batch) {
		if s.state.counted > 0 {
			shortest, longest := pattern.Lengths()
			for _, r := range pattern.Ranges() {
				b.Queue(similarQuery, s.collection, s.workspace, r.From, r.To, shortest, longest, maxSimilarScan).Query(read)
			}
		}
		for _, l := range s.similarLookups(pattern) {
			b.Queue(countCompletionsQuery, s.workspace, s.collection, s.filter, l.query, l.prefix, l.all, l.most, maxSimilarScan).Query(read)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("look for similar words: %w", err)
	}
	out := make([]rank.SimilarTerm, 0, len(found))
	for _, t := range found {
		out = append(out, t)
	}
	slices.SortFunc(out, rank.CompareSimilar)
	out = out[:min(limit, len(out))]
	if s.filter == noFilter || s.state.counted == 0 {
		return out, nil
	}
	// The count of common words includes passages that the filter excludes.
	terms := make([]string, len(out))
	for i, t := range out {
		terms[i] = t.Term
	}
	counts, err := s.countSelected(ctx, terms, maxVerified)
	if err != nil {
		return nil, err
	}
	kept := out[:0]
	for i, t := range out {
		if counts[i] > 0 {
			t.Frequency = counts[i]
			kept = append(kept, t)
		}
	}
	slices.SortFunc(kept, rank.CompareSimilar)
	return kept, nil
}

// similarLookup are arguments of magpie_complete.
type similarLookup struct {
	query, prefix string
	all           bool
	most          int
}

// similarLookups returns the look-ups of passages whose words are compared with a
// pattern.
func (s *Source) similarLookups(pattern *spelling.Pattern) []similarLookup {
	var out []similarLookup
	if s.state.counted > 0 {
		for _, start := range pattern.Starts() {
			out = append(out, similarLookup{query: prefixQuery([]string{start}), prefix: start, most: maxSimilarPassages})
		}
		return out
	}
	l := similarLookup{all: s.selection.passages <= maxCompleteScan, most: maxCompleteScan}
	if !l.all {
		l.most = maxSimilarPassages
	}
	for _, first := range pattern.Firsts() {
		l.query, l.prefix = prefixQuery([]string{first}), first
		out = append(out, l)
	}
	if marked := pattern.MarkedFirsts(); len(marked) > 0 {
		l.query, l.prefix = prefixQuery(marked), ""
		out = append(out, l)
	}
	return out
}

// prefixQuery returns the tsquery of words that begin with one of the prefixes.
func prefixQuery(prefixes []string) string {
	var b strings.Builder
	for i, p := range prefixes {
		if i > 0 {
			b.WriteString(" | ")
		}
		writeLexeme(&b, p)
		b.WriteString(":*")
	}
	return b.String()
}

// Contains implements rank.Source.
func (s *Source) Contains(ctx context.Context, terms []string) ([]bool, error) {
	var counts []int
	var err error
	if s.filter == noFilter {
		counts, err = s.DocumentFrequencies(ctx, terms)
	} else {
		counts, err = s.countSelected(ctx, terms, 1)
	}
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(terms))
	for i, n := range counts {
		out[i] = n > 0
	}
	return out, nil
}

// countSelected counts, for each term, up to most passages that have it and that the
// filter selects.
func (s *Source) countSelected(ctx context.Context, terms []string, most int) ([]int, error) {
	out := make([]int, len(terms))
	err := s.query(ctx, func(b *pgx.Batch) {
		for i, term := range terms {
			b.Queue(countCompletionsQuery, s.workspace, s.collection, s.filter, anyOf([]string{term}), term, false, most, maxSimilarScan).
				Query(func(rows pgx.Rows) error {
					var found string
					var n int64
					_, err := pgx.ForEachRow(rows, []any{&found, &n}, func() error {
						if found == term {
							out[i] = int(n)
						}
						return nil
					})
					return err
				})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("count words of selected passages: %w", err)
	}
	return out, nil
}
