package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/testkit/engineserver"
)

// today is when the searches of many passages are made.
var today = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// demoPages reads the pages of the demonstration.
func demoPages(t testing.TB) []synth.Page {
	t.Helper()
	pages, err := synth.ReadPages(demo+"/docs", &synth.Seen{})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// entry is a document that is stored, with the principals that it is restricted to.
type entry struct {
	*index.Record
	restriction []string
}

// addMany stores documents made of the demonstration's sentences until there are so many
// passages. Two thirds of them have readers, and some a restriction, too.
func (f *fixture) addMany(id tenant, pages []synth.Page, passages int) map[uuid.UUID]entry {
	f.Helper()
	out := map[uuid.UUID]entry{}
	records := make(chan *index.Record)
	var mutex sync.Mutex
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for r := range records {
				outcome, err := f.index.Put(f.Context(), id.scope, index.Fence{}, r)
				if err != nil {
					f.Error(err)
				}
				mutex.Lock()
				out[outcome.Document] = entry{Record: r}
				mutex.Unlock()
			}
		})
	}
	generator, random := synth.NewGenerator(pages, 1), rand.New(rand.NewPCG(9, 9))
	for stored := 0; stored < passages; {
		d := generator.Next()
		r := f.record(id, d.Name, string(d.Content()), func(r *index.Record) {
			r.Version, r.Section, r.Tags = d.Version, d.Section, d.Tags
			r.UpdatedAt = today.Add(-time.Duration(random.IntN(1000)) * 24 * time.Hour)
			if random.IntN(3) > 0 {
				r.Readers = []string{fmt.Sprint("group:", random.IntN(20)), fmt.Sprint("group:", random.IntN(20))}
			}
		})
		stored += len(r.Passages)
		records <- r
	}
	close(records)
	writers.Wait()
	tx, err := f.db.Ent.Tx(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	for document, e := range out {
		if len(e.SourceID)%8 > 0 {
			continue
		}
		e.restriction = []string{"user:ann", "group:2", "group:3"}
		if _, err := f.index.RestrictIn(f.Context(), tx.Client(), id.scope, document, e.restriction, uuid.Nil); err != nil {
			f.Fatal(err)
		}
		out[document] = e
	}
	if err := tx.Commit(); err != nil {
		f.Fatal(err)
	}
	return out
}

// A view is how the questions are asked of many passages.
type view struct {
	name       string
	principals []string // nil for everything
	filters    search.Filters
	question   func(i int, question string) string // nil for the question itself
	every      int                                 // of so many questions one is asked
}

// shows reports whether a document is within the filters and the principals.
func (v *view) shows(e entry) bool {
	admits := func(list, principals []string) bool {
		return list == nil || slices.ContainsFunc(list, func(p string) bool { return slices.Contains(principals, p) })
	}
	f := &v.filters
	return (v.principals == nil || admits(e.Readers, v.principals) && admits(e.restriction, v.principals)) &&
		(f.Readers == nil || admits(e.Readers, f.Readers) && admits(e.restriction, f.Readers)) &&
		(f.Version == "" || e.Version == f.Version) && (f.Section == "" || e.Section == f.Section) && (f.Language == "" || e.Language == f.Language) &&
		(len(f.Tags) == 0 || slices.ContainsFunc(f.Tags, func(tag string) bool { return slices.Contains(e.Tags, tag) })) &&
		(f.From.IsZero() || !e.UpdatedAt.Before(f.From)) && (f.Until.IsZero() || e.UpdatedAt.Before(f.Until))
}

// neighbors returns two long words that stand side by side on a page.
func neighbors(p *synth.Page) (a, b string, ok bool) {
	letters := func(word string) bool {
		return len(word) > 4 && strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz") == ""
	}
	for _, section := range p.Sections {
		for i := range section.Blocks {
			for _, unit := range section.Blocks[i].Units {
				words := strings.Fields(unit)
				for j := 1; j < len(words) && section.Blocks[i].Kind == synth.Prose; j++ {
					if letters(words[j-1]) && letters(words[j]) {
						return words[j-1], words[j], true
					}
				}
			}
		}
	}
	return "", "", false
}

