package postgres

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// sampleSize is how many passages stand for a collection.
const sampleSize = 256

// sampleKey is the state that a sample belongs to: a large collection keeps its
// sample until it has doubled.
type sampleKey struct {
	collection         uuid.UUID
	generation, change int64
	magnitude          int
	model              string
	dimensions         int
}

// Chance implements rank.Source.
func (s *Source) Chance(ctx context.Context, vector []float32) (rank.Chance, error) {
	if len(vector) == 0 {
		return rank.Chance{}, nil
	}
	if !s.begun {
		if err := s.ask(ctx); err != nil {
			return rank.Chance{}, fmt.Errorf("sample a collection: %w", err)
		}
	}
	key := sampleKey{collection: s.collection, generation: s.generation, model: s.model, dimensions: len(vector)}
	if s.state.passages <= 16*sampleSize {
		key.change = s.state.change
	} else {
		key.magnitude = bits.Len64(uint64(s.state.passages))
	}
	sample, ok := s.tier.samples.get(key)
	if !ok {
		err := s.ask(ctx, func(b *pgx.Batch) {
			b.Queue("select v from magpie_vectors($1, $2, $3, $4) v", s.workspace, s.collection, s.model, sampleSize).
				Query(func(rows pgx.Rows) error {
					var v pgvector.HalfVector
					_, err := pgx.ForEachRow(rows, []any{&v}, func() error {
						if f := v.Slice(); len(f) == len(vector) {
							sample = append(sample, f...)
						}
						return nil
					})
					return err
				})
		})
		if err != nil {
			return rank.Chance{}, fmt.Errorf("sample a collection: %w", err)
		}
		s.tier.samples.put(key, sample)
	}
	return chance(sample, vector), nil
}

// chance is the distribution of the vector's similarities to the sample, whose
// vectors lie one after another.
func chance(sample, vector []float32) rank.Chance {
	c := rank.Chance{Sample: len(sample) / len(vector)}
	if c.Sample == 0 {
		return c
	}
	var sum, squares float64
	for i := range c.Sample {
		var dot float32
		for j, x := range sample[i*len(vector) : (i+1)*len(vector)] {
			dot += x * vector[j]
		}
		sum += float64(dot)
		squares += float64(dot) * float64(dot)
	}
	n := float64(c.Sample)
	c.Mean = sum / n
	c.Deviation = math.Sqrt(max(squares/n-c.Mean*c.Mean, 0))
	return c
}
