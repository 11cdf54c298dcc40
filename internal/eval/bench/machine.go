package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is what a benchmark ran on.
type Machine struct {
	System    string `json:"system"`
	Processor string `json:"processor,omitempty"`
	Cores     int    `json:"cores"`
	// Memory is in bytes; 0 where the system does not tell.
	Memory uint64 `json:"memoryBytes,omitempty"`
	// Load is how many processes wanted a core on average in the minute before;
	// what others do while something is measured is in the figures.
	Load float64 `json:"loadAverage"`
}

// ThisMachine describes the machine that this process runs on.
func ThisMachine() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU()}
	if content, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.Processor = valueOf(content, "model name")
	}
	if content, err := os.ReadFile("/proc/meminfo"); err == nil {
		kilobytes, _ := strconv.ParseUint(strings.TrimSuffix(valueOf(content, "MemTotal"), " kB"), 10, 64) // not told, else
		m.Memory = kilobytes * 1024
	}
	if content, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(content), " ")
		m.Load, _ = strconv.ParseFloat(first, 64) // not told, else
	}
	return m
}

// valueOf finds the first line "name : value".
func valueOf(content []byte, name string) string {
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		if key, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Metrics are the values without labels of a process's /metrics, by name.
type Metrics map[string]float64

// ReadMetrics asks a process for its metrics in Prometheus' text format.
func ReadMetrics(ctx context.Context, client *http.Client, baseURL string) (Metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // was read
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

// RSS is the memory of the process in bytes, 0 where the system does not tell.
func (m Metrics) RSS() float64 { return m["process_resident_memory_bytes"] }

// Resident is what the search index in memory holds; told is false when the
// process does not say.
func (m Metrics) Resident() (bytes, passages float64, told bool) {
	bytes, told = m["magpie_search_resident_bytes"]
	return bytes, m["magpie_search_resident_passages"], told
}

// LiveHeap is what the last garbage collection left alive, in bytes. The
// collector tells its next goal, from which the live heap follows; stacks and
// globals are in it, too.
func (m Metrics) LiveHeap() float64 {
	if live, told := m["go_gc_heap_live_bytes"]; told {
		return live
	}
	if percent := m["go_gc_gogc_percent"]; percent > 0 {
		return m["go_memstats_next_gc_bytes"] / (1 + percent/100)
	}
	return m["go_memstats_heap_alloc_bytes"]
}
