package rank

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

// A Source is one collection as one tier sees it at one moment through one
// Filter. Its methods report only passages that the filter selects. Statistics
// and DocumentFrequencies are the exception: they count the whole collection. A
// Source serves one search and is used by one goroutine at a time.
type Source interface {
	// Statistics counts the live passages of the collection, whatever the filter.
	Statistics(ctx context.Context) (Statistics, error)
	// DocumentFrequencies returns, for each term, the number of live passages of
	// the collection that contain it, whatever the filter.
	DocumentFrequencies(ctx context.Context, terms []string) ([]int, error)
	// Complete returns up to limit terms that start with the prefix, by falling
	// document frequency, then by term. The prefix itself is one of them if it is
	// a term.
	Complete(ctx context.Context, prefix string, limit int) ([]string, error)
	// Similar returns up to limit terms that the pattern finds in the passages that the
	// filter selects, in the order of CompareSimilar.
	Similar(ctx context.Context, p *spelling.Pattern, limit int) ([]SimilarTerm, error)
	// Contains reports for each term whether a passage that the filter selects has it.
	Contains(ctx context.Context, terms []string) ([]bool, error)
	// Background returns the distribution of the vector's similarities to a sample
	// of the collection's passages. The sample is the same for the same state of
	// the collection. Its size is 0 if the collection has no vectors of this
	// length.
	Background(ctx context.Context, vector []float32) (Background, error)
	// Candidates returns the passages that the request asks for, each once, in no
	// particular order.
	Candidates(ctx context.Context, r *Request) ([]Candidate, error)
	// Terms returns the terms of each passage, ordered by their bytes and each
	// once.
	Terms(ctx context.Context, passages []Candidate) ([][]TermCount, error)
	// Vectors returns the vector of each passage, of unit length up to rounding;
	// nil for a passage without one.
	Vectors(ctx context.Context, passages []Candidate) ([][]float32, error)
	// Editions returns what tells whether passages repeat each other.
	Editions(ctx context.Context, passages []Candidate) ([]Edition, error)
	// Facets counts documents by the values of their fields.
	Facets(ctx context.Context, r *FacetRequest) (*FacetCounts, error)
}

// An Edition is a passage as one of several with the same text, or nearly the same. It is
// zero for a passage that is gone.
type Edition struct {
	index.Fingerprint
	Version string // of the document, "" if it has none
}

// A SimilarTerm is a term that a misspelled word may have been meant for.
type SimilarTerm struct {
	Term      string
	Distance  int // number of errors
	Frequency int // number of selected passages that have it; a large collection estimates it
}

// CompareSimilar orders terms by rising distance, then by falling frequency, then by
// their bytes.
func CompareSimilar(a, b SimilarTerm) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(b.Frequency, a.Frequency), cmp.Compare(a.Term, b.Term))
}

// Statistics are counts over a collection.
type Statistics struct {
	Documents, Passages int
	BodyWords           int64 // words in the bodies of all passages
}

// Background is the distribution of a vector's similarities to unrelated texts.
type Background struct {
	Mean, StdDev float64
	SampleSize   int
}

// A Filter narrows a search to some passages. Zero fields do not filter.
type Filter struct {
	// Values selects documents by facet: the document's value, or one of its tags,
	// must be in the list. An empty list selects every document, and no list holds
	// the value "".
	Values    [FacetCount][]string
	Documents []uuid.UUID
	// From (inclusive) and Until (exclusive) bound index.Entry.Time. A document
	// without a time does not match either.
	From, Until time.Time
	// Readers are the principals of the reader. Nil selects every document. A list
	// excludes each document whose Readers are not nil and hold none of these
	// principals.
	Readers []string
	// Each of Phrases must occur in a passage, within one field. None of Excluded
	// may occur in it.
	Phrases, Excluded []Phrase
}

// A Phrase is a sequence of words at consecutive positions. Each element lists
// the terms of which any may stand at that position. A phrase of one element is a
// word.
type Phrase [][]string

// A Word is one word of a query with its weight. The words of one request have no
// term in common.
type Word struct {
	Terms  []string // one at least; an occurrence of any of them counts alike
	Weight float64  // the query term weight: above 0, idf times the word's share of the query
}

