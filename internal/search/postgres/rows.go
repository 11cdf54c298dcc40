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

// refOf returns the Ref of a candidate with a row id (tid) in binary form.
func refOf(raw []byte) (uint64, error) {
	if len(raw) != 6 {
		return 0, errRow
	}
	return uint64(binary.BigEndian.Uint32(raw))<<16 | uint64(binary.BigEndian.Uint16(raw[4:])), nil
}

// tidsOf returns the row ids of candidates.
func tidsOf(passages []rank.Candidate) []pgtype.TID {
	out := make([]pgtype.TID, len(passages))
	for i := range passages {
		r := passages[i].Ref
		out[i] = pgtype.TID{BlockNumber: uint32(r >> 16), OffsetNumber: uint16(r), Valid: true} //nolint:gosec // as refOf packs them
	}
	return out
}

// A collector scores the passages of one request as their rows arrive.
type collector struct {
	request    *rank.Request
	words      map[string]int // by term
	terms      []string
	candidates []rank.Candidate
	index      map[uint64]int // of candidates, by Ref
	matches    []rank.Match
	counts     []fieldCounts // by word
	wordsFound []int         // words of the current passage
}

func newCollector(r *rank.Request) *collector {
	c := &collector{
		request: r, words: make(map[string]int), index: make(map[uint64]int), counts: make([]fieldCounts, len(r.Words)), terms: []string{},
	}
	for i := range r.Words {
		for _, t := range r.Words[i].Terms {
			c.words[t] = i
			c.terms = append(c.terms, t)
		}
	}
	return c
}

// postgresEpoch is the epoch of PostgreSQL's timestamps in Unix seconds.
const postgresEpoch = 946684800

// readPassages reads rows of magpie_passages. It decodes the wire format itself, because
// there are thousands of rows.
func (c *collector) readPassages(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		raw := rows.RawValues()
		if len(raw) != 11 || len(raw[1]) != 16 || len(raw[2]) != 16 {
			return errRow
		}
		ref, err := refOf(raw[0])
		if err != nil {
			return err
		}
		p := rank.Candidate{Passage: uuid.UUID(raw[1]), Document: uuid.UUID(raw[2]), Ordinal: integer(raw[3]), Ref: ref}
		for f := range p.FieldWords {
			p.FieldWords[f] = integer(raw[4+f])
		}
		if len(raw[8]) == 8 {
			micros := int64(binary.BigEndian.Uint64(raw[8])) //nolint:gosec // microseconds
			p.Time = floorDiv(micros, int64(time.Second/time.Microsecond)) + postgresEpoch
		}
		if err := c.add(&p, raw[9], raw[10]); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read passages: %w", err)
	}
	return nil
}

// readMatches reads rows of magpie_hits, for the candidates that the request rescores.
func (c *collector) readMatches(rows pgx.Rows) error {
	defer rows.Close()
	earlier := make(map[uint64]*rank.Candidate, len(c.request.Rescore))
	for i := range c.request.Rescore {
		earlier[c.request.Rescore[i].Ref] = &c.request.Rescore[i]
	}
	for rows.Next() {
		raw := rows.RawValues()
		if len(raw) != 3 {
			return errRow
		}
		ref, err := refOf(raw[0])
		if err != nil {
			return err
		}
		e := earlier[ref]
		if e == nil {
			return errRow
		}
		p := rank.Candidate{
			Passage: e.Passage, Document: e.Document, Ordinal: e.Ordinal, FieldWords: e.FieldWords, Time: e.Time, Ref: ref,
		}
		if err := c.add(&p, raw[1], raw[2]); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read matches: %w", err)
	}
	return nil
}

// add scores a passage and adds it to the candidates, unless it is one already. lexemes
// and similarity are in wire format.
func (c *collector) add(p *rank.Candidate, lexemes index.Lexemes, similarity []byte) error {
	if _, seen := c.index[p.Ref]; seen {
		return nil
	}
	p.Similarity = math.NaN()
	if len(similarity) == 8 {
		p.Similarity = math.Float64frombits(binary.BigEndian.Uint64(similarity))
	}
	if err := c.score(p, lexemes); err != nil {
		return err
	}
	c.index[p.Ref] = len(c.candidates)
	c.candidates = append(c.candidates, *p)
	return nil
}

// score sets the matches and the lexical score of a passage.
func (c *collector) score(p *rank.Candidate, lexemes index.Lexemes) error {
	first := len(c.matches)
	c.wordsFound = c.wordsFound[:0]
	err := lexemes.Each(func(term []byte, positions []uint16) {
		word, ok := c.words[string(term)]
		if !ok {
			return
		}
		if !slices.Contains(c.wordsFound, word) {
			c.wordsFound = append(c.wordsFound, word)
			c.counts[word] = fieldCounts{}
		}
		for _, position := range positions {
			c.counts[word].add(index.FieldOf(position))
			if word < c.request.MatchWords {
				c.matches = append(c.matches, rank.Match{Word: uint16(word), Position: position}) //nolint:gosec // at most rank.MaxWords
			}
		}
	})
	if err != nil {
		return fmt.Errorf("read a passage's lexemes: %w", err)
	}
	slices.Sort(c.wordsFound) // the order of the sum affects its last digits
	norm := rank.LengthNorm(p.FieldWords[index.FieldBody], c.request.AverageBody)
	for _, word := range c.wordsFound {
		p.Lexical += c.request.Words[word].Weight * rank.Saturation(c.counts[word].counts(), norm)
	}
	p.Matches = c.matches[first:len(c.matches):len(c.matches)]
	slices.SortFunc(p.Matches, func(a, b rank.Match) int {
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

// compareLexical orders candidates by falling lexical score, then by id.
func compareLexical(a, b *rank.Candidate) int {
	return cmp.Or(cmp.Compare(b.Lexical, a.Lexical), slices.Compare(a.Passage[:], b.Passage[:]))
}

// compareSimilarity orders candidates by falling similarity, then by id. Candidates
// without a similarity come last.
func compareSimilarity(a, b *rank.Candidate) int {
	if x, y := math.IsNaN(a.Similarity), math.IsNaN(b.Similarity); x != y {
		if x {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), slices.Compare(a.Passage[:], b.Passage[:]))
}
