package chat_test

import (
	"context"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/viewer"
)

// BenchmarkExtractiveAnswer measures an answer without a model until its first
// text and until its end, with the database and without the search.
func BenchmarkExtractiveAnswer(b *testing.B) {
	w := newFixture(b)
	c := w.chat(b, &fakeSearcher{hits: manual()}, nil, chat.Options{})
	ctx, cancel := context.WithCancel(viewer.With(b.Context(), w.key(w.docs)))
	defer cancel()
	var first time.Duration
	for b.Loop() {
		start, waiting := time.Now(), true
		events, err := c.Stream(ctx, chat.Request{Message: "How often does Tidewater try a failed job again?"})
		if err != nil {
			b.Fatal(err)
		}
		for event := range events {
			if _, ok := event.(chat.Content); ok && waiting {
				first, waiting = first+time.Since(start), false
			}
		}
	}
	b.ReportMetric(float64(first.Microseconds())/1000/float64(b.N), "ms/first-text")
}
