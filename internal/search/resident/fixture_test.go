package resident_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// occurrence is a term at a position.
type occurrence struct {
	term     string
	position uint16
}

// lexemesOf returns the stored form of terms at positions.
func lexemesOf(list []occurrence) index.Lexemes {
	at := map[string][]uint16{}
	for _, o := range list {
		at[o.term] = append(at[o.term], o.position)
	}
	at["#0123456789abc"] = nil // the mark of a collection, which earlier versions wrote
	b := binary.BigEndian.AppendUint32(nil, uint32(len(at)))
	for _, term := range slices.Sorted(maps.Keys(at)) {
		positions := at[term]
		slices.Sort(positions)
		b = append(append(b, term...), 0)
		b = binary.BigEndian.AppendUint16(b, uint16(len(positions)))
		for _, p := range positions {
			b = binary.BigEndian.AppendUint16(b, p|uint16(index.FieldOf(p))<<14)
		}
	}
	return b
}

// world generates random documents.
type world struct {
	*rand.Rand
	vocabulary int
	length     int // of vectors
	rare       int // number of further words, equally likely
}

func newWorld(seed uint64, vocabulary, length int) *world {
	return &world{Rand: rand.New(rand.NewPCG(seed, 7)), vocabulary: vocabulary, length: length}
}

func (w *world) id() uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], w.Uint64())
	binary.BigEndian.PutUint64(id[8:], w.Uint64())
	return id
}

// term returns a random word: few words are common, many are rare.
func (w *world) term() string {
	if w.rare > 0 && w.IntN(2) == 0 {
		return fmt.Sprintf("x%d", w.IntN(w.rare))
	}
	n := int(float64(w.vocabulary) * math.Pow(w.Float64(), 3))
	return fmt.Sprintf("%c%d", 'a'+n%7, n)
}

func (w *world) choose(list ...string) string { return list[w.IntN(len(list))] }

