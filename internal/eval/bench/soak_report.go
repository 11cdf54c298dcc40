package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/magpie-search/magpie/internal/humanize"
)

// monitor reads the memory and reports.
func (s *soak) monitor(ctx context.Context, start time.Time) error {
	read, report := time.NewTicker(readInterval), time.NewTicker(s.options.Interval)
	defer read.Stop()
	defer report.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-read.C:
			metrics, err := s.server.metrics(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil && s.faults != nil && s.faults.excuses(time.Now()) {
				continue
			}
			if err != nil {
				return err
			}
			resident, _, _ := metrics.Resident()
			s.result.Readings = append(s.result.Readings,
				Reading{After: time.Since(start), Heap: metrics.LiveHeap(), RSS: metrics.RSS(), Resident: resident})
		case <-report.C:
			s.report()
		}
	}
}

// report adds a window with the events since the last report and shows it.
func (s *soak) report() {
	s.mutex.Lock()
	window := SoakWindow{Latencies: Summarize(s.durations), Writes: s.writes}
	window.Clients, window.Errors = s.options.Clients, s.failed
	s.durations, s.failed, s.writes = nil, 0, 0
	wrong := s.result.Wrong
	s.mutex.Unlock()
	window.PerSecond = float64(window.Calls) / s.options.Interval.Seconds()
	if n := len(s.result.Readings); n > 0 {
		window.Reading = s.result.Readings[n-1]
	}
	s.result.Windows = append(s.result.Windows, window)
	resident := "not told"
	if window.Resident > 0 {
		resident = fmt.Sprintf("%.1f MiB", window.Resident/(1<<20))
	}
	s.stack.Display.Note("%6s  %6d searches (%.0f/s), %d errors, %d wrong, %d writes, p50 %s, p99 %s, heap %.1f MiB, RSS %.1f MiB, resident index %s",
		window.After.Round(time.Second), window.Calls, window.PerSecond, window.Errors, wrong, window.Writes,
		humanize.Milliseconds(window.P50), humanize.Milliseconds(window.P99), window.Heap/(1<<20), window.RSS/(1<<20), resident)
}
