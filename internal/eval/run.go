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

// A Mode of ranking with its name.
type Mode struct {
	Name string
	Rank rank.Mode
}

// Modes returns the modes that are measured: words alone, vectors alone, and the mode of the
// service.
func Modes() []Mode {
	return []Mode{{"lexical", rank.Lexical}, {"dense", rank.Dense}, {"hybrid", rank.Hybrid}}
}

// Depth is the number of documents in a ranking.
const Depth = 100

// A ScoredDocument is a document with its best score.
type ScoredDocument struct {
	Document string
	Score    float64
}

// A Run is the ranked documents of each question, by question id.
type Run map[string][]ScoredDocument

// An Evaluator searches one set.
type Evaluator struct {
	set   *Set
	index *Index
	// filterLanguage says that every document has a language, so that a question with a
	// language is searched for in documents of that language.
	filterLanguage bool
}

// NewEvaluator indexes the documents of a set. "language", "section" and "version" are read
// from a document's metadata. A language that is not there is detected from the text, as for
// a file.
func NewEvaluator(ctx context.Context, set *Set, a *analysis.Analyzer, e embed.Embedder) (*Evaluator, error) {
	x, err := NewIndex(a, e)
	if err != nil {
		return nil, err
	}
	v := &Evaluator{set: set, index: x, filterLanguage: true}
	for i := range set.Documents {
		d := &set.Documents[i]
		if metadataText(d.Metadata, "language") == "" {
			v.filterLanguage = false
		}
		if err := x.Add(ctx, d.ID, d.document()); err != nil {
			return nil, err
		}
	}
	return v, nil
}

const (
	// minLanguageBytes is the least text of which the language is detected.
	minLanguageBytes = 40
	// minMargin is the least margin of a detected language over any other, in nats, and
	// maxSurprise its largest surprise.
	minMargin   = 8
	maxSurprise = 3
)

func (d *Document) document() *document.Document {
	out := plainText(d.Title, d.Text, metadataText(d.Metadata, "language"))
	out.Section, out.Version = metadataText(d.Metadata, "section"), metadataText(d.Metadata, "version")
	if out.Language == "" && len(d.Text) >= minLanguageBytes {
		if l := letter.Language(d.Text); l.Margin > minMargin && l.Surprise < maxSurprise {
			out.Language = l.Code
		}
	}
	return out
}

// metadataText returns a text of the metadata; "" if there is none.
func metadataText(metadata map[string]any, key string) string {
	s, _ := metadata[key].(string)
	return strings.TrimSpace(s)
}

// Search ranks the set for one question.
func (v *Evaluator) Search(ctx context.Context, mode rank.Mode, q *Question, minScore float64) (*rank.Ranking, error) {
	language := ""
	if v.filterLanguage {
		language = metadataText(q.Metadata, "language")
	}
	return v.index.Search(ctx, mode, q.Text, language, minScore)
}

// Document returns the set's id of a result's document.
func (v *Evaluator) Document(r *rank.Result) string { return v.index.Document(r) }

// Run ranks the documents for every judged question. A document has the score of its best
// passage.
func (v *Evaluator) Run(ctx context.Context, mode rank.Mode) (Run, error) {
	run := make(Run)
	for i := range v.set.Questions {
		q := &v.set.Questions[i]
		if v.set.Judged[q.ID] == nil {
			continue
		}
		ranking, err := v.Search(ctx, mode, q, 0)
		if err != nil {
			return nil, fmt.Errorf("question %s: %w", q.ID, err)
		}
		run[q.ID] = v.documents(ranking)
	}
	return run, nil
}

// documents returns the documents of a ranking in their order, at most Depth, each with
// the score of its first passage.
func (v *Evaluator) documents(ranking *rank.Ranking) []ScoredDocument {
	var documents []ScoredDocument
	seen := make(map[string]bool)
	for i := range ranking.Results {
		if len(documents) == Depth {
			break
		}
		r := &ranking.Results[i]
		if id := v.Document(r); !seen[id] {
			seen[id] = true
			documents = append(documents, ScoredDocument{id, r.Score})
		}
	}
	return documents
}

// ranked returns the ids of the documents of each question.
func (r Run) ranked() map[string][]string {
	ranked := make(map[string][]string, len(r))
	for question, documents := range r {
		for _, d := range documents {
			ranked[question] = append(ranked[question], d.Document)
		}
	}
	return ranked
}

// Figures measures a run.
func (v *Evaluator) Figures(run Run) Figures { return Measure(v.set.Judged, run.ranked()) }

// FiguresByLanguage measures a run for the questions of each language, if all documents
// and questions name theirs.
func (v *Evaluator) FiguresByLanguage(run Run) map[string]Figures {
	if !v.filterLanguage {
		return nil
	}
	judged := make(map[string]map[string]map[string]int)
	for i := range v.set.Questions {
		q := &v.set.Questions[i]
		language := metadataText(q.Metadata, "language")
		if language == "" {
			return nil
		}
		if judged[language] == nil {
			judged[language] = make(map[string]map[string]int)
		}
		if grades := v.set.Judged[q.ID]; grades != nil {
			judged[language][q.ID] = grades
		}
	}
	ranked := run.ranked()
	figures := make(map[string]Figures, len(judged))
	for language, grades := range judged {
		figures[language] = Measure(grades, ranked)
	}
	return figures
}

// Write writes a run in TREC's format: question, Q0, document, rank, score, tag. Scores fall
// strictly, so that sorting by score keeps the order.
func (r Run) Write(w io.Writer, set *Set, tag string) error {
	out := bufio.NewWriter(w)
	for i := range set.Questions {
		id := set.Questions[i].ID
		for n, d := range r[id] {
			// The rank separates equal scores by far less than a score means.
			if _, err := fmt.Fprintf(out, "%s Q0 %s %d %.9f %s\n", id, d.Document, n+1, d.Score-float64(n)*1e-9, tag); err != nil {
				return fmt.Errorf("write a run: %w", err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write a run: %w", err)
	}
	return nil
}
