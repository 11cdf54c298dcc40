package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// Terms implements rank.Source.
func (s *Source) Terms(ctx context.Context, passages []rank.Candidate) ([][]rank.TermCount, error) {
	out := make([][]rank.TermCount, len(passages))
	err := s.each(ctx, passages, "select place, lexemes from magpie_lexemes($1, $2, $3)", []any{s.workspace, s.collection},
		func(i int, rows pgx.Rows) (err error) {
			out[i], err = termCounts(rows.RawValues()[1])
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the words of passages: %w", err)
	}
	return out, nil
}

// Editions implements rank.Source.
func (s *Source) Editions(ctx context.Context, passages []rank.Candidate) ([]rank.Edition, error) {
	out := make([]rank.Edition, len(passages))
	versions := make(map[uuid.UUID]string)
	err := s.query(ctx, func(b *pgx.Batch) {
		b.Queue("select id, version from documents where workspace_id = $1 and collection_id = $2 and id = any($3) and version is not null",
			s.workspace, s.collection, documentsOf(passages)).Query(func(rows pgx.Rows) error {
			var id uuid.UUID
			var version string
			_, err := pgx.ForEachRow(rows, []any{&id, &version}, func() error {
				versions[id] = version
				return nil
			})
			return err
		})
	})
	if err == nil {
		err = s.each(ctx, passages, "select place, lexemes from magpie_lexemes($1, $2, $3)", []any{s.workspace, s.collection},
			func(i int, rows pgx.Rows) (err error) {
				out[i].Fingerprint, err = index.FingerprintOf(rows.RawValues()[1])
				out[i].Version = versions[passages[i].Document]
				return err
			})
	}
	if err != nil {
		return nil, fmt.Errorf("read the editions of passages: %w", err)
	}
	return out, nil
}

// Vectors implements rank.Source.
func (s *Source) Vectors(ctx context.Context, passages []rank.Candidate) ([][]float32, error) {
	out := make([][]float32, len(passages))
	err := s.each(ctx, passages, "select place, embedding from magpie_embeddings($1, $2, $3, $4)", []any{s.workspace, s.collection, s.model},
		func(i int, rows pgx.Rows) error {
			var v *pgvector.HalfVector
			if err := rows.Scan(nil, &v); err != nil {
				return fmt.Errorf("read a vector: %w", err)
			}
			if v != nil {
				out[i] = v.Slice()
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read the vectors of passages: %w", err)
	}
	return out, nil
}

// each runs a query whose last argument are the row ids of the passages and whose first
// column is the row id. It calls f with the index of each passage and its row.
func (s *Source) each(ctx context.Context, passages []rank.Candidate, sql string, args []any, f func(i int, rows pgx.Rows) error) error {
	if len(passages) == 0 {
		return nil
	}
	indexes := make(map[uint64][]int, len(passages))
	for i := range passages {
		indexes[passages[i].Ref] = append(indexes[passages[i].Ref], i)
	}
	return s.query(ctx, func(b *pgx.Batch) {
		b.Queue(sql, append(args, tidsOf(passages))...).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				ref, err := refOf(rows.RawValues()[0])
				if err != nil {
					return err
				}
				for _, i := range indexes[ref] {
					if err := f(i, rows); err != nil {
						return err
					}
				}
			}
			return rows.Err()
		})
	})
}

func termCounts(lexemes index.Lexemes) ([]rank.TermCount, error) {
	var out []rank.TermCount
	err := lexemes.Each(func(term []byte, positions []uint16) {
		if len(positions) == 0 { // the mark of a collection, which earlier versions wrote
			return
		}
		var c fieldCounts
		for _, p := range positions {
			c.add(index.FieldOf(p))
		}
		out = append(out, rank.TermCount{Term: string(term), Counts: c.counts()})
	})
	if err != nil {
		return nil, fmt.Errorf("read a passage's lexemes: %w", err)
	}
	slices.SortFunc(out, func(a, b rank.TermCount) int { return strings.Compare(a.Term, b.Term) })
	return out, nil
}

// fieldCounts count a word's occurrences by field.
type fieldCounts struct {
	body                 int
	title, heading, path bool
}

func (c *fieldCounts) add(f index.Field) {
	switch f {
	case index.FieldTitle:
		c.title = true
	case index.FieldHeading:
		c.heading = true
	case index.FieldPath:
		c.path = true
	case index.FieldBody, index.FieldCount:
		c.body++
	}
}

func (c *fieldCounts) counts() rank.Counts {
	return rank.Counts{Title: c.title, Heading: c.heading, Path: c.path, Body: uint8(min(c.body, rank.MaxBody))} //nolint:gosec // at most MaxBody
}