func (w *world) vector(length int) []float32 {
	v := make([]float32, length)
	sum := 0.0
	for i := range v {
		x := w.NormFloat64() + 0.3
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (w *world) field(list []occurrence, first, n int) []occurrence {
	p := uint16(first)
	for i := range n {
		if i > 0 && w.IntN(12) > 0 { // else two terms have the same position
			p += uint16(1 + w.IntN(12)/10*w.IntN(4))
		}
		o := occurrence{w.term(), p}
		if !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list
}

func (w *world) entry(id uuid.UUID) *index.Entry {
	e := &index.Entry{
		Document: id, Live: true,
		Section: w.choose("", "guide", "reference", "blog"), Version: w.choose("", "v1", "v2"),
		Language: w.choose("en", "de", "fr"), DocType: w.choose("", "page", "faq", "api"),
		Source: w.choose("s3", "slack", "jira"), Connector: w.choose("k1", "k2", "k3", "k4"),
	}
	for range w.IntN(4) {
		e.Tags = append(e.Tags, w.choose("x", "y", "z", "w"))
	}
	if w.IntN(4) > 0 {
		e.Time = time.Unix(int64(w.IntN(2000)-1000), int64(w.IntN(1e6))*1000).UTC()
	}
	switch w.IntN(4) {
	case 0:
		e.Readers = []string{}
	case 1:
		e.Readers = []string{w.choose("anna", "ben"), w.choose("ben", "cleo", "ops")}
	}
	if w.IntN(4) == 0 {
		e.Restriction = []string{w.choose("anna", "ben"), w.choose("ben", "ops")}
	}
	title := w.field(nil, 1, 1+w.IntN(4))
	ordinal := int32(0)
	for range 1 + w.IntN(4) {
		list := slices.Clone(title)
		if w.IntN(20) == 0 {
			list = w.field(nil, 1, 2)
		}
		list = w.field(list, 256, w.IntN(3))
		list = w.field(list, 512, w.IntN(3))
		list = w.field(list, 1024, w.IntN(60))
		p := index.EntryPassage{ID: w.id(), Ordinal: ordinal, Lexemes: lexemesOf(list)}
		for f := range p.Words {
			p.Words[f] = int32(w.IntN(5))
		}
		p.Words[index.FieldBody] = int32(w.IntN(300))
		switch w.IntN(10) {
		case 0:
		case 1:
			p.Vector = w.vector(w.length + 3)
		default:
			p.Vector = w.vector(w.length)
		}
		ordinal += int32(1 + w.IntN(2))
		e.Passages = append(e.Passages, p)
	}
	return e
}

// oracle answers by brute force.
type oracle struct {
	documents map[uuid.UUID]*index.Entry
	passages  map[*index.Entry][]*passage
}

// passage is a decoded passage.
type passage struct {
	entry   *index.Entry
	passage *index.EntryPassage
	terms   []occurrence // by position
	has     map[string]bool
}

func (o *oracle) each(f func(k *passage)) {
	for _, e := range o.documents {
		list, ok := o.passages[e]
		if !ok {
			for i := range e.Passages {
				k := &passage{entry: e, passage: &e.Passages[i]}
				k.decode()
				list = append(list, k)
			}
			if o.passages == nil {
				o.passages = map[*index.Entry][]*passage{}
			}
			o.passages[e] = list
		}
		for _, k := range list {
			f(k)
		}
	}
}

func (k *passage) decode() {
	err := k.passage.Lexemes.Each(func(term []byte, positions []uint16) {
		if strings.HasPrefix(string(term), "#") {
			return
		}
		for _, p := range positions {
			k.terms = append(k.terms, occurrence{string(term), p})
		}
	})
	if err != nil {
		panic(err)
	}
	slices.SortStableFunc(k.terms, func(a, b occurrence) int { return cmp.Compare(a.position, b.position) })
	k.has = map[string]bool{}
	for _, t := range k.terms {
		k.has[t.term] = true
	}
}

func (k *passage) counts(terms []string) (c rank.Counts) {
	if !slices.ContainsFunc(terms, func(t string) bool { return k.has[t] }) {
		return c
	}
	for _, o := range k.terms {
		if !slices.Contains(terms, o.term) {
			continue
		}
		switch index.FieldOf(o.position) {
		case index.FieldTitle:
			c.Title = true
		case index.FieldHeading:
			c.Heading = true
		case index.FieldPath:
			c.Path = true
		default:
			c.Body = min(c.Body+1, rank.MaxBody)
		}
	}
	return c
}

func (k *passage) contains(p rank.Phrase) bool {
	for _, place := range p {
		if !slices.ContainsFunc(place, func(t string) bool { return k.has[t] }) {
			return false
		}
	}
	at := map[uint16][]string{}
	for _, o := range k.terms {
		at[o.position] = append(at[o.position], o.term)
	}
	for start := range at {
		ok := true
		for i, place := range p {
			q := start + uint16(i)
			ok = ok && index.FieldOf(q) == index.FieldOf(start) &&
				slices.ContainsFunc(place, func(t string) bool { return slices.Contains(at[q], t) })
		}
		if ok {
			return true
		}
	}
	return false
}

// valuesOf returns the values of a document by facet.
func valuesOf(e *index.Entry) map[rank.Facet][]string {
	return map[rank.Facet][]string{
		rank.FacetSection: {e.Section}, rank.FacetVersion: {e.Version}, rank.FacetLanguage: {e.Language}, rank.FacetDocType: {e.DocType},
		rank.FacetSource: {e.Source}, rank.FacetConnector: {e.Connector}, rank.FacetTag: e.Tags,
	}
}

// in returns the filter for values of one facet.
func in(facet rank.Facet, values ...string) *rank.Filter {
	f := &rank.Filter{}
	f.Values[facet] = values
	return f
}

// nonEmpty returns the values that are not empty.
func nonEmpty(values ...string) []string {
	return slices.DeleteFunc(values, func(v string) bool { return v == "" })
}

func (k *passage) satisfies(f *rank.Filter) bool {
	e := k.entry
	any := func(want, have []string) bool {
		return len(want) == 0 || slices.ContainsFunc(want, func(s string) bool { return slices.Contains(have, s) })
	}
	for facet, have := range valuesOf(e) {
		if !any(f.Values[facet], have) {
			return false
		}
	}
	return (len(f.Documents) == 0 || slices.Contains(f.Documents, e.Document)) &&
		(f.From.IsZero() || !e.Time.IsZero() && !e.Time.Before(f.From)) &&
		(f.Until.IsZero() || !e.Time.IsZero() && e.Time.Before(f.Until)) &&
		(f.Readers == nil || e.Readers == nil || len(f.Readers) > 0 && any(f.Readers, e.Readers)) &&
		(f.Readers == nil || e.Restriction == nil || len(f.Readers) > 0 && any(f.Readers, e.Restriction)) &&
		!slices.ContainsFunc(f.Phrases, func(p rank.Phrase) bool { return !k.contains(p) }) &&
		!slices.ContainsFunc(f.Excluded, k.contains)
}

func (k *passage) lexical(r *rank.Request) float64 {
	sum := 0.0
	for _, w := range r.Words {
		if c := k.counts(w.Terms); c != (rank.Counts{}) {
			sum += w.Weight * rank.Saturation(c, rank.LengthNorm(k.passage.Words[index.FieldBody], r.AverageBody))
		}
	}
	return sum
}

func (k *passage) similarity(vector []float32) float64 {
	if vector == nil || len(k.passage.Vector) != len(vector) {
		return math.NaN()
	}
	s := 0.0
	for i, x := range vector {
		s += float64(x) * float64(k.passage.Vector[i])
	}
	return s
}

func (k *passage) matches(r *rank.Request) (matches []rank.Match) {
	for _, o := range k.terms {
		for w := range r.Words[:r.MatchWords] {
			if slices.Contains(r.Words[w].Terms, o.term) {
				matches = append(matches, rank.Match{Word: uint16(w), Position: o.position})
			}
		}
	}
	slices.SortFunc(matches, func(a, b rank.Match) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Word, b.Word))
	})
	return matches
}

// byScore orders by falling score, then by id.
func byScore(score func(*passage) float64) func(a, b *passage) int {
	return func(a, b *passage) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), bytes.Compare(a.passage.ID[:], b.passage.ID[:]))
	}
}
