package analytics

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Write writes queries immediately.
func Write(ctx context.Context, pool *pgxpool.Pool, queries ...Query) error {
	return write(ctx, pool, rowsOf(queries))
}

// WriteTwice writes the same rows twice, as after a lost response.
func WriteTwice(ctx context.Context, pool *pgxpool.Pool, queries ...Query) error {
	rows := rowsOf(queries)
	if err := write(ctx, pool, rows); err != nil {
		return err
	}
	return write(ctx, pool, rows)
}

func rowsOf(queries []Query) []row {
	rows := make([]row, len(queries))
	for i, q := range queries {
		rows[i] = rowOf(q, Full)
	}
	return rows
}

// Reload reads the lists of a report again.
func (r *Report) Reload(ctx context.Context) error { return r.load(ctx) }

// Percentile returns the percentile that a report has for these durations.
func Percentile(share float64, times ...time.Duration) float64 {
	var buckets [lastBucket + 1]int64
	for _, t := range times {
		buckets[bucketOf(t)]++
	}
	return percentile(&buckets, share)
}
