package separated_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestSeparatedValues(t *testing.T) {
	t.Parallel()
	table := func(header []string, rows ...[]string) []document.Block {
		return []document.Block{{Kind: document.Table, Header: header, Rows: rows}}
	}
	text := func(lines ...string) (blocks []document.Block) {
		for _, line := range lines {
			blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: line})
		}
		return blocks
	}
	for name, c := range map[string]struct {
		file, content string
		want          []document.Block
	}{
		"commas":             {"a.csv", "A,B\n\"x, \"\"y\"\"\",\"two\nlines\"\n", table([]string{"A", "B"}, []string{`x, "y"`, "two lines"})},
		"semicolons":         {"a.csv", "A;B;C\n1,5;2;3\n", table([]string{"A", "B", "C"}, []string{"1,5", "2", "3"})},
		"decimal commas":     {"a.csv", "1,5;2,3\n4,5;6,7\n", table([]string{"Column 1", "Column 2"}, []string{"1,5", "2,3"}, []string{"4,5", "6,7"})},
		"tabs":               {"a.tsv", "A\tB\n1, 2\t\n", table([]string{"A", "B"}, []string{"1, 2", ""})},
		"tabs in a csv":      {"a.csv", "A\tB\n1, 2\t3, 4\n", table([]string{"A", "B"}, []string{"1, 2", "3, 4"})},
		"bars":               {"a.csv", "A|B\n1|2\n", table([]string{"A", "B"}, []string{"1", "2"})},
		"named separator":    {"a.csv", "sep=;\nA;B\n1,2;3\n", table([]string{"A", "B"}, []string{"1,2", "3"})},
		"ragged":             {"a.csv", "A,B\n1\n1,2,3\n\n,,\n", table([]string{"A", "B", "Column 3"}, []string{"1", "", ""}, []string{"1", "2", "3"})},
		"quotes inside":      {"a.csv", "A,B\nsize 5\" x,\"y\" z\nv,w\n", table([]string{"A", "B"}, []string{`size 5" x`, `"y" z`}, []string{"v", "w"})},
		"escaped quotes":     {"a.csv", "A,B\n\"say \\\"hi, all\\\"\",2\n", table([]string{"A", "B"}, []string{`say "hi, all"`, "2"})},
		"blanks and quotes":  {"a.csv", "A, \"B, C\" ,D\n1, 2 ,3\n", table([]string{"A", "B, C", "D"}, []string{"1", "2", "3"})},
		"one column":         {"a.csv", "A\nx\n", table([]string{"A"}, []string{"x"})},
		"header alone":       {"a.csv", "A,B\n", table([]string{"A", "B"})},
		"byte order mark":    {"a.csv", "\ufeffA,B\r\n1,2\r\n", table([]string{"A", "B"}, []string{"1", "2"})},
		"numbers":            {"a.csv", "Id,Amount\n007,1.50\n1e5,12345678901234567890.10\n", table([]string{"Id", "Amount"}, []string{"007", "1.50"}, []string{"1e5", "12345678901234567890.10"})},
		"no header":          {"a.csv", "oak,12.5,2024-01-02\nelm,9,2024-01-03\nash,7,2024-02-01\n", table([]string{"Column 1", "Column 2", "Column 3"}, []string{"oak", "12.5", "2024-01-02"}, []string{"elm", "9", "2024-01-03"}, []string{"ash", "7", "2024-02-01"})},
		"years in a header":  {"a.csv", "Tree,2023,2024\noak,5,6\nelm,7,8\n", table([]string{"Tree", "2023", "2024"}, []string{"oak", "5", "6"}, []string{"elm", "7", "8"})},
		"titles above":       {"a.csv", "Trees of the town,,\nas of May\n\nTree,Height,Age\noak,5,6\nelm,7,8\n", append(text("Trees of the town", "as of May"), table([]string{"Tree", "Height", "Age"}, []string{"oak", "5", "6"}, []string{"elm", "7", "8"})...)},
		"bars in cells":      {"a.csv", "A,B\nx|y,z\n", table([]string{"A", "B"}, []string{`x\|y`, "z"})},
		"text with commas":   {"a.csv", "Name;Note\noak;old, tall, brown\nelm;young, small\n", table([]string{"Name", "Note"}, []string{"oak", "old, tall, brown"}, []string{"elm", "young, small"})},
		"one long line only": {"a.csv", "a,b,c", table([]string{"a", "b", "c"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, parsetest.Read(t, c.file, c.content).Blocks, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSeparatedValuesOfBrokenFiles(t *testing.T) {
	t.Parallel()
	long := "a,b\n\"" + strings.Repeat("row,more\n", 50000)
	if rows := len(parsetest.Read(t, "a.csv", long).Blocks[0].Rows); rows != 50000 {
		t.Errorf("an open quote leaves %d rows", rows)
	}
	many := "a,b\n" + strings.Repeat("\"row,more\n", 50000)
	if rows := len(parsetest.Read(t, "a.csv", many).Blocks[0].Rows); rows != 50000 {
		t.Errorf("many open quotes leave %d rows", rows)
	}
	var limit *document.LimitError
	_, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: "a.csv", Content: []byte(strings.Repeat("a\n", 6<<20))})
	if !errors.As(err, &limit) {
		t.Errorf("six million rows give %v", err)
	}
}

func TestManyRowsAreNoMatter(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "a.csv", "id,name\n"+strings.Repeat("1,x\n", 700_000))
	if rows := len(doc.Blocks[0].Rows); rows != 700_000 || doc.Metadata["rows"] != rows {
		t.Errorf("%d rows, metadata %v", rows, doc.Metadata)
	}
}

// rowsOfPrices makes a file with so many rows of eight cells, some of them quoted.
func rowsOfPrices(count int) []byte {
	var b strings.Builder
	b.WriteString("id,article,colour,price,stock,shelf,since,note\n")
	for i := range count {
		fmt.Fprintf(&b, "%d,Lantern %d,green,%d.95,%d,\"A, %d\",2024-03-%02d,\"with a \"\"brass\"\" foot\"\n", i, i%977, i%89, i%41, i%13, i%28+1)
	}
	return []byte(b.String())
}

func BenchmarkSeparated(b *testing.B) {
	const rows = 100_000
	content := rowsOfPrices(rows)
	parser := parse.New(parse.Options{})
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parser.Parse(b.Context(), parse.Input{Name: "prices.csv", Content: content}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
}

func FuzzSeparated(f *testing.F) {
	parsetest.Fuzz(f, "a.csv", "a,b\n\"1\",2\n", "a;b\n1;\"x\ny\"", "a\tb")
}
