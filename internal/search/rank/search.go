package rank

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/quickselect"
)

// PoolSize is the most candidates that are ranked: what is beyond is not counted
// and cannot be paged to.
const PoolSize = 1000

// perDocument is how many passages of a document the ranked list has at most.
const perDocument = 3

// Mode says by what passages are ranked.
type Mode uint8

// The modes. All but Hybrid are for measuring: their scores are no confidences.
const (
	Hybrid  Mode = iota // everything that speaks for a passage
	Lexical             // BM25F of the question's words alone
	Dense               // the similarity of vectors alone
)

// Part is one collection that is searched.
type Part struct {
	Source Source
	// Vector is the question's by the collection's model; nil searches by words alone.
	Vector []float32
	// Chance is the model's own idea of unrelated texts, for collections of
	// too few passages to tell.
	Chance Chance
	// Meaning tells that the model knows meanings, so that similarity may carry
	// a passage without a word of the question.
	Meaning bool
}

// Options of one search.
type Options struct {
	Mode Mode
	// Least is the score that results must have; 0 returns everything and does
	// not limit the passages of a document.
	Least float64
	// Now is what freshness is reckoned from, in Unix seconds; 0 leaves it out.
	Now int64
	// Most is how many results are told of; 0 is all.
	Most int
	// Aside takes work that may be done at the same time; nil for none.
	Aside Aside
}

// Ranked is a result: a candidate, the part it is from, and its score.
type Ranked struct {
	Candidate
	Part  int
	Score float64 // 0 to 1
	// Evidence is what the score was made of.
	Evidence Evidence
}

// Result is what a search found, best first.
type Result struct {
	Ranked []Ranked
	// Total is how many results there are, told of or not.
	Total int
	// Terms are the question's terms, with those that its last word was
	// completed to.
	Terms []string
	// Query is what the whole question says about how sure to be.
	Query QueryEvidence
}

// Ranker ranks. It is safe for concurrent use and keeps nothing but memory
// between searches.
type Ranker struct {
	stops  map[string]bool // terms of stop words, which feedback leaves out
	memory sync.Pool       // of *memory
}

// memory is what one search writes to and the next one uses again.
type memory struct {
	first, again []Memory // by part
	found        []found
	keys, sorted []keyed
	roughly      []uint64
	documents    map[uuid.UUID]int // how many results each has
	order        []ranking
	shares       []shares
	learned      []float64
	certain      []float64
}

func (m *memory) forParts(n int) {
	for len(m.first) < n {
		m.first, m.again = append(m.first, Memory{}), append(m.again, Memory{})
	}
}

// New makes a Ranker. The analyzer must be the kind that documents are indexed with.
func New(a *analysis.Analyzer) *Ranker {
	r := &Ranker{stops: make(map[string]bool)}
	for _, word := range analysis.StopWords() {
		for _, w := range a.Words(word, "") {
			for _, term := range w.Terms {
				r.stops[term] = true
			}
		}
	}
	return r
}

// Search ranks what the parts have. Results are ordered by score, then by the
// passage's id, so that pages never overlap. The question is not changed.
func (r *Ranker) Search(ctx context.Context, parts []Part, q *Question, opt Options) (*Result, error) {
	m, ok := r.memory.Get().(*memory)
	if !ok {
		m = new(memory)
	}
	defer func() {
		clear(m.shares) // the strings are of an index that may be gone tomorrow
		r.memory.Put(m)
	}()
	m.forParts(len(parts))
	s := search{ranker: r, parts: parts, question: q, opt: opt, memory: m}
	if err := s.weigh(ctx); err != nil {
		return nil, err
	}
	if err := s.first(ctx); err != nil {
		return nil, err
	}
	if opt.Mode == Hybrid {
		if err := s.again(ctx); err != nil {
			return nil, err
		}
	}
	ranked, total := s.rank()
	return &Result{Ranked: ranked, Total: total, Terms: s.terms, Query: s.query}, nil
}

// search is the state of one search.
type search struct {
	ranker   *Ranker
	parts    []Part
	question *Question
	opt      Options
	memory   *memory
	words    []Word // of the question, weighted by rarity
	terms    []string
	whole    float64 // sum of the weights
	average  float64 // words of a body
	chances  []Chance
	pools    [][]Candidate // by part
	feedback feedback
	query    QueryEvidence
}

