package rank

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/tracing"
)

// PoolSize is the largest number of candidates that are ranked. Passages beyond it
// are neither counted nor paged to.
const PoolSize = 1000

// Mode selects the evidence that passages are ranked by.
type Mode uint8

// The modes. All but Hybrid are for measuring: their scores are no confidences.
const (
	Hybrid  Mode = iota // all evidence
	Lexical             // BM25F of the question's words alone
	Dense               // the similarity of vectors alone
)

// A Part is one collection of a search.
type Part struct {
	Source Source
	// Tier names the tier of the source in traces.
	Tier string
	// Vector is the question's by the collection's model. With nil the collection
	// is searched by words alone.
	Vector []float32
	// Background is the model's own, for collections with too few passages to
	// sample.
	Background Background
	// Semantic says that the model encodes meaning, so that similarity may support
	// a passage without a word of the question.
	Semantic bool
	// Knows returns the share of a word, from 0 to 1, that the model's vector of a
	// text depends on. It is nil for a model that knows every word.
	Knows func(word string) float64
	// Languages are those of the documents, "" among them for documents of unknown
	// language; nil if they are not known.
	Languages []string
	// Readable returns the collection through a filter that selects what the viewer may
	// read. It is nil if the viewer may read everything.
	Readable func(context.Context) (Source, error)
}

// Options of one search.
type Options struct {
	Mode Mode
	// MinScore is the lowest score of a result. With 0 every candidate is a result,
	// and the passages of a document are not limited.
	MinScore float64
	// Lenient keeps results below MinScore that have a word of the question.
	Lenient bool
	// Now is the reference time of freshness in Unix seconds; 0 ignores freshness.
	Now int64
	// Limit is the largest number of results returned; 0 returns all.
	Limit int
	// Explain asks for the explanations of the results, in the mode Hybrid.
	Explain bool
	// Trace is a document whose candidates Ranking.Traced lists, with explanations;
	// uuid.Nil for none. It needs the mode Hybrid.
	Trace uuid.UUID
}

// A Result is a candidate with its part and its score.
type Result struct {
	Candidate
	Part        int
	Score       float64 // 0 to 1
	Evidence    Evidence
	Explanation *Explanation // nil unless asked for
}

// A Ranking is the outcome of a search.
type Ranking struct {
	// Results are ordered by falling score, then by passage id.
	Results []Result
	// Total is the number of results before Options.Limit.
	Total int
	// Terms are the question's terms and the completions of its last word.
	Terms []string
	// Words are the question's words with their weights.
	Words []Word
	// Query is the evidence of the search as a whole.
	Query QueryEvidence
	// Traced are the candidates of Options.Trace, best first.
	Traced []Traced
}

// A Ranker ranks passages. It is safe for concurrent use and keeps only scratch
// memory between searches.
type Ranker struct {
	scratch sync.Pool // of *scratch
}

// scratch is the memory of one search, reused by later ones.
type scratch struct {
	firstPass, secondPass []Buffers // by part
	scored                []scored
	keys, sorted          []sortKey
	packed                []uint64
	documents             map[uuid.UUID]int // number of results, by document
	lexicalOrder          []lexicalEntry
	feedbackTerms         []feedbackTerm
	feedback              []float64
	logOdds               []float64
}

func (m *scratch) grow(parts int) {
	for len(m.firstPass) < parts {
		m.firstPass, m.secondPass = append(m.firstPass, Buffers{}), append(m.secondPass, Buffers{})
	}
}

// New returns a Ranker.
func New() *Ranker { return new(Ranker) }

// Search ranks the passages of the parts. It does not change the question.
func (r *Ranker) Search(ctx context.Context, parts []Part, q *Question, opt Options) (*Ranking, error) {
	m, ok := r.scratch.Get().(*scratch)
	if !ok {
		m = new(scratch)
	}
	defer func() {
		clear(m.feedbackTerms) // their strings would keep an index in memory
		r.scratch.Put(m)
	}()
	m.grow(len(parts))
	s := search{ranker: r, parts: parts, question: q, opt: opt, scratch: m}
	if err := s.weightWords(ctx); err != nil {
		return nil, err
	}
	if err := s.firstPass(ctx); err != nil {
		return nil, err
	}
	if opt.Mode == Hybrid {
		if err := s.secondPass(ctx); err != nil {
			return nil, err
		}
	}
	results, total := s.rank()
	if opt.Explain && opt.Mode == Hybrid {
		if err := s.explain(ctx, results); err != nil {
			return nil, err
		}
	}
	if len(s.traced) > 0 {
		if err := s.explainTraced(ctx); err != nil {
			return nil, err
		}
	}
	return &Ranking{Results: results, Total: total, Terms: s.terms, Words: s.words, Query: s.query, Traced: s.traced}, nil
}

