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

var update = flag.Bool("update", false, "write the golden files anew")

const (
	own    = "../../testdata/judged"
	shared = "../../../shared/retrieval"
)

func lines(t *testing.T, folder string) (string, map[string]eval.Figures) {
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

// TestQualityOfTheJudgedSet keeps the figures as a file that is reviewed when
// it changes.
func TestQualityOfTheJudgedSet(t *testing.T) {
	t.Parallel()
	got, figures := lines(t, own)
	t.Log("\n" + got)
	if figures["hybrid"].NDCG10 < figures["lexical"].NDCG10 {
		t.Error("hybrid ranks worse than words alone")
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

// TestQualityOfTheSharedSets holds the ranking to the figures that plain BM25
// reaches, and the whole to its words alone.
func TestQualityOfTheSharedSets(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]eval.Figures{
		"cranfield":      {NDCG10: 0.374, Recall100: 0.747},
		"xquad-en-es-zh": {NDCG10: 0.954, Recall100: 0.996},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(shared, name)
			if _, err := os.Stat(folder); err != nil {
				t.Skipf("the judged set is not at %s, so its quality is not measured", folder)
			}
			got, figures := lines(t, folder)
			t.Log("\n" + got)
			words, whole := figures["lexical"], figures["hybrid"]
			if words.NDCG10 < least.NDCG10-0.0005 || words.Recall100 < least.Recall100-0.0005 {
				t.Errorf("words alone reach %.4f and %.4f, plain BM25 %.3f and %.3f", words.NDCG10, words.Recall100, least.NDCG10, least.Recall100)
			}
			if whole.NDCG10 < words.NDCG10 {
				t.Errorf("hybrid reaches %.4f, words alone %.4f", whole.NDCG10, words.NDCG10)
			}
		})
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	judged := map[string]map[string]int{
		"a": {"x": 2, "y": 1, "z": 0},
		"b": {"x": 1},
		"c": {"x": 0, "y": -1}, // nothing relevant: not scored
		"d": {"x": 1},          // not answered
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
		t.Errorf("%d questions were scored", f.Questions)
	}
}

func TestSetsThatCannotBeReadSayWhere(t *testing.T) {
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
				t.Errorf("the error is %v, it should name %q", err, c.want)
			}
		})
	}
}
