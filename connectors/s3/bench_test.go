package s3_test

import (
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/testkit"
)

// BenchmarkWalk measures the objects a second that a sync of an unchanged bucket
// lists.
func BenchmarkWalk(b *testing.B) {
	const objects = 4 * connectors.MaxPageItems
	place := newBucket(b, testkit.S3(b))
	place.fill(b, objects)
	source := open(b, place.settings(map[string]any{"region": "us-east-1"}))
	for b.Loop() {
		seen := 0
		for cursor := ""; ; {
			page, err := source.Walk(b.Context(), cursor)
			if err != nil {
				b.Fatal(err)
			}
			seen += len(page.Items)
			if page.Done {
				break
			}
			cursor = page.Next
		}
		if seen != objects {
			b.Fatalf("%d objects, want %d", seen, objects)
		}
	}
	b.ReportMetric(float64(objects*b.N)/b.Elapsed().Seconds(), "objects/s")
}
