package jsondoc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, content, want string }{
		"object": {"a.json", `{"name": "x", "port": 80, "on": true, "none": null, "tags": ["a", "b"], "inner": {"a b": {"c": 1.50}}}`,
			"name: x\nport: 80\non: true\nnone: null\ntags: a, b\n\ninner.\"a b\".c: 1.50"},
		"array":              {"a.json", `[{"a": 1}, {"a": [["b"], 3]}]`, "[0].a: 1\n\n[1].a[0]: b\n[1].a: 3"},
		"numbers":            {"a.json", `{"a": [1, 2.50, 1e400], "b": [[1,2],[3, -4]], "c": 123456789012345678901234567890, "d": []}`, "a: 1, 2.50, 1e400\nb: [[1, 2], [3, -4]]\nc: 123456789012345678901234567890"},
		"scalar":             {"a.json", `"text"`, "text"},
		"records":            {"a.json", `[{"id": 1, "name": "oak", "size": {"height": 12.50}}, {"id": 2, "name": "el|m", "tags": ["x", "y"]}]`, "| id | name | size.height | tags |\n| --- | --- | --- | --- |\n| 1 | oak | 12.50 |  |\n| 2 | el\\|m |  | x, y |"},
		"records of members": {"a.json", `{"oak": {"age": 5, "on": true}, "elm": {"age": 7, "on": false}, "ash": {"age": 8, "on": true}}`, "| Name | age | on |\n| --- | --- | --- |\n| oak | 5 | true |\n| elm | 7 | false |\n| ash | 8 | true |"},
		"values in a file":   {"a.json", "{\"a\":1}\n{\"a\":2}\n", "a: 1\n\na: 2"},
		"leniently written":  {"a.json", "{a: 'it\\'s', \"b\": .5, c: 0x1F, d: +1, 'e': [1,2,], \"f\": \"\\u00e9\\ud83d\\ude00\\n\\/\",}", "a: it's\nb: .5\nc: 0x1F\nd: +1\ne: 1, 2\nf: é😀\n/"},
		"null":               {"a.json", "[null, null]", "null, null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, parsetest.Read(t, c.file, c.content).Markdown()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if title := parsetest.Read(t, "a.json", `{"schema": "3.1", "info": {"title": "Orders", "description": "d"}}`).Title; title != "Orders" {
		t.Errorf("title is %q", title)
	}
}

func TestJSONInSections(t *testing.T) {
	t.Parallel()
	var members []string
	for i := range 30 {
		members = append(members, fmt.Sprintf("%q: %q", fmt.Sprintf("member%d", i), strings.Repeat("word ", 20)))
	}
	long := "{" + strings.Join(members, ",") + "}"
	doc := parsetest.Read(t, "a.json", `{"version": 2, "first": `+long+`, "between": "x", "after": {"a": [{"b": 1}]}, "second": `+long+`}`)
	var headings []string
	for _, block := range doc.Blocks {
		if block.Kind == document.Heading {
			headings = append(headings, fmt.Sprint(block.Level, " ", block.Text))
		}
	}
	want := []string{"2 first", "3 member8, member9, member10, member11, member12, …", "3 member16, member17, member18, member19, member20, …",
		"3 member24, member25, member26, member27, member28, …", "2 between, after", "2 second", "3 member8, member9, member10, member11, member12, …",
		"3 member16, member17, member18, member19, member20, …", "3 member24, member25, member26, member27, member28, …"}
	if diff := cmp.Diff(want, headings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := doc.Markdown(); strings.Count(text, "member29: ") != 2 || !strings.Contains(text, "after.a[0].b: 1") || !strings.HasPrefix(text, "version: 2\n") {
		t.Errorf("text is lost:\n%s", text)
	}
}

func TestJSONWithCommentsStaysAsItIs(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "tsconfig.json", "{\n  // where the sources are\n  \"root\": \"src\", /* and more */\n}\n")
	text := doc.Markdown()
	if !strings.Contains(text, "// where the sources are\n  \"root\": \"src\", /* and more */") || doc.Blocks[len(doc.Blocks)-1].Kind != document.Code {
		t.Errorf("got %q", text)
	}
}

