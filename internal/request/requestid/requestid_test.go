package requestid_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/request/requestid"
)

func TestAcceptableRefusesWhatCouldHarmALog(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"018f3c1e-7a2b-7c11-9d4e-0242ac120002": true,
		"a.b_c-1":                              true,
		strings.Repeat("x", 128):               true,
		strings.Repeat("x", 129):               false,
		"":                                     false,
		"two words":                            false,
		"line\nbreak":                          false,
		"ümlaut":                               false,
	} {
		if got := requestid.Acceptable(id); got != want {
			t.Errorf("Acceptable(%q) = %v", id, got)
		}
	}
}

func TestTheContextCarriesTheID(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if got := requestid.From(ctx); got != "" {
		t.Fatalf("a plain context has the id %q", got)
	}
	if got := requestid.From(requestid.With(ctx, "abc")); got != "abc" {
		t.Fatalf("From = %q", got)
	}
}

func TestTheLogNamesTheRequestOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(requestid.LogHandler(slog.NewTextHandler(&out, nil))).With("part", "x")
	ctx := requestid.With(context.Background(), "abc")
	log.InfoContext(ctx, "by context")
	log.InfoContext(ctx, "by hand", slog.String(requestid.LogKey, "abc"))
	log.Info("without")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []int{1, 1, 0} {
		if got := strings.Count(lines[i], "request_id=abc"); got != want {
			t.Errorf("line %q names the request %d times", lines[i], got)
		}
	}
}