// search is the state of one search.
type search struct {
	ranker      *Ranker
	parts       []Part
	question    *Question
	opt         Options
	scratch     *scratch
	words       []Word    // of the question, weighted by idf and count
	surfaces    []string  // of the words
	known       []float64 // by part, the share of the question that its model knows
	terms       []string
	totalWeight float64 // of the words
	chance      chanceModel
	length      float64 // of the question: the sum of the words' counts
	averageBody float64 // mean length of bodies in words
	backgrounds []Background
	pools       [][]Candidate // by part
	feedback    feedback
	query       QueryEvidence
	traced      []Traced
}

// weightWords completes the last word and weights the words by their idf over all
// parts together.
func (s *search) weightWords(ctx context.Context) error {
	var passages int
	var bodyWords int64
	for _, p := range s.parts {
		n, err := p.Source.Statistics(ctx)
		if err != nil {
			return err
		}
		passages += n.Passages
		bodyWords += n.BodyWords
	}
	if passages > 0 {
		s.averageBody = float64(bodyWords) / float64(passages)
	}
	s.query.Passages, s.chance.passages = passages, max(passages, minChancePassages)
	words := make([][]string, len(s.question.words))
	for i, w := range s.question.words {
		words[i] = w.terms
		switch {
		case i == s.question.unfinished:
			var err error
			if words[i], err = s.lastWord(ctx, w.terms); err != nil {
				return err
			}
		case w.lone:
			completions, err := s.complete(ctx, w.terms[0])
			if err != nil {
				return err
			}
			words[i] = union(w.terms, completions)
		}
	}
	s.terms = slices.Concat(words...)
	frequencies, err := s.documentFrequencies(ctx, s.terms)
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(s.terms))
	for i, terms := range words {
		frequency := 0
		unseen := terms[:0:0]
		for j, term := range terms {
			if !seen[term] {
				seen[term] = true
				unseen = append(unseen, term)
				frequency += frequencies[j]
			}
		}
		frequencies = frequencies[len(terms):]
		if len(unseen) == 0 {
			continue // earlier words have all of its terms
		}
		w := &s.question.words[i]
		s.words = append(s.words, Word{Terms: unseen, Weight: idf(passages+extraPassages, frequency) * w.count})
		s.chance.add(chanceWord{idf(s.chance.passages, frequency) * w.count, min(frequency, passages)})
		s.length += w.count
		s.surfaces = append(s.surfaces, w.surface)
	}
	s.limitWords()
	for _, w := range s.words {
		s.totalWeight += w.Weight
	}
	s.query.Information, s.query.ChanceCoverage, s.query.Absent = s.chance.information(), s.chance.coverage(), s.chance.absent()
	return nil
}

// limitWords leaves the maxQuestionWords words with the greatest weights.
func (s *search) limitWords() {
	if len(s.words) <= maxQuestionWords {
		return
	}
	weights := make([]float64, len(s.words))
	for i, w := range s.words {
		weights[i] = w.Weight
	}
	slices.SortFunc(weights, descending)
	least := weights[maxQuestionWords-1]
	words, surfaces := s.words[:0], s.surfaces[:0]
	chance := chanceModel{passages: s.chance.passages}
	for i, w := range s.words {
		if w.Weight >= least && len(words) < maxQuestionWords {
			words, surfaces = append(words, w), append(surfaces, s.surfaces[i])
			chance.add(s.chance.words[i])
		}
	}
	s.words, s.surfaces, s.chance = words, surfaces, chance
}

// knownShare returns the share of the question that a part's model knows, from 0 to
// 1: that of its words, weighted by idf.
func (s *search) knownShare(part int) float64 {
	knows := s.parts[part].Knows
	if knows == nil || len(s.parts[part].Vector) == 0 || s.totalWeight == 0 {
		return 1
	}
	known := 0.0
	for i, w := range s.words {
		known += w.Weight * knows(s.surfaces[i])
	}
	return known / s.totalWeight
}

// documentFrequencies returns the document frequency of each term over all parts
// together.
func (s *search) documentFrequencies(ctx context.Context, terms []string) ([]int, error) {
	sums := make([]int, len(terms))
	for _, p := range s.parts {
		n, err := p.Source.DocumentFrequencies(ctx, terms)
		if err != nil {
			return nil, err
		}
		for i := range sums {
			sums[i] += n[i]
		}
	}
	return sums, nil
}