func TestBrokenJSON(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"a": `:             "JSON is damaged: invalid JSON at byte 6 (line 1, column 7): the file ends too early",
		"{\n  \"a\": tru,\n": "invalid JSON at byte 9 (line 2, column 8): unexpected character 't', a value should stand here",
		`{"a" 1}`:            "invalid JSON at byte 5",
		`nonsense`:           "invalid JSON at byte 0",
		`{"a": "x`:           "the file ends too early",
		`[`:                  "the file ends too early",
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300): "nested deeper than 256 levels",
	} {
		_, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: "a.json", Content: []byte(content)})
		if damaged := (*document.DamagedError)(nil); !errors.As(err, &damaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", content, err, want)
		}
	}
	for content, want := range map[string][2]string{
		`{"a": 1,`:                           {"a: 1", "byte 8 (line 1, column 9): the file ends too early"},
		`[1, "x", 2`:                         {"1, x, 2", "the file ends too early"},
		"{\"a\": 1, \"b\": tru,\n\"c\": 2}":  {"a: 1\n\n```json\n\"b\": tru,\n\"c\": 2}\n```", "unexpected character 't'"},
		`{"a": 1} x`:                         {"a: 1\n\n```json\nx\n```", "invalid JSON at byte 9"},
		`{"a": {"b": 1, "c": [1, {"d": "e"}`: {"a.b: 1\na.c: 1\na.c[1].d: e", "ends too early"},
	} {
		doc := parsetest.Read(t, "a.json", content)
		if damage, _ := doc.Metadata["damaged"].(string); !strings.HasPrefix(doc.Markdown(), want[0]) || !strings.Contains(damage, want[1]) {
			t.Errorf("%q: %q, damaged: %q", content, doc.Markdown(), damage)
		}
	}
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	row := func(i int) string {
		return fmt.Sprintf("{\"id\": %d, \"name\": \"tree %d\", \"at\": {\"x\": %d.50}}\n", i, i, i)
	}
	for name, c := range map[string]struct {
		content, want string
		damaged       any
	}{
		"rows":   {row(1) + row(2) + "\n" + row(3), "| id | name | at.x |\n| --- | --- | --- |\n| 1 | tree 1 | 1.50 |\n| 2 | tree 2 | 2.50 |\n| 3 | tree 3 | 3.50 |", nil},
		"few":    {"{\"a\":1}\n{\"a\":2}\n", "a: 1\n\na: 2", nil},
		"nested": {"{\"a\":[{\"b\":[{\"c\":\"" + strings.Repeat("x", 400) + "\"}]}]}\n", "a[0].b[0].c: " + strings.Repeat("x", 400), nil},
		"broken lines": {row(1) + "oops\n" + row(2) + row(3) + row(4) + "{\"id\": 5\n", "id: 1\nname: tree 1\nat.x: 1.50\n\n```\noops\n```\n\n| id | name | at.x |\n| --- | --- | --- |\n| 2 | tree 2 | 2.50 |\n| 3 | tree 3 | 3.50 |\n| 4 | tree 4 | 4.50 |\n\n```\n{\"id\": 5\n```",
			"lines 2 and 6 are no JSON and left as in the file"},
		"one broken line": {row(1) + "oops\n", "id: 1\nname: tree 1\nat.x: 1.50\n\n```\noops\n```", "line 2 is no JSON and left as in the file"},
		"of two kinds":    {row(1) + row(2) + row(3) + "{\"u\":1,\"v\":2,\"w\":3}\n", "| id | name | at.x |\n| --- | --- | --- |\n| 1 | tree 1 | 1.50 |\n| 2 | tree 2 | 2.50 |\n| 3 | tree 3 | 3.50 |\n\nu: 1\nv: 2\nw: 3", nil},
		"over lines":      {"{\n\"a\": 1\n}\n{\n\"a\": 2\n}\n", "a: 1\n\na: 2", nil},
		"arrays":          {"[1, 2]\n[3, 4]\n", "1, 2\n\n3, 4", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := parsetest.Read(t, "a.jsonl", c.content)
			if diff := cmp.Diff(c.want, doc.Markdown()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if doc.Metadata["damaged"] != c.damaged {
				t.Errorf("damaged: %v, want %v", doc.Metadata["damaged"], c.damaged)
			}
		})
	}
	long := parsetest.Read(t, "a.jsonl", "{\"title\": \"On oaks\", \"text\": \""+strings.Repeat("They grow. ", 200)+"\"}\n{\"title\": \"On elms\", \"text\": \""+strings.Repeat("They fell. ", 200)+"\"}\n")
	if long.Blocks[0].Text != "On oaks" || long.Blocks[0].Kind != document.Heading || len(long.Blocks) != 4 {
		t.Errorf("long records: %.100q", long.Markdown())
	}
}

func FuzzJSONLines(f *testing.F) {
	parsetest.Fuzz(f, "a.jsonl", "{\"a\":1}\n{\"a\":2}\n{\"a\":3,\"b\":[1]}\n", "x\n[1]\n", "{\"a\":{\"b\":{\"c\":1}}}\n{}\n")
}

func BenchmarkJSON(b *testing.B) {
	var lines strings.Builder
	lines.WriteString("{\"trees\": [")
	for i := range 20_000 {
		if i > 0 {
			lines.WriteByte(',')
		}
		fmt.Fprintf(&lines, "{\"id\": %d, \"name\": \"tree %d\", \"at\": {\"x\": %d.5, \"y\": 7}, \"tags\": [\"a\", \"b\"]}", i, i, i)
	}
	lines.WriteString("]}")
	content := []byte(lines.String())
	parser := parse.New(parse.Options{})
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parser.Parse(b.Context(), parse.Input{Name: "trees.json", Content: content}); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzJSON(f *testing.F) {
	parsetest.Fuzz(f, "a.json", `{"title": "t", "a": [1, {"b": "\u0000c"}], "d e": null}`, "[[1],[2]]\n3", `{"a":`)
}
