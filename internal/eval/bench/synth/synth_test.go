package synth_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/passage"
)

func demoPages(t *testing.T) []synth.Page {
	t.Helper()
	root, err := devstack.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := synth.ReadPages(filepath.Join(root, "testdata", "demo", "docs"), new(synth.Seen))
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPagesAreReadInSectionsAndBlocks(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "docs")
	write(t, folder, map[string]string{
		"en/page.md": "---\ntitle: \"The {{ site.name }} page\"\nsummary: What it says.\n---\nBefore e.g. a heading. After a stop.\n\n## Part `one`\n\n" +
			"- first\n  goes on\n- second\n\n| k | v |\n| - | - |\n| 1 | 2 |\n\n```go\n# no heading\n\nx := 1\n```\n\n### Empty\n",
		"zh/page.mdx": "# 标题\n\n第一句。第二句！\n",
		"other.txt":   "not a page",
	})
	pages, err := synth.ReadPages(folder, new(synth.Seen))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != 2 {
		t.Fatalf("%d pages, want 2", len(pages))
	}
	page := pages[0]
	if page.Title != "The page" || page.Description != "What it says." || page.Corpus != "docs" || page.Path != "en/page.md" || page.Group != "docs/en" {
		t.Errorf("%+v", page)
	}
	if len(page.Sections) != 2 {
		t.Fatalf("%d sections, want 2 (the one without text is left out): %+v", len(page.Sections), page.Sections)
	}
	if got := page.Sections[0].Blocks[0].Units; !slices.Equal(got, []string{"Before e.g. a heading.", "After a stop."}) {
		t.Errorf("sentences %q", got)
	}
	want := []synth.Block{
		{Kind: synth.List, Units: []string{"- first\n  goes on", "- second"}},
		{Kind: synth.Table, Head: "| k | v |\n| - | - |", Units: []string{"| 1 | 2 |"}},
		{Kind: synth.Listing, Head: "```go", Units: []string{"# no heading", "", "x := 1"}},
	}
	for i, block := range page.Sections[1].Blocks {
		if block.Kind != want[i].Kind || block.Head != want[i].Head || !slices.Equal(block.Units, want[i].Units) {
			t.Errorf("block %d: %+v, want %+v", i, block, want[i])
		}
	}
	if got := pages[1].Sections[0].Blocks[0].Units; pages[1].Title != "标题" || !slices.Equal(got, []string{"第一句。", "第二句！"}) {
		t.Errorf("%+v", pages[1])
	}
}