// MaxWords is the largest number of words in a request.
const MaxWords = 128

// A Request asks a Source for candidates: the TopLexical passages with the best
// lexical scores, the TopSimilar passages with the most similar vectors, and all
// of Rescore. With TopLexical 0 the words only score the other candidates.
type Request struct {
	Words []Word
	// MatchWords is the number of leading words whose occurrences are reported as
	// Candidate.Matches.
	MatchWords int
	// AverageBody is the mean length of bodies in words, for LengthNorm.
	AverageBody float64
	TopLexical  int
	// Vector is of unit length. With nil every similarity is unknown.
	Vector     []float32
	TopSimilar int
	// Rescore are candidates of an earlier answer of the same Source. They are
	// candidates again, whatever their score.
	Rescore []Candidate
	// OmitSimilarity lets the Source leave the similarity of a candidate unknown
	// unless the candidate is among the TopSimilar.
	OmitSimilarity bool
	// Buffers hold the answer; nil allocates new memory.
	Buffers *Buffers
}

// Buffers are the memory of one answer, reused by later searches. A nil *Buffers
// allocates each time.
type Buffers struct {
	candidates []Candidate
	matches    []Match
}

// Candidates returns n zero candidates.
func (b *Buffers) Candidates(n int) []Candidate {
	if b == nil {
		return make([]Candidate, n)
	}
	if cap(b.candidates) < n {
		b.candidates = make([]Candidate, n+n/4)
	}
	out := b.candidates[:n]
	clear(out)
	return out
}

// Matches returns an empty list to append to. SetMatches takes the grown list back.
func (b *Buffers) Matches() []Match {
	if b == nil {
		return nil
	}
	return b.matches[:0]
}

// SetMatches keeps a grown list of matches for the next search.
func (b *Buffers) SetMatches(matches []Match) {
	if b != nil {
		b.matches = matches
	}
}

// A Candidate is a passage that may become a result.
type Candidate struct {
	Passage, Document uuid.UUID
	Ordinal           int32
	FieldWords        [index.FieldCount]int32 // length of each field
	Time              int64                   // of the document in Unix seconds, 0 when unknown
	// Lexical is the BM25F score for the words of the request.
	Lexical float64
	// Similarity is the cosine with the request's vector, NaN when unknown.
	Similarity float64
	// Matches are the occurrences of the first MatchWords words, ordered by position.
	// They are valid until the search ends; results have none.
	Matches []Match
	// Ref identifies the passage within its Source.
	Ref uint64
}

// A Match is one occurrence of a word of the request. The position is that of the
// stored lexeme; index.FieldOf returns its field.
type Match struct {
	Word, Position uint16
}

// TermCount is a term with its occurrences in one passage.
type TermCount struct {
	Term   string
	Counts Counts
}

// Counts are the occurrences of a word in each field, as far as they affect a
// score: at most one in the title, the heading and the heading path, and at most
// MaxBody in the body.
type Counts struct {
	Title, Heading, Path bool
	Body                 uint8
}

// MaxBody is the largest number of occurrences in a body that affects a score.
const MaxBody = 31

// The parameters of BM25F (Robertson and Zaragoza, The Probabilistic Relevance
// Framework: BM25 and Beyond, 2009). Occurrences are weighted by field and added
// up before saturation. Only the body is normalised by length; titles and headings
// are short.
const (
	K1 = 1.8
	B  = 0.75

	WeightTitle   = 3.0
	WeightHeading = 2.0
	WeightPath    = 1.0
)

// LengthNorm returns the divisor of occurrences in a body of so many words.
func LengthNorm(words int32, average float64) float64 {
	if average <= 0 {
		return 1
	}
	return 1 - B + B*float64(words)/average
}

// Saturation returns BM25F's term frequency factor, from 0 to 1. The lexical score
// of a passage is the sum of Weight*Saturation over the words. The counts of a
// word with several terms are added up first; title, heading and path are set if
// any of the terms occurs there.
func Saturation(c Counts, lengthNorm float64) float64 {
	f := float64(c.Body) / lengthNorm
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
