package bench_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestTheBaselineFindsByWordsVectorsAndFilters(t *testing.T) {
	t.Parallel()
	baseline, err := bench.OpenBaseline(t.Context(), testkit.Database(t).OwnerURL, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(baseline.Close)
	at := 0
	rows, err := baseline.Copy(t.Context(), func() (bench.Passage, error) {
		if at == 40 {
			return bench.Passage{}, io.EOF
		}
		at++
		p := bench.Passage{
			Document: uuid.New(), Section: "Part 02", Version: "v1.0", Tags: []string{"generated"}, Title: "Page", Headings: "A > B",
			Body: fmt.Sprintf("Odd\ttext \\N with\nlines, number%d\x00", at), Vector: []float32{1, float32(at) / 100, 0},
		}
		if at%4 == 0 {
			p.Section, p.Version, p.Tags = "Part 01", "v2.0", []string{"generated", `ra"r\e`}
		}
		return p, nil
	})
	if err != nil || rows != 40 {
		t.Fatalf("%d rows: %v", rows, err)
	}
	if _, err := baseline.Index(t.Context(), "64MB"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter synth.Filter
		want   int
	}{
		{synth.Filter{}, 10}, {synth.Filter{Section: "Part 01"}, 10}, {synth.Filter{Version: "v2.0", Section: "Part 02"}, 0},
		{synth.Filter{Tag: `ra"r\e`}, 10}, {synth.Filter{Tag: "none"}, 0},
	} {
		for _, question := range []string{"odd numbers of lines", "nothing that is there", "", "' & | ! <-> :* \\"} {
			found, err := baseline.Search(t.Context(), question, []float32{1, 0, 0}, c.filter)
			if err != nil || found != c.want {
				t.Errorf("%+v, %q: %d found, want %d (%v)", c.filter, question, found, c.want, err)
			}
		}
	}
	if err := baseline.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found, err := baseline.Search(t.Context(), "odd", []float32{1, 0, 0}, synth.Filter{}); err != nil || found != 0 {
		t.Errorf("an empty table: %d found (%v)", found, err)
	}
	broken := errors.New("it broke")
	if _, err := baseline.Copy(t.Context(), func() (bench.Passage, error) { return bench.Passage{}, broken }); err == nil {
		t.Error("a source that breaks is no error")
	}
}
