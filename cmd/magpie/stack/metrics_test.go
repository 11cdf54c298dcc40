package stack_test

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// unfit is what Prometheus' conventions say against a metric; "" for nothing.
func unfit(name, kind, help string) string {
	switch {
	case help == "":
		return "has no help"
	case !regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`).MatchString(name):
		return "is not lower case words with underscores"
	case kind == "counter" && !strings.HasSuffix(name, "_total"):
		return "is a counter without _total"
	case kind != "counter" && strings.HasSuffix(name, "_total"):
		return "is no counter and ends in _total"
	case kind == "gauge" && regexp.MustCompile(`_(count|sum|bucket)$`).MatchString(name):
		return "is a gauge with the name of a part of a histogram"
	case kind == "histogram" && !regexp.MustCompile(`_(seconds|bytes)$`).MatchString(name):
		return "is a histogram without a base unit"
	case strings.HasPrefix(name, "magpie_") && regexp.MustCompile(`_(ms|millis|milliseconds|minutes|hours|kb|mb|kilobytes|megabytes|percent)(_|$)`).MatchString(name):
		return "is not in a base unit"
	}
	return ""
}

func TestMetricsKeepToPrometheusConventions(t *testing.T) {
	t.Parallel()
	s := start(t)
	response := s.request(http.MethodGet, "/metrics", "", nil)
	exposition, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %d", err, response.StatusCode)
	}
	described, err := os.ReadFile("../../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	helps, kinds := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(exposition)) {
		mark, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), " ")
		name, value, _ := strings.Cut(rest, " ")
		switch mark {
		case "HELP":
			helps[name] = value
		case "TYPE":
			kinds[name] = value
		}
	}
	ours := 0
	for name, kind := range kinds {
		if why := unfit(name, kind, helps[name]); why != "" {
			t.Errorf("%s %s", name, why)
		}
		if strings.HasPrefix(name, "magpie_") {
			ours++
			if !strings.Contains(string(described), "`"+name+"`") {
				t.Errorf("docs/monitoring.md does not name %s", name)
			}
		}
	}
	if ours < 20 {
		t.Errorf("only %d metrics of Magpie's own", ours)
	}
}
