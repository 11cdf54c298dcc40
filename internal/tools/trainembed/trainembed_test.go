package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/model/embed/static"
)

func outline(blocks []block) string {
	var lines []string
	for _, b := range blocks {
		lines = append(lines, fmt.Sprintf("%d %s", b.level, b.text))
	}
	return strings.Join(lines, "\n")
}

func TestReadersFindHeadingsAndParagraphs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		blocks []block
		want   string
	}{
		"HTML": {readHTML([]byte("<title>Top</title><script>no</script><h2>Part <b>one</b></h2><p>Text\n in <i>lines</i>.<pre>code</pre>")),
			"1 Top\n2 Part one\n0 Text in lines."},
		"manual page": {readManual(".TH LS 1 2020\n.SH NAME\nls \\- list \\fBdirectory\\fR contents\n.PP\n.nf\ncode\n.fi\nMore.\n"),
			"1 LS\n2 NAME\n0 ls - list directory contents\n0 More."},
		"Markdown":         {readPlain("---\ntitle: Top\n---\n\n## Part\n\nSee [the link](x.md).\n\n```\ncode\n```\n"), "1 Top\n2 Part\n0 See the link ."},
		"reStructuredText": {readPlain("Top\n===\n\nText\nhere.\n\nPart\n----\n\nMore.\n"), "1 Top\n0 Text here.\n2 Part\n0 More."},
	} {
		if got := outline(c.blocks); got != c.want {
			t.Errorf("%s gives\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestReadersFindPairs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pairs []pair
		want  string
	}{
		"WordNet": {readWordNet("02958343 06 n 02 car 0 auto 0 001 @ 03791235 n 0000 | a motor vehicle\n"),
			"gloss: car, auto = a motor vehicle\nsynonym: car = auto"},
		"MyThes":     {readThesaurus("UTF-8\ncar|1\n(noun)|auto|motorcar (generic term)\n"), "synonym: car = auto\nsynonym: car = motorcar"},
		"Unihan":     {readUnihan("U+8ECA\tkDefinition\tcart, vehicle\nU+8ECA\tkMandarin\tche\n"), "translation: 車 = cart, vehicle"},
		"dictionary": {appendTranslations(nil, "car", "car /kɑː/\n1. Auto <neut>, Wagen\n  \"by car\"  - mit dem Auto\n"), "translation: car = Auto\ntranslation: car = Wagen"},
	} {
		var found []string
		for _, p := range c.pairs {
			found = append(found, fmt.Sprint(p.kind, ": ", p.left, " = ", p.right))
		}
		if got := strings.Join(found, "\n"); got != c.want {
			t.Errorf("%s gives %s, want %s", name, got, c.want)
		}
	}
}

func TestPathsContainLanguages(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"usr/share/help/de/x.page":               "de usr/share/help/*/x.page true",
		"usr/share/doc/x/html/zh-CN/a.html":      "zh usr/share/doc/x/html/*/a.html true",
		"usr/share/locale/pt_BR/LC_MESSAGES/a":   "pt usr/share/locale/*/LC_MESSAGES/a true",
		"usr/share/doc/x/faq.fr.html":            "fr usr/share/doc/x/faq.*.html true",
		"usr/share/help/tr/x.page":               "tr usr/share/help/*/x.page true",
		"usr/share/locale/nb/LC_MESSAGES/a":      "no usr/share/locale/*/LC_MESSAGES/a true",
		"usr/share/help/ka/x.page":               "ka usr/share/help/*/x.page false",
		"usr/share/doc/python3/using/doing.html": "en usr/share/doc/python3/using/doing.html true",
	} {
		language, rest, known := languageOf(path)
		if got := fmt.Sprint(language, " ", rest, " ", known); got != want {
			t.Errorf("%s gives %s, want %s", path, got, want)
		}
	}
}

// A small training run: counterparts have no common words, and are near each other afterwards.
func TestTrainingBringsCounterpartsTogether(t *testing.T) {
	t.Parallel()
	const topics, side = 60, 5
	random := rand.New(rand.NewPCG(1, 1))
	c := &corpus{}
	for i := range 2 * topics * side {
		c.Terms, c.Shares = append(c.Terms, fmt.Sprint("term", i)), append(c.Shares, 0.0015)
	}
	draw := func(topic, of int) []uint32 {
		ids := make([]uint32, 4)
		for i := range ids {
			ids[i] = uint32((2*topic+of)*side + random.IntN(side))
		}
		return ids
	}
	for i := range 12_000 {
		topic := random.IntN(topics)
		e := example{Kind: kind(i % int(kindCount)), Held: i%10 == 0, Left: draw(topic, 0), Right: draw(topic, 1)}
		c.Pairs = append(c.Pairs, e)
		c.Texts = append(c.Texts, e.Left, e.Right)
	}
	table := newMatrix(len(c.Terms), static.Dimensions)
	table.fillNormal(random)
	startRows(c, table, random)
	before := nearness(c, table)
	newTrainer(table, rate, 2).train(c, 60, random, func(int, float64) {})
	if after := nearness(c, table); before > 0.1 || after < 0.5 {
		t.Errorf("counterparts have similarity %.2f before training and %.2f after", before, after)
	}
	grams := fitGrams(c.Terms, table, 200, random)
	finish(c, table, grams, 2)
	if together := nearness(c, table); together < 0.2 {
		t.Errorf("counterparts have similarity %.2f in the end", together)
	}
}

// nearness returns the mean similarity of held-out pairs.
func nearness(c *corpus, table *matrix) float64 {
	sum, n := 0.0, 0.0
	left, right := make([]float32, table.columns), make([]float32, table.columns)
	for _, e := range c.Pairs {
		if e.Held {
			var b bag
			b.fill(e.Left)
			b.sum(left, table)
			b.fill(e.Right)
			b.sum(right, table)
			sum, n = sum+float64(dot(left, right)), n+1
		}
	}
	return sum / n
}

func TestFactorsRestoreAMatrixOfLowRank(t *testing.T) {
	t.Parallel()
	const rows, width, rank = 80, 60, 3
	random := rand.New(rand.NewPCG(1, 1))
	left, right := newMatrix(rows, rank), newMatrix(width, rank)
	left.fillNormal(random)
	right.fillNormal(random)
	m := &sparse{starts: []int{0}, width: width}
	for i := range rows {
		for j := range width {
			m.columns, m.values = append(m.columns, uint32(j)), append(m.values, dot(left.row(i), right.row(j)))
		}
		m.starts = append(m.starts, len(m.values))
	}
	found := factor(m, rank, 2, random)
	columns := found.transposed()
	for i := range rank {
		for j := range i {
			if product := dot(columns.row(i), columns.row(j)) / length(columns.row(i)) / length(columns.row(j)); product > 1e-3 || product < -1e-3 {
				t.Errorf("columns %d and %d have cosine %.4f, want singular vectors", i, j, product)
			}
		}
	}
	// The squared singular values sum to the squared norm of the matrix. The columns are unit vectors times their roots.
	want, got := dot(m.values, m.values), float32(0)
	for i := range rank {
		square := dot(columns.row(i), columns.row(i))
		got += square * square
	}
	if got < 0.999*want || got > 1.001*want {
		t.Errorf("singular values have squares of %.1f, want %.1f", got, want)
	}
}