// weigh completes the last word, and finds out how rare the words are over all
// parts together.
func (s *search) weigh(ctx context.Context) error {
	var passages int
	var bodies int64
	for _, p := range s.parts {
		n, err := p.Source.Statistics(ctx)
		if err != nil {
			return err
		}
		passages += n.Passages
		bodies += n.BodyWords
	}
	if passages > 0 {
		s.average = float64(bodies) / float64(passages)
	}
	s.query.Passages = passages
	words := make([][]string, len(s.question.words))
	for i, w := range s.question.words {
		words[i] = w.terms
		begin := ""
		switch {
		case i == len(words)-1 && s.question.prefix != "":
			begin = s.question.prefix
		case w.lone:
			begin = w.terms[0]
		}
		if begin != "" {
			more, err := s.complete(ctx, begin)
			if err != nil {
				return err
			}
			words[i] = union(w.terms, more)
		}
	}
	s.terms = slices.Concat(words...)
	counts := make([]int, len(s.terms))
	for _, p := range s.parts {
		n, err := p.Source.Frequencies(ctx, s.terms)
		if err != nil {
			return err
		}
		for i := range counts {
			counts[i] += n[i]
		}
	}
	taken := make(map[string]bool, len(s.terms))
	at := 0
	for _, terms := range words {
		matching := 0
		kept := terms[:0:0]
		for i, term := range terms {
			if !taken[term] {
				taken[term] = true
				kept = append(kept, term)
				matching += counts[at+i]
			}
		}
		at += len(terms)
		if len(kept) == 0 {
			continue // other words stand for all of its terms
		}
		weight := rarity(passages, matching)
		s.whole += weight
		s.words = append(s.words, Word{Terms: kept, Weight: weight})
	}
	return nil
}

// completions is how many terms a word that is being typed stands for.
const completions = 30

func (s *search) complete(ctx context.Context, prefix string) ([]string, error) {
	var all []string
	for _, p := range s.parts {
		found, err := p.Source.Complete(ctx, prefix, completions)
		if err != nil {
			return nil, err
		}
		all = union(all, found)
	}
	return all, nil
}

func union(terms, more []string) []string {
	out := slices.Clone(terms)
	for _, term := range more {
		if !slices.Contains(out, term) {
			out = append(out, term)
		}
	}
	return out
}

// pool is how many candidates are looked at where only sure results are wanted:
// of the best passages by words, and of the most similar ones. What is beyond is
// seldom among those, least of all among the first of them. In many passages
// more of them would take time that the order of the first ones does not repay.
func (s *search) pool() (best, nearest int) {
	if s.query.Passages > manyPassages {
		return 300, 120
	}
	return PoolSize - 300, 300
}

// manyPassages is from how many passages on the pool is smaller.
const manyPassages = 50_000

// first gathers the best passages by words and the most similar ones.
func (s *search) first(ctx context.Context) error {
	s.pools = make([][]Candidate, len(s.parts))
	s.chances = make([]Chance, len(s.parts))
	best, nearest := s.pool()
	for i, p := range s.parts {
		r := &Request{Words: s.words, AverageBody: s.average, Best: best, Vector: p.Vector, Nearest: nearest, Aside: s.opt.Aside, Memory: &s.memory.first[i]}
		switch {
		case s.opt.Least <= 0:
			r.Best, r.Nearest = PoolSize, PoolSize // everything is wanted
		case len(p.Vector) == 0:
			r.Best += r.Nearest // there are no nearest ones
		}
		switch s.opt.Mode {
		case Lexical:
			r.Vector, r.Nearest, r.Best = nil, 0, PoolSize
		case Dense:
			r.Words, r.Best, r.Nearest = nil, 0, PoolSize
		case Hybrid:
			r.Brief = true // the second pass looks at all of them again
			var err error
			if s.chances[i], err = s.chance(ctx, i, p.Vector); err != nil {
				return err
			}
		}
		if err := s.gatherPool(ctx, i, r); err != nil {
			return err
		}
	}
	return nil
}

// gatherPool takes a part's candidates for its pool; a request for nothing
// leaves the pool as it is.
func (s *search) gatherPool(ctx context.Context, part int, r *Request) error {
	if len(r.Words) == 0 && len(r.Vector) == 0 && len(r.Also) == 0 {
		return nil
	}
	found, err := s.parts[part].Source.Candidates(ctx, r)
	if err != nil {
		return err
	}
	s.pools[part] = found
	return nil
}

// leastDeviation keeps a model that calls all unrelated texts equally alike
// from turning noise into certainty.
const leastDeviation = 0.01

// leastSample is how many passages must be there to tell what is chance: among
// a few, the one that answers would count as chance too.
const leastSample = 64

// chance is how similar a vector is to a part's passages in general; for a part
// of few passages, to unrelated texts by the model's own measure.
func (s *search) chance(ctx context.Context, part int, vector []float32) (Chance, error) {
	if len(vector) == 0 {
		return Chance{Deviation: 1}, nil
	}
	c, err := s.parts[part].Source.Chance(ctx, vector)
	if err != nil {
		return Chance{}, err
	}
	if own := s.parts[part].Chance; c.Sample < leastSample && own.Deviation > 0 {
		c = own
	}
	if c.Sample == 0 {
		c.Deviation = 1
	}
	c.Deviation = max(c.Deviation, leastDeviation)
	return c, nil
}

