package eval

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
)

// An Index is a collection in memory. Its documents are split, embedded and analyzed by
// the code of the service.
type Index struct {
	analyzer *analysis.Analyzer
	embedder embed.Embedder
	ranker   *rank.Ranker
	change   *resident.Change
	snapshot *resident.Snapshot
	ids      map[uuid.UUID]string
	passages map[uuid.UUID]search.Hit
}

// NewIndex returns an empty Index. All documents must be added before the first search.
func NewIndex(a *analysis.Analyzer, e embed.Embedder) (*Index, error) {
	x := &Index{analyzer: a, embedder: e, ranker: rank.New(), ids: make(map[uuid.UUID]string), passages: make(map[uuid.UUID]search.Hit)}
	x.change = resident.New(resident.Options{}).Change()
	if err := x.change.Begin(index.Position{Generation: 1, Change: 1}, e.Model(), true); err != nil {
		return nil, fmt.Errorf("create an index: %w", err)
	}
	return x, nil
}

// Add indexes a document under an id. It ignores a document without text.
func (x *Index) Add(ctx context.Context, id string, d *document.Document) error {
	text, spans := d.Render()
	passages := passage.SplitText(d, text, spans, passage.Options{})
	if len(passages) == 0 {
		return nil
	}
	texts := make([]string, len(passages))
	for i := range passages {
		texts[i] = ingest.EmbeddingInput(d.Title, &passages[i])
	}
	vectors, err := x.embedder.Embed(ctx, texts, embed.Passage)
	if err != nil {
		return fmt.Errorf("index %s: %w", id, err)
	}
	r := &index.Record{
		Connector: gid.New(gid.Connector), Collection: gid.New(gid.Collection), Document: gid.New(gid.Document),
		SourceID: "-" + safetext.TruncateBytes(id, maxID), Path: safetext.TruncateBytes(id, maxID), Title: d.Title, Section: d.Section, Version: d.Version,
		Language: d.Language, DocType: d.DocType, Tags: d.Tags, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
		Text: text, Passages: passages, Vectors: vectors, Model: x.embedder.Model(),
	}
	entry, err := index.Preview(x.analyzer, r)
	if err != nil {
		return fmt.Errorf("index %s: %w", id, err)
	}
	// Ids order equal scores and select the sample of the background. Deterministic ids
	// give a set the same figures each time.
	entry.Document = uuid.NewSHA1(uuid.Nil, []byte(id))
	for i := range entry.Passages {
		id := uuid.NewSHA1(entry.Document, []byte(strconv.Itoa(i)))
		entry.Passages[i].ID = id
		x.passages[id] = search.Hit{
			Passage: id, Document: entry.Document, Title: d.Title, Headings: passages[i].Headings, Text: passages[i].Text,
			Section: d.Section, Version: d.Version, Language: d.Language, DocType: d.DocType, Tags: d.Tags, Page: passages[i].Page,
		}
	}
	if err := x.change.Entry(entry); err != nil {
		return fmt.Errorf("index %s: %w", id, err)
	}
	x.ids[entry.Document] = id
	return nil
}

// maxID is the length of ids in bytes that fits in a source id.
const maxID = 1000

// Passages returns the number of passages.
func (x *Index) Passages() int { return len(x.passages) }

// Search ranks the passages for a question. The language narrows to documents in it; ""
// does not.
func (x *Index) Search(ctx context.Context, mode rank.Mode, text, language string, minScore float64) (*rank.Ranking, error) {
	ranking, _, err := x.respellAndSearch(ctx, mode, text, language, minScore)
	return ranking, err
}

// respellAndSearch is Search that also returns the question as it was searched for.
func (x *Index) respellAndSearch(ctx context.Context, mode rank.Mode, text, language string, minScore float64) (*rank.Ranking, *rank.Respelling, error) {
	if x.snapshot == nil {
		var err error
		if x.snapshot, err = x.change.Commit(); err != nil {
			return nil, nil, fmt.Errorf("finish the index: %w", err)
		}
	}
	question := rank.NewQuestion(x.analyzer, text, language, false)
	filter := &rank.Filter{}
	if language != "" {
		filter.Values[rank.FacetLanguage] = []string{language}
	}
	question.Restrict(filter)
	part := rank.Part{Source: x.snapshot.View(filter), Languages: x.snapshot.Languages()}
	speller := rank.Speller{Analyzer: x.analyzer, Texts: x.passageTexts}
	if v, ok := x.embedder.(embed.Vocabulary); ok {
		part.Knows = v.Knows
		speller.Knows = func(word string) bool { return v.Knows(word) == 1 }
	}
	respelling, err := speller.Respell(ctx, []rank.Part{part}, question)
	if err != nil {
		return nil, nil, fmt.Errorf("correct the spelling: %w", err)
	}
	question = respelling.Question
	vectors, err := x.embedder.Embed(ctx, []string{question.Text()}, embed.Query)
	if err != nil {
		return nil, nil, fmt.Errorf("embed the question: %w", err)
	}
	if len(vectors) != 1 {
		return nil, nil, errors.New("embed the question: no vector")
	}
	part.Vector = vectors[0]
	ranking, err := x.ranker.Search(ctx, []rank.Part{part}, question, rank.Options{Mode: mode, MinScore: minScore})
	return ranking, respelling, err
}

// passageTexts returns the texts of passages.
func (x *Index) passageTexts(_ context.Context, _ int, passages []rank.Candidate) ([]rank.Text, error) {
	out := make([]rank.Text, len(passages))
	for i, c := range passages {
		hit := x.passages[c.Passage]
		out[i] = rank.Text{Text: hit.Title + "\n" + hit.Text, Language: hit.Language}
	}
	return out, nil
}

// Document returns the id under which a result's document was added.
func (x *Index) Document(r *rank.Result) string { return x.ids[r.Document] }

// Hits returns the first results with their texts.
func (x *Index) Hits(r *rank.Ranking, limit int) []search.Hit {
	hits := make([]search.Hit, min(limit, len(r.Results)))
	for i := range hits {
		hits[i] = x.passages[r.Results[i].Passage]
		hits[i].Score = r.Results[i].Score
	}
	return hits
}

// plainText returns a document with a title and a text whose paragraphs are separated by
// empty lines.
func plainText(title, text, language string) *document.Document {
	d := &document.Document{Title: title, Language: language, Format: "text", DocType: "text"}
	for _, paragraph := range strings.Split(text, "\n\n") {
		if strings.TrimSpace(paragraph) != "" {
			d.Blocks = append(d.Blocks, document.Block{Kind: document.Paragraph, Text: paragraph})
		}
	}
	return d
}
