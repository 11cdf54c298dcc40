package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Metrics holds the unlabelled values of a process's /metrics by name.
type Metrics map[string]float64

// ReadMetrics reads the metrics of a process in the text format of Prometheus.
func ReadMetrics(ctx context.Context, client *http.Client, baseURL string) (Metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the metrics: %s", response.Status)
	}
	m := make(Metrics)
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, found := strings.Cut(lines.Text(), " ")
		if !found || name == "#" || strings.Contains(name, "{") {
			continue
		}
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			m[name] = number
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	return m, nil
}

// RSS returns the memory of the process in bytes; 0 is unknown.
func (m Metrics) RSS() float64 { return m["process_resident_memory_bytes"] }

// Resident returns the size of the search index in memory. It reports false when
// the process has no such metrics.
func (m Metrics) Resident() (bytes, passages float64, ok bool) {
	bytes, ok = m["magpie_search_resident_bytes"]
	return bytes, m["magpie_search_resident_passages"], ok
}

// Fallbacks returns how often PostgreSQL answered in the place of the search engine.
func (m Metrics) Fallbacks() float64 { return m["magpie_engine_fallbacks_total"] }

// LiveHeap returns the bytes that were alive after the last garbage collection. It
// computes them from the next goal of the collector, which also counts stacks and
// globals.
func (m Metrics) LiveHeap() float64 {
	if live, ok := m["go_gc_heap_live_bytes"]; ok {
		return live
	}
	if percent := m["go_gc_gogc_percent"]; percent > 0 {
		return m["go_memstats_next_gc_bytes"] / (1 + percent/100)
	}
	return m["go_memstats_heap_alloc_bytes"]
}
