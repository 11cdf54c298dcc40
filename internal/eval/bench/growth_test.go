package bench_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/eval/bench"
)

func readings(n int, of func(i int) bench.Reading) []bench.Reading {
	out := make([]bench.Reading, n)
	for i := range out {
		out[i] = of(i)
	}
	return out
}

func TestGrowthIsJudgedBetweenTheLastTwoThirds(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	flat := bench.JudgeGrowth(readings(90, func(i int) bench.Reading {
		heap := 100.0 * mib
		if i < 30 {
			heap = 10 * mib // warming up is no growth
		}
		if i%7 == 0 {
			heap *= 2 // nor are peaks
		}
		return bench.Reading{Heap: heap, RSS: 300 * mib}
	}), .1)
	if len(flat) != 2 || !flat[0].Flat || !flat[1].Flat || flat[0].Middle != 100*mib {
		t.Errorf("%+v", flat)
	}
	grows := bench.JudgeGrowth(readings(90, func(i int) bench.Reading { return bench.Reading{Heap: float64(i) * 4 * mib, Resident: 50 * mib} }), .1)
	if len(grows) != 2 || grows[0].Flat || !grows[1].Flat {
		t.Errorf("%+v", grows)
	}
	small := bench.JudgeGrowth(readings(9, func(i int) bench.Reading { return bench.Reading{Heap: float64(1+i) * mib} }), 0)
	if len(small) != 1 || !small[0].Flat {
		t.Errorf("a few MiB are growth: %+v", small)
	}
	if got := bench.JudgeGrowth(readings(2, func(int) bench.Reading { return bench.Reading{Heap: 1} }), .1); got != nil {
		t.Errorf("two readings: %+v", got)
	}
}

func TestTruthKnowsWhatASearchMayReturn(t *testing.T) {
	t.Parallel()
	var truth bench.Truth
	start := time.Unix(1000, 0)
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	first := truth.Begin(7, at(0))  // written from 0 to 1
	second := truth.Begin(7, at(5)) // from 5 to 6
	truth.End(first, at(6))
	other := truth.Begin(8, at(5))
	for _, c := range []struct {
		name  string
		found []int
		sent  time.Time
		wrong bool
	}{
		{"nothing", nil, at(9), false},
		{"the old one, asked before the new one was there", []int{first, first}, at(4), false},
		{"the old one, asked while the new one was written", []int{first, other}, at(5), false},
		{"the new one, asked before", []int{second}, at(4), false},
		{"the new one", []int{second, other}, at(9), false},
		{"the old one, asked after", []int{first}, at(9), true},
		{"both", []int{first, other, second}, at(5), true},
		{"one that nobody wrote", []int{99}, at(9), true},
		{"none", []int{0}, at(9), true},
	} {
		if err := truth.Check(c.found, c.sent); errors.Is(err, bench.ErrWrong) != c.wrong {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	truth.End(second, at(12))
	if err := truth.Check([]int{second}, at(13)); !errors.Is(err, bench.ErrWrong) {
		t.Errorf("a deleted document: %v", err)
	}
}

func TestMarkersAreDifferentWordsOfLetters(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for n := range 100_000 {
		word := bench.Marker(n)
		if seen[word] || len(word) != 10 {
			t.Fatalf("%d: %q", n, word)
		}
		seen[word] = true
	}
}

func TestMetricsAreRead(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, "# HELP go_gc_gogc_percent x\n# TYPE go_gc_gogc_percent gauge\ngo_gc_gogc_percent 100\ngo_memstats_next_gc_bytes 8e+06\n"+
			"process_resident_memory_bytes 5e+07\nmagpie_search_resident_bytes 1200\nmagpie_search_resident_passages 3\nlabelled{a=\"b c\"} 1\n")
	}))
	t.Cleanup(server.Close)
	m, err := bench.ReadMetrics(t.Context(), server.Client(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	bytes, passages, ok := m.Resident()
	if m.RSS() != 5e7 || m.LiveHeap() != 4e6 || bytes != 1200 || passages != 3 || !ok || len(m) != 5 {
		t.Errorf("%v", m)
	}
	if _, _, ok := (bench.Metrics{}).Resident(); ok {
		t.Error("Resident reports metrics that are missing")
	}
	status = http.StatusForbidden
	if _, err := bench.ReadMetrics(t.Context(), server.Client(), server.URL); err == nil {
		t.Error("a refusal is no error")
	}
	if machine := bench.ThisMachine(); machine.Cores < 1 || machine.System == "" {
		t.Errorf("%+v", machine)
	}
}
