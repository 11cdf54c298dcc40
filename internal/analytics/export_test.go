package analytics

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// WriteTwice writes the same rows twice, as after a lost answer.
func WriteTwice(ctx context.Context, pool *pgxpool.Pool, queries ...Query) error {
	rows := make([]row, len(queries))
	for i, q := range queries {
		rows[i] = rowOf(q, Full)
	}
	if err := write(ctx, pool, rows); err != nil {
		return err
	}
	return write(ctx, pool, rows)
}

// Percentile is the one that a report gives for these times.
func Percentile(share float64, times ...time.Duration) float64 {
	var buckets [lastBucket + 1]int64
	for _, t := range times {
		buckets[bucketOf(t)]++
	}
	return percentile(&buckets, share)
}
