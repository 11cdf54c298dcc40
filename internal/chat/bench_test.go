package chat_test

import (
	"context"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/viewer"
)

// BenchmarkExtractiveAnswer reports what a visitor waits for the first text of an answer without a model, and for all of
// it, the database included and the search excluded.
func BenchmarkExtractiveAnswer(b *testing.B) {
	w := newWorld(b)
	c := w.chat(b, &library{hits: manual()}, nil, chat.Options{})
	ctx, cancel := context.WithCancel(viewer.With(b.Context(), w.key(w.docs)))
	defer cancel()
	var first time.Duration
	for b.Loop() {
		begun, waiting := time.Now(), true
		events, err := c.Stream(ctx, chat.Request{Message: "How often does Tidewater try a failed job again?"})
		if err != nil {
			b.Fatal(err)
		}
		for event := range events {
			if _, ok := event.(chat.Content); ok && waiting {
				first, waiting = first+time.Since(begun), false
			}
		}
	}
	b.ReportMetric(float64(first.Microseconds())/1000/float64(b.N), "ms/first-text")
}