func TestALongTextOfSeveralPagesIsKeptOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	long := strings.Repeat("The same sentence again. ", 20)
	write(t, folder, map[string]string{"a.md": "# A\n\n" + long + "\n\nShort.\n", "b.md": "# B\n\n" + long + "\n\nShort.\n", "c.md": "# C\n\n" + long + "\n"})
	var seen synth.Seen
	pages, err := synth.ReadPages(folder, &seen)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != 2 || len(pages[0].Sections[0].Blocks) != 2 || len(pages[1].Sections[0].Blocks) != 1 {
		t.Errorf("%+v", pages)
	}
	if _, err := synth.ReadPages(t.TempDir(), &seen); !errors.Is(err, synth.ErrNoPages) {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestTheSameSeedGivesTheSameDocuments(t *testing.T) {
	t.Parallel()
	pages := demoPages(t)
	one, two, other := synth.NewGenerator(pages, 1), synth.NewGenerator(pages, 1), synth.NewGenerator(pages, 2)
	names, differs := make(map[string]bool), false
	for range 4 * len(pages) {
		a, b, c := one.Next(), two.Next(), other.Next()
		if a.Name != b.Name || string(a.Content()) != string(b.Content()) || a.Version != b.Version || a.Section != b.Section || !slices.Equal(a.Tags, b.Tags) {
			t.Fatalf("%s and %s differ", a.Name, b.Name)
		}
		differs = differs || string(a.Body) != string(c.Body)
		if names[a.Name] {
			t.Fatalf("%s is there twice", a.Name)
		}
		names[a.Name] = true
	}
	if !differs {
		t.Error("another seed gives the same documents")
	}
}

// Passages of many rounds are different, have the words of the text and nothing
// else, and every filter selects its share of them.
func TestRoundsAreRealTextWithoutRepeats(t *testing.T) {
	t.Parallel()
	pages := demoPages(t)
	known := make(map[string]bool)
	var first, later struct{ words, documents int }
	source, parser := synth.NewGenerator(pages, 1), parse.New(parse.Options{})
	t.Cleanup(func() { _ = parser.Close() })
	var seen synth.Seen
	passages, repeats, strange, unread := 0, 0, 0, 0
	selected := make(map[string]int)
	for i := range 30 * len(pages) {
		d := source.Next()
		found, err := parser.Parse(t.Context(), parse.Input{Name: d.Name, Content: d.Content()})
		if err != nil {
			unread++ // random text may begin like a file of another format
			continue
		}
		count := &later
		if i < len(pages) {
			count = &first
		}
		count.documents++
		for _, word := range strings.Fields(string(d.Body)) {
			count.words++
			if i < len(pages) {
				known[word] = true
			} else if !known[word] {
				strange++
			}
		}
		for _, passage := range passage.Split(found, passage.Options{}) {
			passages++
			if !seen.Add(passage.Text) {
				repeats++
			}
			for _, filter := range synth.Filters() {
				if filter.Selects(d) {
					selected[filter.Name]++
				}
			}
		}
	}
	if repeats > passages/200 {
		t.Errorf("%d of %d passages have a text that another has", repeats, passages)
	}
	if unread > 2 {
		t.Errorf("%d documents cannot be read", unread)
	}
	if strange > 0 {
		t.Errorf("%d words are not in the text", strange)
	}
	before, after := float64(first.words)/float64(first.documents), float64(later.words)/float64(later.documents)
	if math.Abs(after/before-1) > 0.25 {
		t.Errorf("documents have %.0f words instead of %.0f", after, before)
	}
	for _, filter := range synth.Filters() {
		share := float64(selected[filter.Name]) / float64(passages)
		if math.Abs(share/filter.Share-1) > 0.3 {
			t.Errorf("filter %s selects %.4f of the passages, want about %.4f", filter.Name, share, filter.Share)
		}
	}
}

func TestFiltersAreWrittenAsTheInterfaceTakesThem(t *testing.T) {
	t.Parallel()
	var none, version, section, tag = synth.Filters()[0].JSON(), synth.Filters()[1].JSON(), synth.Filters()[2].JSON(), synth.Filters()[3].JSON()
	if none != nil || len(version) != 1 || version["version"] == "" || len(section) != 1 || section["section"] == "" || len(tag) != 1 {
		t.Errorf("%v %v %v %v", none, version, section, tag)
	}
	if tags, ok := tag["tags"].([]string); !ok || len(tags) != 1 {
		t.Errorf("%v", tag)
	}
}

func TestQuestionsAreShortDifferentAndTheSameEachTime(t *testing.T) {
	t.Parallel()
	pages := demoPages(t)
	questions := synth.Questions(pages, 300, 1)
	if len(questions) < 200 || !slices.Equal(questions, synth.Questions(pages, 300, 1)) {
		t.Fatalf("%d questions", len(questions))
	}
	seen := make(map[string]bool)
	for _, question := range questions {
		words := len(strings.Fields(question))
		ascii := len(question) == utf8.RuneCountInString(question)
		if words > 12 || ascii && words < 2 || seen[question] || strings.ContainsAny(question, "`*#|{}<>\n") {
			t.Errorf("%q", question)
		}
		seen[question] = true
	}
	if few := synth.Questions(pages, 7, 1); len(few) != 7 {
		t.Errorf("%d questions, want 7", len(few))
	}
}
