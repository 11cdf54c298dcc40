package eval_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/eval"
	"github.com/magpie-search/magpie/internal/model/embed"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	ownSet     = "../../testdata/judged"
	sharedSets = "../../../shared/retrieval"
)

// measure returns the figures of a set by mode, and the lines that print them.
func measure(t *testing.T, folder string) (string, map[string]eval.Figures) {
	t.Helper()
	set, err := eval.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	e, err := eval.NewEvaluator(t.Context(), set, analysis.New(), embed.NewBuiltin())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	figures := make(map[string]eval.Figures)
	for _, m := range eval.Modes() {
		run, err := e.Run(t.Context(), m.Rank)
		if err != nil {
			t.Fatal(err)
		}
		f := e.Figures(run)
		figures[m.Name] = f
		fmt.Fprintf(&b, "%s %s ndcg@10 %.3f recall@100 %.3f mrr@10 %.3f\n", set.Name, m.Name, f.NDCG10, f.Recall100, f.MRR10)
	}
	return b.String(), figures
}

// The figures of the golden file are reviewed when they change.
func TestQualityOfTheJudgedSet(t *testing.T) {
	t.Parallel()
	got, figures := measure(t, ownSet)
	t.Log("\n" + got)
	if figures["hybrid"].NDCG10 < figures["lexical"].NDCG10 {
		t.Error("hybrid ranking is worse than words alone")
	}
	const golden = "testdata/judged.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("the figures differ from %s; review them and run the test with -update:\n%s", golden, got)
	}
}

// Words alone must reach the figures of plain BM25, and hybrid ranking those of words alone.
func TestQualityOfTheSharedSets(t *testing.T) {
	t.Parallel()
	for name, bm25 := range map[string]eval.Figures{
		"cranfield":      {NDCG10: 0.374, Recall100: 0.747},
		"xquad-en-es-zh": {NDCG10: 0.954, Recall100: 0.996},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(sharedSets, name)
			if _, err := os.Stat(folder); err != nil {
				t.Skipf("the judged set %s is missing, so its quality is not measured", folder)
			}
			got, figures := measure(t, folder)
			t.Log("\n" + got)
			words, hybrid := figures["lexical"], figures["hybrid"]
			if words.NDCG10 < bm25.NDCG10-0.0005 || words.Recall100 < bm25.Recall100-0.0015 {
				t.Errorf("words alone reach %.4f and %.4f, plain BM25 %.3f and %.3f", words.NDCG10, words.Recall100, bm25.NDCG10, bm25.Recall100)
			}
			if hybrid.NDCG10 < words.NDCG10 {
				t.Errorf("hybrid ranking reaches %.4f, words alone %.4f", hybrid.NDCG10, words.NDCG10)
			}
		})
	}
}

func TestMeasureEqualsTheDefinitions(t *testing.T) {
	t.Parallel()
	judged := map[string]map[string]int{
		"a": {"x": 2, "y": 1, "z": 0},
		"b": {"x": 1},
		"c": {"x": 0, "y": -1}, // nothing relevant: not measured
		"d": {"x": 1},          // without a ranking
	}
	f := eval.Measure(judged, map[string][]string{"a": {"y", "z", "x"}, "b": {"x"}, "c": {"x"}})
	gain := (1/math.Log2(2) + 2/math.Log2(4)) / (2/math.Log2(2) + 1/math.Log2(3))
	for name, pair := range map[string][2]float64{
		"nDCG":   {f.NDCG10, (gain + 1 + 0) / 3},
		"recall": {f.Recall100, (1.0 + 1 + 0) / 3},
		"MRR":    {f.MRR10, (1.0 + 1 + 0) / 3},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
	if f.Questions != 3 {
		t.Errorf("%d questions were measured, want 3", f.Questions)
	}
}

func TestLoadErrorsNameThePlace(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"corpus.jsonl":  `{"_id":"1","title":"T","text":"otters"}` + "\n",
		"queries.jsonl": `{"_id":"q","text":"otters"}` + "\n\n",
		"qrels.tsv":     "query-id\tcorpus-id\tscore\nq\t1\t1\n",
	}
	for name, c := range map[string]struct{ file, content, want string }{
		"missing":          {"qrels.tsv", "", "qrels.tsv"},
		"no json":          {"corpus.jsonl", "otters\n", "corpus.jsonl, line 1"},
		"repeated":         {"corpus.jsonl", `{"_id":"1"}` + "\n" + `{"_id":"1"}`, "twice"},
		"no id":            {"queries.jsonl", `{"text":"a"}`, "_id"},
		"bad grade":        {"qrels.tsv", "q\t1\tgood\n", "line 1"},
		"too many fields":  {"qrels.tsv", "q\t1\t1\t1\t1\n", "5 fields"},
		"without a corpus": {"corpus.jsonl", "\n", "0 documents"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for file, content := range good {
				if file == c.file {
					if content = c.content; content == "" {
						continue
					}
				}
				if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := eval.Load(folder); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Load error = %v, want one with %q", err, c.want)
			}
		})
	}
}
