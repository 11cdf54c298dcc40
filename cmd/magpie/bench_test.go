package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runBench runs a benchmark, which must succeed, like tryBench.
func runBench(t *testing.T, arguments ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := tryBench(t, arguments...)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	return stdout, stderr
}

// tryBench runs a benchmark with the built program in a new data folder, which
// must be empty afterwards.
func tryBench(t *testing.T, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	var o, e bytes.Buffer
	command := programCommand(path, append([]string{"--data", data}, arguments...)...)
	command.Stdout, command.Stderr = &o, &e
	err = command.Run()
	if left, failure := os.ReadDir(data); failure != nil || len(left) != 1 || left[0].Name() != ".magpie-data" { // the mark of a data folder
		t.Errorf("the benchmark left %v (%v)", left, failure)
	}
	return o.String(), e.String(), err
}

func TestBenchSearchMeasuresUnderASync(t *testing.T) {
	t.Parallel()
	out, _ := runBench(t, "--json", "bench", "search", "--under-sync", "--passages", "200", "--seconds", "0.3", "--clients", "2", "--rounds", "2")
	var result struct {
		Passages, Files int
		Rounds          []struct {
			Quiet, UnderSync struct{ Calls, Errors int }
			Written          float64 `json:"documentsWrittenPerSecond"`
		}
		Clients []struct {
			Clients  int
			P50Ratio float64 `json:"p50Ratio"`
			P95Ratio float64 `json:"p95Ratio"`
		}
		Budgets []struct{ What string }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if result.Passages < 100 || result.Files < 5 || len(result.Rounds) != 2 || len(result.Clients) != 1 || len(result.Budgets) != 2 {
		t.Fatalf("result: %+v", result)
	}
	for _, r := range result.Rounds {
		if r.Quiet.Calls == 0 || r.UnderSync.Calls == 0 || r.Quiet.Errors+r.UnderSync.Errors > 0 || r.Written <= 0 {
			t.Errorf("round: %+v", r)
		}
	}
	if c := result.Clients[0]; c.P50Ratio <= 0 || c.P95Ratio <= 0 {
		t.Errorf("ratios: %+v", c)
	}
}

func TestBenchSearchReportsEveryMeasurement(t *testing.T) {
	t.Parallel()
	out, _ := runBench(t, "--json", "bench", "search", "--passages", "300", "--seconds", "0.1", "--clients", "1,2")
	var result struct {
		Machine   struct{ Cores int }
		Questions int
		Sizes     []struct {
			Passages, Documents int
			Ingest              float64 `json:"ingestPassagesPerSecond"`
			Cold                struct {
				Ready int64 `json:"readyNanoseconds"`
				First int64 `json:"firstQueryNanoseconds"`
			}
			CatchUp struct {
				Documents int
				Seen      int64 `json:"seenNanoseconds"`
			}
			Searches []struct {
				Filter           string
				Share            float64
				Clients          int
				Magpie, Baseline struct {
					Calls, Errors int
					Found         float64
					PerSecond     float64
					P50           int64 `json:"p50Nanoseconds"`
				}
			}
		}
		Budgets []struct{ What, Budget, Measured, Verdict string }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if result.Machine.Cores < 1 || result.Questions < 100 || len(result.Sizes) != 1 || len(result.Budgets) != 5 {
		t.Fatalf("%+v", result)
	}
	size := result.Sizes[0]
	if size.Passages < 300 || size.Documents < 10 || size.Ingest <= 0 || size.Cold.Ready <= 0 || size.Cold.First <= 0 ||
		size.CatchUp.Documents != size.Documents || size.CatchUp.Seen <= 0 || len(size.Searches) != 4*2 {
		t.Errorf("%+v", size)
	}
	for _, search := range size.Searches {
		for name, one := range map[string]struct {
			calls int
			rate  float64
			p50   int64
		}{
			"magpie":   {search.Magpie.Calls, search.Magpie.PerSecond, search.Magpie.P50},
			"baseline": {search.Baseline.Calls, search.Baseline.PerSecond, search.Baseline.P50},
		} {
			if one.calls < search.Clients || one.rate <= 0 || one.p50 <= 0 {
				t.Errorf("%s, filter %s, %d clients: %+v", name, search.Filter, search.Clients, one)
			}
		}
		if search.Filter == "none" && (search.Share != 1 || search.Magpie.Found == 0 || search.Baseline.Found == 0) {
			t.Errorf("%+v", search)
		}
	}
}

func TestBenchSizeMeasuresEveryPart(t *testing.T) {
	t.Parallel()
	out, _ := runBench(t, "--json", "bench", "size", "--passages", "200,400", "--seconds", "0.2", "--clients", "1,2", "--changes", "5")
	var result struct {
		Settings map[string]string
		Sizes    []struct {
			Passages, Documents, ReplacedPassages int
			Written                               float64 `json:"writtenPassagesPerSecond"`
			Changed                               float64 `json:"changedPassagesPerSecond"`
			New                                   int64   `json:"vacuumNewNanoseconds"`
			After                                 int64   `json:"vacuumChangedNanoseconds"`
			Build                                 int64   `json:"buildNanoseconds"`
			Tables                                []struct {
				Name                                                    string
				HeapBytes, KeyBytes, VectorIndexBytes, LexemeIndexBytes int64
			}
			Searches []struct{ Clients, Calls, Errors int }
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(result.Sizes) != 2 || result.Settings["shared_buffers"] == "" {
		t.Fatalf("%+v", result)
	}
	for i, size := range result.Sizes {
		if size.Passages < 200*(i+1) || size.Documents < 10 || size.Written <= 0 || size.Changed <= 0 || size.New <= 0 || size.After <= 0 || size.Build <= 0 || size.ReplacedPassages < 5 {
			t.Errorf("%+v", size)
		}
		if len(size.Searches) != 2 || size.Searches[0].Calls == 0 || size.Searches[1].Clients != 2 {
			t.Errorf("searches: %+v", size.Searches)
		}
		indexed := 0
		for _, table := range size.Tables {
			if table.HeapBytes <= 0 && table.Name != "collection_terms" || table.KeyBytes <= 0 {
				t.Errorf("%+v", table)
			}
			if table.VectorIndexBytes > 0 && table.LexemeIndexBytes > 0 {
				indexed++
			}
		}
		if len(size.Tables) < 5 || indexed != 1 {
			t.Errorf("tables: %+v", size.Tables)
		}
	}
}

func TestBenchSoakSucceedsWhenAnswersAreRight(t *testing.T) {
	t.Parallel()
	out, progress := runBench(t, "bench", "soak", "--minutes", "0.08", "--passages", "100", "--report", "1s", "--growth", "1")
	if !strings.Contains(out, "0 failed, 0 wrong") || !strings.Contains(out, "flat") || !strings.Contains(progress, "writes, p50") {
		t.Errorf("%s%s", out, progress)
	}
}

// The budgets of ratios are not tested: a second on a busy machine says nothing about them.
func TestBenchTenantsMeasuresBesideANeighbour(t *testing.T) {
	t.Parallel()
	out, progress, err := tryBench(t, "--json", "bench", "tenants", "--workspaces", "3", "--collections", "1", "--passages", "20", "--connectors", "2",
		"--clients", "2", "--files", "10", "--seconds", "0.3")
	if err != nil && !strings.Contains(progress, "beside the neighbour: ") {
		t.Fatalf("%v\n%s", err, progress)
	}
	type latencies struct{ Calls, Errors int }
	var result struct {
		Quiet, Loud, Neighbour, QuietSync, LoudSync latencies
		NeighbourOpenSyncs                          int
		SearchMemoryBytes, ResidentBytes            float64
		StartRSSBytes, QuietRSSBytes, RSSBytes      float64
		Budgets                                     []struct{ What, Verdict string }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, l := range map[string]latencies{"quiet": result.Quiet, "loud": result.Loud, "neighbour": result.Neighbour} {
		if l.Calls == 0 || l.Errors > 0 {
			t.Errorf("searches, %s: %+v", name, l)
		}
	}
	if want := (latencies{Calls: 2}); result.QuietSync != want || result.LoudSync != want || result.NeighbourOpenSyncs == 0 {
		t.Errorf("syncs: %+v, %+v, %d open", result.QuietSync, result.LoudSync, result.NeighbourOpenSyncs)
	}
	if result.SearchMemoryBytes != 1<<30 || result.ResidentBytes <= 0 || min(result.StartRSSBytes, result.QuietRSSBytes, result.RSSBytes) <= 0 {
		t.Errorf("memory: %+v", result)
	}
	if len(result.Budgets) != 3 || result.Budgets[2].Verdict != "met" {
		t.Errorf("budgets: %+v", result.Budgets)
	}
}