// nodesAgreeOnMany compares the engine with the stored tier, which scans, where the engine
// cannot answer with everything.
func nodesAgreeOnMany(t *testing.T, c *engineserver.Cluster) {
	n := newNodes(t, c, 500)
	began := time.Now()
	pages := demoPages(t)
	documents := n.addMany(n.id, pages, 10_000)
	n.exec("vacuum analyze passage_index")
	t.Logf("%d documents are stored after %s", len(documents), time.Since(began).Round(time.Millisecond))
	n.settle()
	n.ledger()
	questions := synth.Questions(pages, 50, 1)
	for _, q := range demoQuestions(t) {
		questions = append(questions, q.Query)
	}
	stored := newEngine(t, n.db, analysis.New(), n.models, search.Options{Memory: -1})
	ann, ben := []string{"user:ann", "group:1", "group:11"}, []string{"user:ben", "group:2"}
	var plain, phrases tally
	for _, v := range phraseViews(pages) {
		n.agreeOn(&v, questions, documents, stored, &phrases)
	}
	phrases.check(t, "questions with phrases and exclusions")
	before := n.tier.Stats()
	for _, v := range []view{
		{name: "as Ann", principals: ann, every: 2},
		{name: "as Ben, in German", principals: ben, filters: search.Filters{Language: "de"}, every: 5},
		{name: "as Ben, of a year", principals: ben, filters: search.Filters{From: today.AddDate(-2, 0, 0), Until: today.AddDate(-1, 0, 0)}, every: 5},
		{name: "what a group reads", filters: search.Filters{Readers: []string{"group:3"}}, every: 5},
		{name: "half", filters: search.Filters{Version: "v1.0"}, every: 5},
		{name: "a twentieth, as Ann", principals: ann, filters: search.Filters{Section: "Part 01"}, every: 5},
		{name: "a thousandth", filters: search.Filters{Tags: []string{"rare"}}, every: 10},
		{name: "everything", every: 1},
	} {
		n.agreeOn(&v, questions, documents, stored, &plain)
	}
	plain.check(t, "questions")
	// Only an answer without a passage makes PostgreSQL look.
	after := n.tier.Stats()
	searches, doubts := after.Searches-before.Searches, after.Doubts-before.Doubts
	if searches < int64(plain.asked) || after.Failures > 0 || after.Fallbacks-before.Fallbacks != doubts || doubts > searches/10 {
		t.Errorf("Stats = %+v, before %+v", after, before)
	}
}

// A tally counts questions, those with the same first ten, and their hits.
type tally struct{ asked, same, hits int }

func (c *tally) check(t *testing.T, of string) {
	t.Helper()
	t.Logf("%d of %d %s have the same first ten, %d hits in all", c.same, c.asked, of, c.hits)
	if 100*c.same < 99*c.asked || c.hits < c.asked {
		t.Errorf("%d of %d %s have the same first ten, %d hits in all", c.same, c.asked, of, c.hits)
	}
}

// phraseViews returns views whose questions have a phrase, or exclude a word or a phrase, of a
// page.
func phraseViews(pages []synth.Page) []view {
	add := func(format string, words func(a, b string) string) func(int, string) string {
		return func(i int, question string) string {
			for j := range pages {
				if a, b, ok := neighbors(&pages[(i+j)%len(pages)]); ok {
					return fmt.Sprintf(format, question, words(a, b))
				}
			}
			return question
		}
	}
	both := func(a, b string) string { return a + " " + b }
	return []view{
		{name: "with a phrase", question: add("%s %q", both), every: 10},
		{name: "with a phrase, as Ann", principals: []string{"user:ann", "group:1"}, question: add("%s %q", both), every: 10},
		{name: "without a word", question: add("%s -%s", func(a, _ string) string { return a }), every: 10},
		{name: "without a phrase", question: add("%s -%q", both), every: 10},
	}
}

// agreeOn compares what the engine and PostgreSQL find. It fails if a hit is outside of the
// view.
func (n *nodes) agreeOn(v *view, questions []string, documents map[uuid.UUID]entry, stored *search.Engine, total *tally) {
	n.Helper()
	began, before := time.Now(), n.tier.Stats()
	ctx := viewerWith(n, v.principals)
	var c tally
	for i := 0; i < len(questions); i += v.every {
		query := search.Query{Text: questions[i], Limit: 10, MinScore: 0.5, Filters: v.filters, Now: today, Explain: true}
		if v.question != nil {
			query.Text = v.question(i, questions[i])
		}
		want, got := n.ask(ctx, stored, &query), n.ask(ctx, n.search, &query)
		if got := tiers(got); len(got) > 1 || len(got) == 1 && got[0] != search.TierEngine {
			n.Fatalf("%s: %q is searched in %v", v.name, query.Text, got)
		}
		for _, h := range got.Hits {
			if e, ok := documents[h.Document]; !ok || !v.shows(e) {
				n.Errorf("%s: %q finds what it must not: %s", v.name, query.Text, h.URL)
			}
		}
		c.asked++
		c.hits += len(got.Hits)
		if slices.EqualFunc(want.Hits, got.Hits, func(a, b search.Hit) bool {
			return a.Passage == b.Passage && a.Score-b.Score < 0.01 && b.Score-a.Score < 0.01
		}) {
			c.same++
		} else {
			n.Logf("%s: %q differs: %s, want %s", v.name, query.Text, scores(got), scores(want))
		}
	}
	after := n.tier.Stats()
	n.Logf("%s: %+v after %s; %d searches, %d fallbacks, %d doubts", v.name, c, time.Since(began).Round(time.Millisecond),
		after.Searches-before.Searches, after.Fallbacks-before.Fallbacks, after.Doubts-before.Doubts)
	total.asked, total.same, total.hits = total.asked+c.asked, total.same+c.same, total.hits+c.hits
}

func (n *nodes) ask(ctx context.Context, e *search.Engine, q *search.Query) *search.Results {
	n.Helper()
	r, err := e.Search(ctx, n.id.scope, *q)
	if err != nil {
		n.Fatalf("search %q: %v", q.Text, err)
	}
	return r
}

// scores lists the first characters of the hits' passages with their scores.
func scores(r *search.Results) string {
	var b strings.Builder
	for _, h := range r.Hits {
		fmt.Fprintf(&b, " %s %.3f", h.Passage.String()[28:], h.Score)
	}
	return "[" + strings.TrimPrefix(b.String(), " ") + "]"
}