// The sizes of a part's candidate pool in a search with a minimum score. Passages
// beyond them are seldom results, and almost never the first. More candidates of a
// large collection would take time that the order of the first results does not
// repay.
const (
	largeCollection = 50_000 // passages of all parts; larger ones have the smaller pool

	poolLexical, poolSimilar           = PoolSize - 300, 300
	smallPoolLexical, smallPoolSimilar = 300, 120
)

// firstPass fills the pools with the passages that match best by words and by
// vectors.
func (s *search) firstPass(ctx context.Context) error {
	s.pools = make([][]Candidate, len(s.parts))
	s.backgrounds = make([]Background, len(s.parts))
	s.known = make([]float64, len(s.parts))
	for i, p := range s.parts {
		s.known[i] = s.knownShare(i)
		r := &Request{
			Words: s.words, AverageBody: s.averageBody, TopLexical: poolLexical,
			Vector: p.Vector, TopSimilar: poolSimilar, Buffers: &s.scratch.firstPass[i],
		}
		if s.query.Passages > largeCollection {
			r.TopLexical, r.TopSimilar = smallPoolLexical, smallPoolSimilar
		}
		switch {
		case s.opt.MinScore <= 0:
			r.TopLexical, r.TopSimilar = PoolSize, PoolSize // every candidate is a result
		case len(p.Vector) == 0:
			r.TopLexical += r.TopSimilar // no passage is similar
		}
		switch s.opt.Mode {
		case Lexical:
			r.Vector, r.TopSimilar, r.TopLexical = nil, 0, PoolSize
		case Dense:
			r.Words, r.TopLexical, r.TopSimilar = nil, 0, PoolSize
		case Hybrid:
			r.OmitSimilarity = true // the second pass computes all of them
			var err error
			if s.backgrounds[i], err = s.background(ctx, i, p.Vector); err != nil {
				return err
			}
		}
		if err := s.fillPool(ctx, i, r); err != nil {
			return err
		}
	}
	return nil
}

// fillPool replaces a part's pool by the answer to a request. An empty request
// leaves the pool as it is.
func (s *search) fillPool(ctx context.Context, part int, r *Request) error {
	if len(r.Words) == 0 && len(r.Vector) == 0 && len(r.Rescore) == 0 {
		return nil
	}
	start := time.Now()
	candidates, err := s.parts[part].Source.Candidates(ctx, r)
	if tracing.From(ctx) != nil {
		tracing.After(ctx, tracing.Internal, "search candidates", start, err,
			slog.String("magpie.search.tier", s.parts[part].Tier), slog.Int("magpie.search.candidates", len(candidates)))
	}
	if err != nil {
		return err
	}
	s.pools[part] = candidates
	return nil
}

// minStdDev keeps a model that gives all unrelated texts nearly the same similarity
// from turning noise into confidence.
const minStdDev = 0.01

// minSampleSize is the smallest sample that is a background. In a smaller one the
// passage that answers would be background, too.
const minSampleSize = 64

// background returns the distribution of a vector's similarities to the passages of
// a part. A part with few passages has the model's own background.
func (s *search) background(ctx context.Context, part int, vector []float32) (Background, error) {
	if len(vector) == 0 {
		return Background{StdDev: 1}, nil
	}
	b, err := s.parts[part].Source.Background(ctx, vector)
	if err != nil {
		return Background{}, err
	}
	if model := s.parts[part].Background; b.SampleSize < minSampleSize && model.StdDev > 0 {
		b = model
	}
	if b.SampleSize == 0 {
		b.StdDev = 1
	}
	b.StdDev = max(b.StdDev, minStdDev)
	return b, nil
}

// zScore returns a similarity in standard deviations above the background's mean,
// which makes models and collections comparable; NaN when the similarity is
// unknown.
func (s *search) zScore(part int, similarity float64) float64 {
	return (similarity - s.backgrounds[part].Mean) / s.backgrounds[part].StdDev
}

// countMatches adds up the matches of each word in a passage. Matches of different terms of
// one word at one position count once each.
func countMatches(matches []Match, counts []Counts) {
	clear(counts)
	for _, h := range matches {
		c := &counts[h.Word]
		switch index.FieldOf(h.Position) {
		case index.FieldTitle:
			c.Title = true
		case index.FieldHeading:
			c.Heading = true
		case index.FieldPath:
			c.Path = true
		default:
			if c.Body < MaxBody {
				c.Body++
			}
		}
	}
}
