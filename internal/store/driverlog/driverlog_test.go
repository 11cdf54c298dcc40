package driverlog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/store/driverlog"
)

// events returns the decoded events of a log.
func events(t *testing.T, written *bytes.Buffer) (out []map[string]any) {
	t.Helper()
	for decoder := json.NewDecoder(written); decoder.More(); {
		var e map[string]any
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		delete(e, "time")
		out = append(out, e)
	}
	return out
}

func same(t *testing.T, got []map[string]any, want string) {
	t.Helper()
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func TestALineBecomesAnEventWithAttributes(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	log := driverlog.New(driverlog.Options{Driver: "redis", Log: slog.New(slog.NewJSONHandler(&written, nil))})
	log.Printf(t.Context(), "pool: dial failed after %d attempts: %v", 3, errors.New("connection refused"))
	log.Debug("nothing")
	log.Info("of interest to few")
	log.Warn("Could not write: ", "away")
	log.Fatal("The end")
	same(t, events(t, &written), `[`+
		`{"driver":"redis","error":"connection refused","level":"WARN","line":"pool: dial failed after 3 attempts: connection refused","msg":"driver reports"},`+
		`{"driver":"redis","level":"WARN","line":"Could not write: away","msg":"driver reports"},`+
		`{"driver":"redis","level":"ERROR","line":"The end","msg":"driver reports"}]`)
}

func TestRepeatedLinesAreLoggedOnceInAWhile(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	now := time.Unix(1_800_000_000, 0)
	log := driverlog.New(driverlog.Options{
		Driver: "queue", Log: slog.New(slog.NewJSONHandler(&written, nil)), Now: func() time.Time { return now },
	})
	for n := range 30 {
		log.Printf(t.Context(), "attempt %d failed", n)
		log.Error("Dequeue error: ", n)
		now = now.Add(time.Second)
	}
	got := events(t, &written)
	if len(got) != 6 {
		t.Fatalf("30 lines of two kinds in 30 s became %d events: %v", len(got), got)
	}
	same(t, got[2:4], `[{"driver":"queue","level":"WARN","line":"attempt 10 failed","msg":"driver reports","omitted":9},`+
		`{"driver":"queue","level":"ERROR","line":"Dequeue error: 10","msg":"driver reports","omitted":9}]`)
}
