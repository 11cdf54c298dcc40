package rank

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
)

// Source is what one tier knows about the passages of one collection at one
// moment, seen through one Filter: no method ever tells of a passage that the
// filter leaves out, except the counts of Statistics and Frequencies, which are
// the whole collection's. A Source serves one search and is used by one
// goroutine at a time.
type Source interface {
	// Statistics counts the live passages of the collection, whatever the filter.
	Statistics(ctx context.Context) (Statistics, error)
	// Frequencies returns for each term in how many live passages of the
	// collection it stands, whatever the filter.
	Frequencies(ctx context.Context, terms []string) ([]int, error)
	// Complete returns up to limit terms that start with the prefix, those of
	// most passages first (then by term). The prefix itself is one of them
	// where it is a term.
	Complete(ctx context.Context, prefix string, limit int) ([]string, error)
	// Chance says how similar the vector is to passages of the collection in
	// general: mean and standard deviation over a sample of its passages,
	// always the same one for the same state. A sample of 0 is a collection
	// without vectors of this length.
	Chance(ctx context.Context, vector []float32) (Chance, error)
	// Candidates returns the passages a request is for, each once, in no
	// particular order.
	Candidates(ctx context.Context, r *Request) ([]Candidate, error)
	// Terms returns the terms of passages, in their order, for feedback: those of
	// each passage once, by their bytes.
	Terms(ctx context.Context, passages []Candidate) ([][]TermCount, error)
	// Vectors returns the vectors of passages, in their order, of unit length
	// save for rounding; nil for one without a vector.
	Vectors(ctx context.Context, passages []Candidate) ([][]float32, error)
	// Facets counts documents by the values of their fields.
	Facets(ctx context.Context, r *FacetRequest) (*FacetCounts, error)
}

// Statistics are counts over a collection.
type Statistics struct {
	Documents, Passages int
	BodyWords           int64 // of all passages together
}

// Chance is a distribution of similarities.
type Chance struct {
	Mean, Deviation float64
	Sample          int
}

// Filter narrows a search to some passages. Zero fields do not filter.
type Filter struct {
	// Values are lists by facet: the document's value is one of the list, or
	// one of its tags is. An empty list does not filter, and no list names the
	// value "".
	Values    [FacetCount][]string
	Documents []uuid.UUID
	// From (inclusive) and Until (exclusive) bound index.Entry.Time. A document
	// without a time does not match either.
	From, Until time.Time
	// Readers are the principals of who asks. With nil nothing is checked;
	// otherwise a document is left out whose Readers are not nil and hold none
	// of these.
	Readers []string
	// Phrases must all stand in a passage, each within one field. Excluded ones
	// must not stand in it anywhere.
	Phrases, Excluded []Phrase
}

// Phrase is words in a row: for each place the terms of which any may stand
// there, at positions that follow one another. A phrase of one place is a word.
type Phrase [][]string

// Word is one word of a weighted question. Words of one request have no term in common.
type Word struct {
	Terms  []string // one at least; occurrences of any of them count alike
	Weight float64  // over 0: rarity times the word's share of the question
}

// MaxWords is the most words that a request has.
const MaxWords = 128

// Request asks a Source for candidates: the Best passages by words that have
// any of them, the Nearest by similarity, and the passages in Also (from an
// earlier answer of the same Source), whatever their rank. Words may be given
// without Best, to score the others by.
type Request struct {
	Words []Word
	// Report is how many of the words, from the first on, hits are told of.
	Report int
	// AverageBody is the mean length of bodies in words, for BodyNorm.
	AverageBody float64
	Best        int
	// Vector is of unit length; nil leaves every similarity unknown.
	Vector  []float32
	Nearest int
	Also    []Candidate
	// Brief allows a Source to leave the similarity of passages unknown that are
	// not among the Nearest.
	Brief bool
	// Aside takes work that may be done at the same time; nil for none.
	Aside Aside
	// Memory is where a Source may put what it answers; nil for memory of its own.
	Memory *Memory
}

// Aside has work done by somebody else, if there is somebody with time before it
// is waited for, and returns what waits for its end.
type Aside func(work func()) (wait func())

// Memory keeps the candidates of one answer. The next search that gets it uses
// it again.
type Memory struct {
	candidates []Candidate
	hits       []Hit
}

// Candidates returns room for n, all of them zero.
func (m *Memory) Candidates(n int) []Candidate {
	if m == nil {
		return make([]Candidate, n)
	}
	if cap(m.candidates) < n {
		m.candidates = make([]Candidate, n+n/4)
	}
	out := m.candidates[:n]
	clear(out)
	return out
}

// Hits returns an empty list to append to; Keep takes it back, so that it needs
// not grow again.
func (m *Memory) Hits() []Hit {
	if m == nil {
		return nil
	}
	return m.hits[:0]
}

// Keep takes a list of Hits back.
func (m *Memory) Keep(hits []Hit) {
	if m != nil {
		m.hits = hits
	}
}

// Candidate is a passage that may become a result.
type Candidate struct {
	Passage, Document uuid.UUID
	Ordinal           int32
	Words             [index.FieldCount]int32
	Time              int64 // of the document in Unix seconds, 0 when unknown
	// Lexical is BM25F for the words of the request, see Lexical.
	Lexical float64
	// Similarity is the cosine with the request's vector, NaN when unknown.
	Similarity float64
	// Hits are the occurrences of the first Report words, in the order of
	// their positions. They are valid until the search ends; results have none.
	Hits []Hit
	// Ref is the Source's own mark for the passage.
	Ref uint64
}

// Hit is one occurrence of a word of the request. Its position is that of the
// stored lexeme; index.FieldOf tells its field.
type Hit struct {
	Word, Position uint16
}

// TermCount is how often a term stands in a passage.
type TermCount struct {
	Term   string
	Counts Counts
}

// Counts are how often a word stands in each field, as far as scores can tell:
// at most once in a title, a heading and the path above it, at most MaxBody
// times in a body.
type Counts struct {
	Title, Heading, Path bool
	Body                 uint8
}

// MaxBody is the most occurrences in a body that count.
const MaxBody = 31

// BM25 over fields (Robertson and Zaragoza, The Probabilistic Relevance
// Framework: BM25 and Beyond, 2009): occurrences are weighted by field and added
// up before they are damped. Only the body is normalised by length; titles and
// headings are short.
const (
	K1 = 1.8
	B  = 0.75

	WeightTitle   = 3.0
	WeightHeading = 2.0
	WeightPath    = 1.0
)

// BodyNorm is what a body's occurrences are divided by, for its length.
func BodyNorm(words int32, average float64) float64 {
	if average <= 0 {
		return 1
	}
	return 1 - B + B*float64(words)/average
}

// Damped is a word's share of a passage's score, from 0 to 1: the score is the
// sum over the words of Weight*Damped. Of words with several terms the counts
// are added up first (title, heading and path: whether any term stands there).
func Damped(c Counts, bodyNorm float64) float64 {
	f := float64(c.Body) / bodyNorm
	if c.Title {
		f += WeightTitle
	}
	if c.Heading {
		f += WeightHeading
	}
	if c.Path {
		f += WeightPath
	}
	return f / (K1 + f)
}
