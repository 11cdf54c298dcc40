package postgres_test

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/pgvector/pgvector-go"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// oracle is all passages of a collection, for answers by brute force.
type oracle []*entry

type entry struct {
	passage, document                   uuid.UUID
	ordinal                             int32
	words                               [index.FieldCount]int32
	section, version, language, docType string
	source, connector                   string
	tags, readers, restriction          []string
	time                                time.Time
	live                                bool
	lexemes                             map[string][]uint16
	vector                              []float32
}

// oracle reads a collection's tables as the owner.
func (f *fixture) oracle(id tenant) oracle {
	f.Helper()
	rows, err := f.owner.Query(f.Context(), `select i.passage_id, i.document_id, i.ordinal,
			i.title_words, i.heading_words, i.path_words, i.body_words, i.lexemes, i.embedding,
			coalesce(d.section, ''), coalesce(d.version, ''), coalesce(d.language, ''), coalesce(d.doc_type, ''),
			coalesce(d.tags, '[]'), d.readers, d.restricted_to, coalesce(d.source_updated_at, d.source_created_at), d.deleted_at is null,
			(select type from connectors where id = d.connector_id), d.connector_id::text
		from passage_index i join documents d on d.id = i.document_id where i.collection_id = $1`, id.collection)
	if err != nil {
		f.Fatal(err)
	}
	defer rows.Close()
	var all oracle
	for rows.Next() {
		e := &entry{lexemes: make(map[string][]uint16)}
		var vector pgvector.HalfVector
		var at *time.Time
		err := index.Lexemes(rows.RawValues()[7]).Each(func(term []byte, positions []uint16) {
			e.lexemes[string(term)] = slices.Clone(positions)
		})
		if err != nil {
			f.Fatal(err)
		}
		if err := rows.Scan(&e.passage, &e.document, &e.ordinal, &e.words[0], &e.words[1], &e.words[2], &e.words[3], nil, &vector,
			&e.section, &e.version, &e.language, &e.docType, &e.tags, &e.readers, &e.restriction, &at, &e.live, &e.source, &e.connector); err != nil {
			f.Fatal(err)
		}
		if at != nil {
			e.time = *at
		}
		e.vector = vector.Slice()
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		f.Fatal(err)
	}
	return all
}

// selected returns the passages that a filter selects.
func (o oracle) selected(f *rank.Filter) oracle {
	var out oracle
	for _, e := range o {
		if e.passes(f) {
			out = append(out, e)
		}
	}
	return out
}

func (e *entry) passes(f *rank.Filter) bool {
	common := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
	}
	switch {
	case !e.live,
		!e.has(f),
		len(f.Documents) > 0 && !slices.Contains(f.Documents, e.document),
		(!f.From.IsZero() || !f.Until.IsZero()) && e.time.IsZero(),
		!f.From.IsZero() && e.time.Before(f.From),
		!f.Until.IsZero() && !e.time.Before(f.Until),
		f.Readers != nil && e.readers != nil && !common(e.readers, f.Readers),
		f.Readers != nil && e.restriction != nil && !common(e.restriction, f.Readers):
		return false
	}
	for _, p := range f.Phrases {
		if !e.contains(p) {
			return false
		}
	}
	return !slices.ContainsFunc(f.Excluded, e.contains)
}

// values returns the values of a document by facet.
func (e *entry) values() map[rank.Facet][]string {
	return map[rank.Facet][]string{
		rank.FacetSection: {e.section}, rank.FacetVersion: {e.version}, rank.FacetLanguage: {e.language}, rank.FacetDocType: {e.docType},
		rank.FacetSource: {e.source}, rank.FacetConnector: {e.connector}, rank.FacetTag: e.tags,
	}
}

// has reports whether the document has one of the filter's values of each facet.
func (e *entry) has(f *rank.Filter) bool {
	for facet, have := range e.values() {
		values := f.Values[facet]
		if len(values) > 0 && !slices.ContainsFunc(have, func(v string) bool { return slices.Contains(values, v) }) {
			return false
		}
	}
	return true
}

// contains reports whether the passage contains a phrase within one field.
func (e *entry) contains(p rank.Phrase) bool {
	at := func(terms []string) map[uint16]bool {
		all := make(map[uint16]bool)
		for _, t := range terms {
			for _, position := range e.lexemes[t] {
				all[position] = true
			}
		}
		return all
	}
	for start := range at(p[0]) {
		ok := true
		for i := range p {
			position := start + uint16(i)
			ok = ok && at(p[i])[position] && index.FieldOf(position) == index.FieldOf(start)
		}
		if ok {
			return true
		}
	}
	return false
}

func (e *entry) matches(r *rank.Request) (matches []rank.Match) {
	for w := range r.Words[:r.MatchWords] {
		for _, t := range r.Words[w].Terms {
			for _, p := range e.lexemes[t] {
				matches = append(matches, rank.Match{Word: uint16(w), Position: p})
			}
		}
	}
	slices.SortFunc(matches, func(a, b rank.Match) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Word, b.Word))
	})
	return matches
}

func (e *entry) lexical(r *rank.Request) (score float64) {
	norm := rank.LengthNorm(e.words[index.FieldBody], r.AverageBody)
	for _, w := range r.Words {
		var c rank.Counts
		body := 0
		for _, t := range w.Terms {
			for _, p := range e.lexemes[t] {
				switch index.FieldOf(p) {
				case index.FieldTitle:
					c.Title = true
				case index.FieldHeading:
					c.Heading = true
				case index.FieldPath:
					c.Path = true
				default:
					body++
				}
			}
		}
		c.Body = uint8(min(body, rank.MaxBody))
		score += w.Weight * rank.Saturation(c, norm)
	}
	return score
}

func (e *entry) similarity(vector []float32) float64 {
	if len(vector) != len(e.vector) {
		return math.NaN()
	}
	dot := 0.0
	for i, x := range e.vector {
		dot += float64(x) * float64(vector[i])
	}
	return dot
}

// best returns the score at place n, and the passages above it.
func (o oracle) best(n int, score func(*entry) float64) (least float64, over map[uuid.UUID]bool) {
	all := make([]float64, 0, len(o))
	for _, e := range o {
		if s := score(e); !math.IsNaN(s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b float64) int { return cmp.Compare(b, a) })
	least = math.Inf(-1)
	if n < len(all) {
		least = all[n]
	}
	over = make(map[uuid.UUID]bool)
	for _, e := range o {
		if s := score(e); s > least+tolerance {
			over[e.passage] = true
		}
	}
	return least, over
}

// tolerance bounds the rounding error of similarities, which the database stores in half
// precision.
const tolerance = 2e-3
