package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/search"
)

// TestPhrasesAreFoundBehindManyPassagesWithTheirWords has more passages with the words of a phrase than the engine is asked
// for. All of them match better than the one that is meant.
func TestPhrasesAreFoundBehindManyPassagesWithTheirWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	d := newDistributed(f, 0)
	const story = "# Notes\n\nA long walk led along the shore, past boats and nets and old sheds, to %s that anyone remembers, and home again by another way over the hills."
	finds := func(id tenant, question string, byEngine bool) {
		t.Helper()
		before := d.tier.Stats()
		if r := d.find(t.Context(), id, search.Query{Text: question}); len(r.Hits) != 1 || !strings.Contains(r.Hits[0].URL, "story.md") {
			t.Errorf("%s finds %d passages, not the one of story.md", question, len(r.Hits))
		}
		if after := d.tier.Stats(); (after.Fallbacks == before.Fallbacks) != byEngine || after.Doubts > before.Doubts {
			t.Errorf("%s: Stats = %+v, before %+v", question, after, before)
		}
	}
	for _, c := range []struct{ many, one, question string }{
		{"Forest of kelp", "the last kelp forest", `"kelp forest"`},
		{"Kelp forest", "the last kelp of the forest", `kelp -"kelp forest"`},
	} {
		id := f.tenant()
		var many strings.Builder
		many.WriteString("# Kelp\n")
		for i := range 1400 {
			fmt.Fprintf(&many, "\n## Bed %d\n\n%s %d.\n", i, c.many, i)
		}
		f.add(id, "many.md", many.String(), nil)
		f.add(id, "story.md", fmt.Sprintf(story, c.one), nil)
		d.project(id)
		finds(id, c.question, false)
		finds(id, `"long walk"`, true)
	}
}
