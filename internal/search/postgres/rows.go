package postgres

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

var errRow = errors.New("a passage's row cannot be read")

// placeOf is the number for a place (tid), which is a candidate's Ref.
func placeOf(raw []byte) (uint64, error) {
	if len(raw) != 6 {
		return 0, errRow
	}
	return uint64(binary.BigEndian.Uint32(raw))<<16 | uint64(binary.BigEndian.Uint16(raw[4:])), nil
}

func placesOf(passages []rank.Candidate) []pgtype.TID {
	out := make([]pgtype.TID, len(passages))
	for i := range passages {
		r := passages[i].Ref
		out[i] = pgtype.TID{BlockNumber: uint32(r >> 16), OffsetNumber: uint16(r), Valid: true} //nolint:gosec // as placeOf packs them
	}
	return out
}

// gathering scores the passages of one request as their rows come in.
type gathering struct {
	request *rank.Request
	words   map[string]int // by term
	terms   []string
	found   []rank.Candidate
	at      map[uint64]int
	hits    []rank.Hit
	tallies []tally
	touched []int
}

func newGathering(r *rank.Request) *gathering {
	g := &gathering{
		request: r, words: make(map[string]int), at: make(map[uint64]int), tallies: make([]tally, len(r.Words)), terms: []string{},
	}
	for i := range r.Words {
		for _, t := range r.Words[i].Terms {
			g.words[t] = i
			g.terms = append(g.terms, t)
		}
	}
	return g
}

// postgresEpoch is what timestamps are counted from, in Unix seconds.
const postgresEpoch = 946684800

// read takes rows of magpie_passages. It reads the wire format itself:
// thousands of rows come, and each is looked at once.
func (g *gathering) read(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		raw := rows.RawValues()
		if len(raw) != 11 || len(raw[1]) != 16 || len(raw[2]) != 16 {
			return errRow
		}
		place, err := placeOf(raw[0])
		if err != nil {
			return err
		}
		c := rank.Candidate{Passage: uuid.UUID(raw[1]), Document: uuid.UUID(raw[2]), Ordinal: integer(raw[3]), Ref: place}
		for f := range c.Words {
			c.Words[f] = integer(raw[4+f])
		}
		if len(raw[8]) == 8 {
			c.Time = int64(binary.BigEndian.Uint64(raw[8])) //nolint:gosec // microseconds
			c.Time = floorDiv(c.Time, int64(time.Second/time.Microsecond)) + postgresEpoch
		}
		if err := g.add(&c, raw[9], raw[10]); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read passages: %w", err)
	}
	return nil
}

// readAgain takes rows of magpie_hits, of passages that the request has.
func (g *gathering) readAgain(rows pgx.Rows) error {
	defer rows.Close()
	also := make(map[uint64]*rank.Candidate, len(g.request.Also))
	for i := range g.request.Also {
		also[g.request.Also[i].Ref] = &g.request.Also[i]
	}
	for rows.Next() {
		raw := rows.RawValues()
		if len(raw) != 3 {
			return errRow
		}
		place, err := placeOf(raw[0])
		if err != nil {
			return err
		}
		known := also[place]
		if known == nil {
			return errRow
		}
		c := rank.Candidate{
			Passage: known.Passage, Document: known.Document, Ordinal: known.Ordinal, Words: known.Words, Time: known.Time, Ref: place,
		}
		if err := g.add(&c, raw[1], raw[2]); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read passages again: %w", err)
	}
	return nil
}

// add takes a candidate, with its hits and its similarity as they were sent,
// unless it has been found before.
func (g *gathering) add(c *rank.Candidate, hits index.Lexemes, similarity []byte) error {
	if _, seen := g.at[c.Ref]; seen {
		return nil
	}
	c.Similarity = math.NaN()
	if len(similarity) == 8 {
		c.Similarity = math.Float64frombits(binary.BigEndian.Uint64(similarity))
	}
	if err := g.score(c, hits); err != nil {
		return err
	}
	g.at[c.Ref] = len(g.found)
	g.found = append(g.found, *c)
	return nil
}

// score reads the hits of a candidate and rates its words.
func (g *gathering) score(c *rank.Candidate, lexemes index.Lexemes) error {
	from := len(g.hits)
	g.touched = g.touched[:0]
	err := lexemes.Each(func(term []byte, positions []uint16) {
		word, ok := g.words[string(term)]
		if !ok {
			return
		}
		if !slices.Contains(g.touched, word) {
			g.touched = append(g.touched, word)
			g.tallies[word] = tally{}
		}
		for _, p := range positions {
			g.tallies[word].add(index.FieldOf(p))
			if word < g.request.Report {
				g.hits = append(g.hits, rank.Hit{Word: uint16(word), Position: p}) //nolint:gosec // at most rank.MaxWords
			}
		}
	})
	if err != nil {
		return fmt.Errorf("read a passage's lexemes: %w", err)
	}
	slices.Sort(g.touched) // sums of the same words are the same numbers
	norm := rank.BodyNorm(c.Words[index.FieldBody], g.request.AverageBody)
	for _, word := range g.touched {
		c.Lexical += g.request.Words[word].Weight * rank.Damped(g.tallies[word].counts(), norm)
	}
	c.Hits = g.hits[from:len(g.hits):len(g.hits)]
	slices.SortFunc(c.Hits, func(a, b rank.Hit) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Word, b.Word))
	})
	return nil
}

func integer(raw []byte) int32 {
	if len(raw) != 4 {
		return 0
	}
	return int32(binary.BigEndian.Uint32(raw)) //nolint:gosec // the column's own width
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// byLexical orders candidates by what their words say, then by id.
func byLexical(a, b *rank.Candidate) int {
	return cmp.Or(cmp.Compare(b.Lexical, a.Lexical), slices.Compare(a.Passage[:], b.Passage[:]))
}

// bySimilarity orders candidates by similarity, then by id, unknown ones last.
func bySimilarity(a, b *rank.Candidate) int {
	if x, y := math.IsNaN(a.Similarity), math.IsNaN(b.Similarity); x != y {
		if x {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), slices.Compare(a.Passage[:], b.Passage[:]))
}
