package eval

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/letter"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// Mode is a way to rank that is measured.
type Mode struct {
	Name string
	Rank rank.Mode
}

// Modes are the ways to rank: by words alone, by vectors alone, and as the
// service does.
func Modes() []Mode {
	return []Mode{{"lexical", rank.Lexical}, {"dense", rank.Dense}, {"hybrid", rank.Hybrid}}
}

// Depth is how many documents of a ranking are kept.
const Depth = 100

// Answer is a document with its best score.
type Answer struct {
	Document string
	Score    float64
}

// Run is the rankings of one mode by question.
type Run map[string][]Answer

// Evaluator answers the questions of one set.
type Evaluator struct {
	set   *Set
	index *Index
	// languages tells that every document says its language, so that a question
	// which says its own is put to documents in it.
	languages bool
}

// NewEvaluator indexes the documents of a set. A document's language is what
// its metadata says under "language", else found out from its text, as when a
// file is indexed; "section" and "version" are read likewise.
func NewEvaluator(ctx context.Context, set *Set, a *analysis.Analyzer, e embed.Embedder) (*Evaluator, error) {
	x, err := NewIndex(a, e)
	if err != nil {
		return nil, err
	}
	v := &Evaluator{set: set, index: x, languages: true}
	for i := range set.Documents {
		d := &set.Documents[i]
		if word(d.Metadata, "language") == "" {
			v.languages = false
		}
		if err := x.Add(ctx, d.ID, d.document()); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// leastLetters is how much text must be there to tell its language.
const leastLetters = 40

// leastMargin is how much likelier a language must be than any other, in nats.
const leastMargin = 8

func (d *Document) document() *document.Document {
	out := plain(d.Title, d.Text, word(d.Metadata, "language"))
	out.Section, out.Version = word(d.Metadata, "section"), word(d.Metadata, "version")
	if out.Language == "" && len(d.Text) >= leastLetters {
		if l := letter.Language(d.Text); l.Margin > leastMargin && l.Surprise < 3 {
			out.Language = l.Code
		}
	}
	return out
}

func word(metadata map[string]any, key string) string {
	s, _ := metadata[key].(string)
	return strings.TrimSpace(s)
}

// Ask ranks the set for one question.
func (v *Evaluator) Ask(ctx context.Context, mode rank.Mode, q *Question, least float64) (*rank.Result, error) {
	language := ""
	if v.languages {
		language = word(q.Metadata, "language")
	}
	return v.index.Search(ctx, mode, q.Text, language, least)
}

// Document is the set's id of a result's document.
func (v *Evaluator) Document(r *rank.Ranked) string { return v.index.Document(r) }

// Run answers every judged question. A document's score is that of its best passage.
func (v *Evaluator) Run(ctx context.Context, mode rank.Mode) (Run, error) {
	run := make(Run)
	for i := range v.set.Questions {
		q := &v.set.Questions[i]
		if v.set.Judged[q.ID] == nil {
			continue
		}
		found, err := v.Ask(ctx, mode, q, 0)
		if err != nil {
			return nil, fmt.Errorf("question %s: %w", q.ID, err)
		}
		seen := make(map[string]bool)
		for j := range found.Ranked {
			r := &found.Ranked[j]
			if id := v.Document(r); !seen[id] && len(run[q.ID]) < Depth {
				seen[id] = true
				run[q.ID] = append(run[q.ID], Answer{id, r.Score})
			}
		}
	}
	return run, nil
}

// Figures measures a run.
func (v *Evaluator) Figures(run Run) Figures {
	ranked := make(map[string][]string, len(run))
	for question, answers := range run {
		for _, a := range answers {
			ranked[question] = append(ranked[question], a.Document)
		}
	}
	return Measure(v.set.Judged, ranked)
}

// Write writes a run as TREC has it: question, Q0, document, rank, score, tag.
// Scores fall strictly, so that a scorer which orders by them keeps the order.
func (r Run) Write(w io.Writer, set *Set, tag string) error {
	out := bufio.NewWriter(w)
	for i := range set.Questions {
		id := set.Questions[i].ID
		for n, a := range r[id] {
			// Equal scores are told apart by the rank, far below what a score means.
			if _, err := fmt.Fprintf(out, "%s Q0 %s %d %.9f %s\n", id, a.Document, n+1, a.Score-float64(n)*1e-9, tag); err != nil {
				return fmt.Errorf("write a run: %w", err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write a run: %w", err)
	}
	return nil
}