// rise is a similarity in standard deviations above chance, by which models
// and collections compare; NaN when the similarity is unknown.
func (s *search) rise(part int, similarity float64) float64 {
	return (similarity - s.chances[part].Mean) / s.chances[part].Deviation
}

// found is a candidate with what speaks for it. Candidates stay where they are:
// they are large, and many are found that no result is made of.
type found struct {
	*Candidate
	part     int
	evidence Evidence
	key      float64 // by which it is ordered, then its score
}

func (f *found) ranked(r *Ranked) {
	r.Candidate, r.Part, r.Score, r.Evidence = *f.Candidate, f.part, f.key, f.evidence
	r.Hits = nil // they belong to the search
}

// rank scores the pools, keeps the best that reach the least score, orders them,
// and counts them.
func (s *search) rank() (told []Ranked, total int) {
	all := s.memory.found[:0]
	for part, pool := range s.pools {
		for i := range pool {
			all = append(all, found{Candidate: &pool[i], part: part})
		}
	}
	s.memory.found = all
	switch s.opt.Mode {
	case Lexical:
		for i := range all {
			all[i].key = all[i].Lexical / (s.whole + 1e-9)
		}
	case Dense:
		for i := range all {
			all[i].key = (all[i].Similarity + 1) / 2
		}
	case Hybrid:
		s.weighEvidence(all)
	}
	order := s.byKey(all)
	if s.opt.Mode == Hybrid {
		s.confidences(all, order)
	}
	return s.cut(all, order)
}

// byKey is the best of what was found, best first.
func (s *search) byKey(all []found) []keyed {
	order := s.memory.keys[:0]
	for i := range all {
		order = append(order, keyed{all[i].key, int32(i)})
	}
	s.memory.keys = order
	better := func(a, b keyed) int {
		if c := falling(a.key, b.key); c != 0 {
			return c
		}
		return bytes.Compare(all[a.at].Passage[:], all[b.at].Passage[:])
	}
	order = quickselect.First(order, PoolSize, better)
	s.memory.sort(order, better)
	return order
}

// sort sorts by falling keys, and those of equal keys as better does. Numbers are
// sorted in a third of the time that calls of better take: so the list is sorted by
// all but the last bits of its keys, which make room for the places, and what these
// would have told apart is put right.
func (m *memory) sort(list []keyed, better func(a, b keyed) int) {
	if len(list) > roughPlaces {
		slices.SortFunc(list, better)
		return
	}
	roughly := m.roughly[:0]
	for i := range list {
		key := math.Float64bits(list[i].key)
		if key>>63 == 0 {
			key = ^key &^ (1 << 63) // the greatest first
		}
		roughly = append(roughly, key&^(roughPlaces-1)|uint64(i))
	}
	slices.Sort(roughly)
	sorted := m.sorted[:0]
	for _, r := range roughly {
		sorted = append(sorted, list[r&(roughPlaces-1)])
	}
	copy(list, sorted)
	m.roughly, m.sorted = roughly, sorted
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && better(list[j], list[j-1]) < 0; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

// roughPlaces is a power of two, PoolSize or more.
const roughPlaces = 1 << 10

// falling compares keys for an order from the greatest on. It is cmp.Compare the
// other way round, which takes longer as it looks for NaN first.
func falling(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	case a == b:
		return 0
	default:
		return cmp.Compare(b, a)
	}
}

// cut makes results of what reaches the least score, as many as are wanted, and
// says how many there are.
func (s *search) cut(all []found, order []keyed) (told []Ranked, total int) {
	if s.opt.Least > 0 {
		order = s.reaching(all, order)
	}
	total = len(order)
	if s.opt.Most > 0 {
		order = order[:min(len(order), s.opt.Most)]
	}
	told = make([]Ranked, len(order))
	for i, o := range order {
		all[o.at].ranked(&told[i])
	}
	return told, total
}

// reaching is what of the order reaches the least score, as far as a document
// may have so many.
func (s *search) reaching(all []found, order []keyed) []keyed {
	if s.memory.documents == nil {
		s.memory.documents = make(map[uuid.UUID]int)
	}
	count := s.memory.documents
	clear(count)
	kept := order[:0]
	for _, o := range order {
		f := &all[o.at]
		if f.key < s.opt.Least {
			break
		}
		n := count[f.Document] + 1
		if n > perDocument {
			continue
		}
		count[f.Document] = n
		kept = append(kept, o)
	}
	return kept
}

// countsOf adds up the hits of each word in a passage. Hits of different terms
// of one word at one position are one occurrence for each.
func countsOf(hits []Hit, counts []Counts) {
	clear(counts)
	for _, h := range hits {
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
