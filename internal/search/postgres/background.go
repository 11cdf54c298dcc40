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

// sampleSize is the number of passages in the sample of a collection.
const sampleSize = 256

// sampleKey is the state that a sample is of. A large collection keeps its sample until
// it has doubled: change is 0, and magnitude the binary logarithm of its size.
type sampleKey struct {
	collection         uuid.UUID
	generation, change int64
	magnitude          int
	model              string
	dimensions         int
}

// Background implements rank.Source.
func (s *Source) Background(ctx context.Context, vector []float32) (rank.Background, error) {
	if len(vector) == 0 {
		return rank.Background{}, nil
	}
	if !s.begun {
		if err := s.query(ctx); err != nil {
			return rank.Background{}, fmt.Errorf("sample a collection: %w", err)
		}
	}
	key := sampleKey{collection: s.collection, generation: s.generation, model: s.model, dimensions: len(vector)}
	if s.state.passages <= 16*sampleSize {
		key.change = s.state.Change
	} else {
		key.magnitude = bits.Len64(uint64(s.state.passages))
	}
	sample, ok := s.tier.samples.get(key)
	if !ok {
		err := s.query(ctx, func(b *pgx.Batch) {
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
			return rank.Background{}, fmt.Errorf("sample a collection: %w", err)
		}
		s.tier.samples.put(key, sample)
	}
	return background(sample, vector), nil
}

// background returns the distribution of the vector's similarities to a sample, which
// holds vectors one after another.
func background(sample, vector []float32) rank.Background {
	d := rank.Background{SampleSize: len(sample) / len(vector)}
	if d.SampleSize == 0 {
		return d
	}
	var sum, squares float64
	for i := range d.SampleSize {
		var dot float32
		for j, x := range sample[i*len(vector) : (i+1)*len(vector)] {
			dot += x * vector[j]
		}
		sum += float64(dot)
		squares += float64(dot) * float64(dot)
	}
	n := float64(d.SampleSize)
	d.Mean = sum / n
	d.StdDev = math.Sqrt(max(squares/n-d.Mean*d.Mean, 0))
	return d
}
