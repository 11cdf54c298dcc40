package pdf_test

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// BenchmarkRead reads a manual of 200 pages once a round.
func BenchmarkRead(b *testing.B) {
	const pages = 200
	content := manual(pages)
	if _, err := shared.Read(b.Context(), document.Source{Content: content}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := shared.Read(b.Context(), document.Source{Content: content}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(pages*b.N), "ms/page")
}

// BenchmarkMemory says how much memory a manual of 200 pages takes at most, beyond what the program takes before it.
func BenchmarkMemory(b *testing.B) {
	content := manual(200)
	if _, err := shared.Read(b.Context(), document.Source{Content: content}); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	before := resident(b)
	var most atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most.Store(max(most.Load(), resident(b)))
			}
		}
	}()
	for b.Loop() {
		if _, err := shared.Read(b.Context(), document.Source{Content: content}); err != nil {
			b.Fatal(err)
		}
	}
	close(stop)
	<-done
	b.ReportMetric(float64(before)/(1<<20), "MiB-before")
	b.ReportMetric(float64(most.Load())/(1<<20), "MiB-peak")
}

// resident returns how many bytes of memory the program has.
func resident(b *testing.B) uint64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skipf("the system does not say how much memory a program has: %v", err)
	}
	fields := strings.Fields(string(status))
	var pages uint64
	for _, digit := range fields[1] {
		pages = pages*10 + uint64(digit-'0')
	}
	return pages * uint64(os.Getpagesize())
}
