package humanize_test

import (
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/humanize"
)

func TestDurationsHaveThePrecisionOfTheirSize(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		300 * time.Microsecond: "0.3 ms", 12 * time.Millisecond: "12 ms", 3400 * time.Millisecond: "3.4 s", 130 * time.Second: "2m10s",
	} {
		if got := humanize.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
	if got := humanize.Milliseconds(1234 * time.Microsecond); got != "1.23 ms" {
		t.Errorf("Milliseconds = %q", got)
	}
}

func TestNounsHaveAPlural(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := humanize.Count(n, "file"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSizesHaveBinaryUnits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 20: "3.0 MiB", 5 << 30: "5.0 GiB"} {
		if got := humanize.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}
