package syncer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/worker"
)

// BenchmarkResyncUnchanged measures a sync of 10,000 unchanged items. Its budget is
// 3 s.
func BenchmarkResyncUnchanged(b *testing.B) {
	f := newFixture(b)
	f.script.PageSize = connectors.MaxPageItems
	f.times.Progress, f.times.Heartbeat = 250*time.Millisecond, 5*time.Second
	f.worker = worker.Options{Log: f.log}
	const items = 10_000
	f.script.fill(items, "v1")
	f.work()
	f.sync(auto())
	f.script.opened()
	for b.Loop() {
		if job := f.sync(auto()); job.Status != entjob.StatusCompleted || job.Unchanged != items {
			b.Fatalf("the job is %+v", job)
		}
	}
	if f.script.opened() != 0 {
		b.Error("content was fetched")
	}
	b.ReportMetric(float64(items*b.N)/b.Elapsed().Seconds(), "items/s")
}

// BenchmarkFirstSync measures a first sync of 2,000 small Markdown files with the
// builtin embedding model.
func BenchmarkFirstSync(b *testing.B) {
	f := newFixture(b)
	f.script.PageSize = connectors.MaxPageItems
	f.times.Progress, f.times.Heartbeat = 250*time.Millisecond, 5*time.Second
	f.worker = worker.Options{Log: f.log}
	f.embedder = embed.NewBuiltin()
	const files = 2000
	for i := range files {
		var text strings.Builder
		fmt.Fprintf(&text, "---\ntitle: Page %d\n---\n\n# Page %d\n", i, i)
		for part := range 3 {
			fmt.Fprintf(&text, "\n## Part %d\n\n%s\n", part, strings.Repeat(fmt.Sprintf("Sentence %d of page %d is about restoring backups. ", part, i), 12))
		}
		f.script.set(fmt.Sprintf("page-%04d.md", i), "v1", text.String())
	}
	f.work()
	passages := 0
	for b.Loop() {
		f.row = f.connector("scripted", nil)
		if job := f.sync(auto()); job.Status != entjob.StatusCompleted || job.Added != files {
			b.Fatalf("the job is %+v", job)
		}
		for _, d := range f.documents() {
			passages += d.PassageCount
		}
	}
	b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
	b.ReportMetric(float64(passages)/b.Elapsed().Seconds(), "chunks/s")
}
