package analytics_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/usage/analytics"
)

// million fills the log of a tenant with a million queries of 90 days: 60,000 texts with a
// skewed distribution, three keys and two collections.
func (f *fixture) million(id tenant, rows int) {
	f.Helper()
	second := gid.New(gid.Collection)
	f.addCollection(id, second)
	keys := []uuid.UUID{id.key, gid.New(gid.APIKey), gid.New(gid.APIKey)}
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 60_000)
	const part = 500
	ctx := f.Context()
	for begin := 0; begin < rows; begin += part {
		queries := make([]analytics.Query, 0, part)
		for i := range part {
			n := begin + i
			q := id.search(fmt.Sprintf("r%d", n), fmt.Sprintf("how to set option %d", zipf.Uint64()))
			q.At = now().Add(-time.Duration(rows-n) * (90 * 24 * time.Hour / time.Duration(rows)))
			q.Key, q.Took = keys[r.IntN(3)], time.Duration(float64(4*time.Millisecond)*(0.3+r.ExpFloat64()))
			if n%4 == 0 {
				q.Collection = second
			}
			switch n % 20 {
			case 0, 1:
				nothingFound(&q)
			case 2, 3:
				nextPage(&q)
			case 4:
				chatted(n%40 == 4)(&q)
			}
			queries = append(queries, q)
		}
		if err := analytics.Write(ctx, f.db.Pool, queries...); err != nil {
			f.Fatal(err)
		}
	}
	f.exec("vacuum analyze query_log, query_stats, query_text_days, query_texts") // as autovacuum does
}

// BenchmarkReport reads reports and their lists over a million rows of 90 days. The report
// of nine days has few enough queries to count every text. Filling the log takes two
// minutes.
func BenchmarkReport(b *testing.B) {
	const rows = 1_000_000
	f := newFixture(b)
	ada := f.tenant()
	start := time.Now()
	f.million(ada, rows)
	took := time.Since(start).Round(time.Second)
	s := analytics.New(f.db.Pool, analytics.StoreOptions{Now: now})
	if x := f.report(s, ada, analytics.Span{From: now().AddDate(0, 0, -90)}).Totals; x.Searches+x.Chats != rows*9/10 {
		b.Fatalf("%+v", x)
	}
	b.Logf("%d rows written in %v: %d rows of counts, %d by text", rows, took, f.count("query_stats"), f.count("query_text_days"))
	for _, days := range []int{9, 30, 90} {
		span := analytics.Span{From: now().AddDate(0, 0, 1-days)}
		b.Run(fmt.Sprintf("counts/%dd", days), func(b *testing.B) {
			for b.Loop() {
				f.report(s, ada, span)
			}
		})
		b.Run(fmt.Sprintf("lists/%dd", days), func(b *testing.B) {
			r := f.report(s, ada, span)
			for b.Loop() {
				if err := r.Reload(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
