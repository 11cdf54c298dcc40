package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"magpie/internal/index"
)

// Rows of magpie_candidates, told apart by their leg.
const (
	legTotal   = 0
	legLexical = 2 // leg 1 holds the similar ones
)

// candidate is a passage that may be a result.
type candidate struct {
	passage, document uuid.UUID
	ordinal           int32
	titleWords        int32
	headingWords      int32
	bodyWords         int32
	hits              []hit
	similarity        float64 // NaN without a vector of the question's model
	part              int32   // index of the part of the search it belongs to
	score             float64
}

// hit is how often a word of the question stands in the fields of a passage.
type hit struct {
	word   int32
	counts [index.FieldCount]uint16
}

// pool gathers the candidates of a search from all its parts.
type pool struct {
	question *question
	found    []candidate
	seen     map[uuid.UUID]int32
	passages int   // that the filters leave
	matching []int // passages that have the word, for each word
	hits     []hit // backs the candidates' hits, so that they cost one allocation
}

func newPool(q *question) *pool {
	return &pool{question: q, seen: make(map[uuid.UUID]int32), matching: make([]int, len(q.words))}
}

var errRow = errors.New("a candidate's row cannot be read")

// read takes the rows of magpie_candidates for part n. It reads the wire format
// itself: thousands of rows come, and most of what they say is looked at once.
func (p *pool) read(rows pgx.Rows, part int) error {
	defer rows.Close()
	for rows.Next() {
		raw := rows.RawValues()
		if len(raw) != 10 || len(raw[0]) != 2 {
			return errRow
		}
		switch leg := binary.BigEndian.Uint16(raw[0]); leg {
		case legTotal:
			p.passages += int(integer(raw[4]))
		default:
			if err := p.readCandidate(raw, part, leg == legLexical); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the candidates: %w", err)
	}
	return nil
}

func (p *pool) readCandidate(raw [][]byte, part int, lexical bool) error {
	if len(raw[1]) != 16 || len(raw[2]) != 16 {
		return errRow
	}
	id := uuid.UUID(raw[1])
	at, seen := p.seen[id]
	if seen && !lexical {
		return nil
	}
	if !seen {
		at = int32(len(p.found)) //nolint:gosec // rows of one query
		p.seen[id] = at
		from := len(p.hits)
		if err := p.readHits(raw[8]); err != nil {
			return err
		}
		p.found = append(p.found, candidate{
			passage: id, document: uuid.UUID(raw[2]), ordinal: integer(raw[4]),
			titleWords: integer(raw[5]), headingWords: integer(raw[6]), bodyWords: integer(raw[7]),
			hits: p.hits[from:len(p.hits):len(p.hits)], similarity: double(raw[9], math.NaN()), part: int32(part), //nolint:gosec // few parts
		})
	}
	if lexical {
		for _, h := range p.found[at].hits {
			p.matching[h.word]++
		}
	}
	return nil
}

// readHits reads a tsvector as it is sent: the number of lexemes, then for each
// its text, a zero byte, the number of positions, and the positions, whose upper
// two bits are the label.
func (p *pool) readHits(b []byte) error {
	if len(b) < 4 {
		return nil // null: nothing was asked for
	}
	n := int(binary.BigEndian.Uint32(b))
	b = b[4:]
	from := len(p.hits)
	for range n {
		end := 0
		for end < len(b) && b[end] != 0 {
			end++
		}
		if len(b) < end+3 {
			return errRow
		}
		w, known := p.question.of[string(b[:end])]
		count := int(binary.BigEndian.Uint16(b[end+1:]))
		b = b[end+3:]
		if len(b) < 2*count {
			return errRow
		}
		if known {
			h := p.hitOf(from, int32(w)) //nolint:gosec // at most maxWords
			for i := range count {
				h.counts[index.FieldOf(binary.BigEndian.Uint16(b[2*i:])&0x3fff)]++
			}
		}
		b = b[2*count:]
	}
	return nil
}

// hitOf finds or makes the hit of a word among those from an index on.
func (p *pool) hitOf(from int, word int32) *hit {
	for i := from; i < len(p.hits); i++ {
		if p.hits[i].word == word {
			return &p.hits[i]
		}
	}
	p.hits = append(p.hits, hit{word: word})
	return &p.hits[len(p.hits)-1]
}

func integer(b []byte) int32 {
	if len(b) != 4 {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b)) //nolint:gosec // the sign is part of the format
}

func double(b []byte, missing float64) float64 {
	if len(b) != 8 {
		return missing
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}
