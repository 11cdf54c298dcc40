package static_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/model/embed/static"
)

const gramRows = 50

// newTable returns a table of random vectors, and the vectors of its words.
func newTable(t *testing.T, terms []string, sign float32) (*static.Table, []float32) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	vectors := make([]float32, (len(terms)+gramRows)*static.Dimensions)
	for i := range vectors {
		vectors[i] = float32(random.NormFloat64())
	}
	data, err := static.Build(static.Words{Terms: terms, Vectors: vectors, Sign: sign})
	if err != nil {
		t.Fatal(err)
	}
	table, err := static.Open(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return table, vectors
}

func embedText(table *static.Table, text string) []float32 {
	vector := make([]float32, static.Dimensions)
	static.NewPool(table, static.NewReader(analysis.New())).Embed(vector, text)
	return vector
}

func cosine(a, b []float32) float64 {
	var product, left, right float64
	for i := range a {
		product += float64(a[i]) * float64(b[i])
		left += float64(a[i]) * float64(a[i])
		right += float64(b[i]) * float64(b[i])
	}
	return product / math.Sqrt(left*right)
}

func TestKnownWordsHaveTheirRows(t *testing.T) {
	t.Parallel()
	terms := make([]string, 900)
	for i := range terms {
		terms[i] = "w" + strconv.Itoa(i)
	}
	table, vectors := newTable(t, terms, 1)
	for i, term := range terms {
		want := vectors[i*static.Dimensions : (i+1)*static.Dimensions]
		if got := cosine(embedText(table, "w "+term), want); i%97 == 0 && got < 0.3 {
			t.Errorf("%s among others has similarity %.3f to its row", term, got)
		}
	}
}

func TestSumsFollowTheWeightsOfWords(t *testing.T) {
	t.Parallel()
	terms := []string{"alpha", "beta", "gamma"}
	table, vectors := newTable(t, terms, 1)
	row := func(i int) []float32 { return vectors[i*static.Dimensions : (i+1)*static.Dimensions] }
	want := make([]float32, static.Dimensions)
	for i := range want {
		want[i] = row(0)[i] + float32(static.Damped(3))*row(1)[i]
	}
	if got := cosine(embedText(table, "beta Alpha beta BETA"), want); got < 0.985 {
		t.Errorf("similarity %.4f to the weighted sum", got)
	}
}

func TestUnknownWordsHaveDifferentVectors(t *testing.T) {
	t.Parallel()
	table, _ := newTable(t, []string{"known"}, 1)
	same := cosine(embedText(table, "zorblax"), embedText(table, "Zorblax"))
	other := cosine(embedText(table, "zorblax"), embedText(table, "quuxly"))
	if same < 0.999 || math.Abs(other) > 0.5 {
		t.Errorf("the same unknown word %.3f, another %.3f", same, other)
	}
}

func TestSignsAreThoseOfUnknownWords(t *testing.T) {
	t.Parallel()
	vectors := make([]float32, (1+gramRows)*static.Dimensions)
	vectors[0] = 1
	data, err := static.Build(static.Words{Terms: []string{"known"}, Vectors: vectors, Sign: 1})
	if err != nil {
		t.Fatal(err)
	}
	table, err := static.Open(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := cosine(embedText(table, "zorblax"), static.Signs("zorblax")); got < 0.999 {
		t.Errorf("similarity %.4f to the signs", got)
	}
}

// Sums of 32 bits are flushed before they can overflow.
func TestLongTextsDoNotOverflow(t *testing.T) {
	t.Parallel()
	terms := make([]string, 3000)
	vectors := make([]float32, (len(terms)+gramRows)*static.Dimensions)
	var text strings.Builder
	for i := range terms {
		terms[i] = "w" + strconv.Itoa(i)
		vectors[i*static.Dimensions] = 5
		text.WriteString(strings.Repeat(terms[i]+" ", 70))
	}
	data, err := static.Build(static.Words{Terms: terms, Vectors: vectors, Sign: 0})
	if err != nil {
		t.Fatal(err)
	}
	table, err := static.Open(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := embedText(table, text.String()); got[0] < 0.99 {
		t.Errorf("first value %.4f, want nearly 1", got[0])
	}
}

func TestDamagedTablesAreRefused(t *testing.T) {
	t.Parallel()
	data, err := static.Build(static.Words{Terms: []string{"word"}, Vectors: make([]float32, 2*static.Dimensions)})
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []string{"", "no table", string(data[:len(data)-1]), string(data) + "x", strings.Repeat("\x00", len(data))} {
		if _, err := static.Open(damaged); err == nil {
			t.Errorf("a table of %d bytes was accepted", len(damaged))
		}
	}
	if _, err := static.Build(static.Words{Terms: []string{"word"}, Vectors: make([]float32, static.Dimensions)}); err == nil {
		t.Error("a table without rows for unknown words was made")
	}
}

func TestScriptsWithoutSpacesGivePairsAndCharacters(t *testing.T) {
	t.Parallel()
	var terms []string
	for _, feature := range static.NewReader(analysis.New()).Features("数据库 サーバ kv.size") {
		term := feature.Term
		if feature.Whole {
			term += " (whole)"
		}
		terms = append(terms, term)
	}
	if got := strings.Join(terms, "|"); got != "数据|数|据库|据|库|サー|サ|ーバ|ー|バ|kv.size (whole)|kv|size" {
		t.Errorf("features %s", got)
	}
}
