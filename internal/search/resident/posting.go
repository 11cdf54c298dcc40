package resident

import (
	"encoding/binary"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// occurrences are rank.Counts in one byte: the body's in the lower bits, then
// one bit each for title, heading and path. No posting has 0.
type occurrences uint8

const (
	bodyMask      occurrences = 1<<5 - 1
	titleOnce     occurrences = 1 << 5
	headingOnce   occurrences = 1 << 6
	pathOnce      occurrences = 1 << 7
	_             uint        = uint(bodyMask) - rank.MaxBody // MaxBody fits
	_             uint        = rank.MaxBody - uint(bodyMask) // and is not wasted
	codesPerTable             = 1 << 8
)

// add counts one more occurrence at a position.
func (o occurrences) add(position uint16) occurrences {
	switch index.FieldOf(position) {
	case index.FieldTitle:
		return o | titleOnce
	case index.FieldHeading:
		return o | headingOnce
	case index.FieldPath:
		return o | pathOnce
	default:
		if o&bodyMask < rank.MaxBody {
			o++
		}
		return o
	}
}

// merge adds up the occurrences of two terms of one word.
func (o occurrences) merge(p occurrences) occurrences {
	return (o|p)&^bodyMask | min(o&bodyMask+p&bodyMask, rank.MaxBody)
}

func (o occurrences) counts() rank.Counts {
	return rank.Counts{
		Title: o&titleOnce != 0, Heading: o&headingOnce != 0, Path: o&pathOnce != 0, Body: uint8(o & bodyMask),
	}
}

// blockSize is how many postings a block has. Postings of a term that has more
// begin with a head for each block: its first passage and where it starts.
const (
	blockSize = 128
	headSize  = 8
)

// postings are the passages of one term, rising: for each a code of the
// distance to the one before it, less 1, and a byte of occurrences.
type postings struct {
	n      uint32
	heads  []byte
	stream []byte
}

func (s *segment) postings(term uint32) postings {
	n := s.terms.passages[term]
	b := s.posted[s.postedAt[term]:s.postedAt[term+1]]
	p := postings{n: n, stream: b}
	if n > blockSize {
		h := (n + blockSize - 1) / blockSize * headSize
		p.heads, p.stream = b[:h], b[h:]
	}
	return p
}

// block returns the first passage of a block and where its stream begins.
func (p *postings) block(b uint32) (first uint32, at int) {
	h := p.heads[b*headSize:]
	return binary.LittleEndian.Uint32(h), int(binary.LittleEndian.Uint32(h[4:]))
}

// each calls f for the postings within a selection of the segment's passages,
// in rising order; nil selects all. Blocks in which nothing is selected are skipped.
func (p *postings) each(selected bitmap, f func(passage uint32, o occurrences)) {
	p.eachBlock(selected, func(previous uint32, at int, n uint32) {
		b := p.stream
		passage := previous
		for range n {
			d := uint32(b[at])
			at++
			if d >= twoBytes {
				d, at = longCode(d, b, at)
			}
			passage += d + 1
			o := occurrences(b[at])
			at++
			if selected == nil || selected.has(passage) {
				f(passage, o)
			}
		}
	})
}

// eachBlock calls f for the blocks that may hold selected passages: with the
// passage before its first one (as a wrapped number), where its stream begins,
// and how many postings it has.
func (p *postings) eachBlock(selected bitmap, f func(previous uint32, at int, n uint32)) {
	if p.heads == nil || selected == nil {
		f(^uint32(0), 0, p.n)
		return
	}
	blocks := number(len(p.heads) / headSize)
	end := number(len(selected) * 64)
	for b := range blocks {
		first, at := p.block(b)
		next := end
		if b+1 < blocks {
			next, _ = p.block(b + 1)
		}
		if !selected.any(first, next) {
			continue
		}
		// The distance in the stream is that to the block before.
		d := uint32(p.stream[at])
		if d >= twoBytes {
			d, _ = longCode(d, p.stream, at+1)
		}
		f(first-d-1, at, min(blockSize, p.n-b*blockSize))
	}
}

// dampedWords is how long the bodies are whose scores a table remembers.
const dampedWords = 1 << 8

// dampedTable remembers rank.Damped by occurrences and length of the body for
// one mean length: the same few hundred values come again and again.
type dampedTable struct {
	average float64
	values  [codesPerTable * dampedWords]float64 // 0: not known yet
}

// reset makes the table one for a mean length.
func (t *dampedTable) reset(average float64) {
	if t.average != average {
		clear(t.values[:])
		t.average = average
	}
}

// of is the value for a passage's occurrences and the words of its body.
func (t *dampedTable) of(o occurrences, words int32) float64 {
	if v := t.known(o, words); v != 0 {
		return v
	}
	return t.reckon(o, words)
}

// known is of where that is known, else 0.
func (t *dampedTable) known(o occurrences, words int32) float64 {
	if uint32(words) >= dampedWords { //nolint:gosec // a negative length is a great one
		return 0
	}
	return t.values[uint16(o)*dampedWords+uint16(words)] //nolint:gosec // below dampedWords
}

// reckon is of where that is not known.
func (t *dampedTable) reckon(o occurrences, words int32) float64 {
	v := rank.Damped(o.counts(), rank.BodyNorm(words, t.average))
	if uint32(words) < dampedWords { //nolint:gosec // a negative length is a great one
		t.values[uint16(o)*dampedWords+uint16(words)] = v //nolint:gosec // below dampedWords
	}
	return v
}

// score adds a term's share to the scores of the selected passages; nil selects
// all. What has been gathered of further terms of the same word is added to its
// occurrences and taken out; nil for a word of one term.
func (s *segment) score(term uint32, weight float64, selected bitmap, t *dampedTable, scores []float64, gathered []occurrences) {
	p := s.postings(term)
	scores = scores[:len(s.bodyWords)]
	if selected == nil {
		t.scoreAll(p.stream, s.bodyWords, weight, scores, gathered)
		return
	}
	p.eachBlock(selected, func(previous uint32, at int, n uint32) {
		t.scoreSome(p.stream[at:], n, previous, s.bodyWords, weight, selected, scores, gathered)
	})
}

// scoreAll is score for all passages. It is most of what words cost a search: in a
// closure, or with a look at a selection, it would take half as long again.
func (t *dampedTable) scoreAll(stream []byte, words []int32, weight float64, scores []float64, gathered []occurrences) {
	passage := ^uint32(0)
	for at := 0; at < len(stream); {
		d := uint32(stream[at])
		at++
		if d >= twoBytes {
			d, at = longCode(d, stream, at)
		}
		passage += d + 1
		o := occurrences(stream[at])
		at++
		if gathered != nil {
			if more := gathered[passage]; more != 0 {
				o = o.merge(more)
				gathered[passage] = 0
			}
		}
		v := t.known(o, words[passage])
		if v == 0 {
			v = t.reckon(o, words[passage])
		}
		scores[passage] += weight * v
	}
}

// scoreSome is score for n postings, the passage of the one before them being previous.
func (t *dampedTable) scoreSome(stream []byte, n, previous uint32, words []int32, weight float64, selected bitmap, scores []float64, gathered []occurrences) {
	passage, at := previous, 0
	for range n {
		d := uint32(stream[at])
		at++
		if d >= twoBytes {
			d, at = longCode(d, stream, at)
		}
		passage += d + 1
		o := occurrences(stream[at])
		at++
		if !selected.has(passage) {
			continue
		}
		if gathered != nil {
			if more := gathered[passage]; more != 0 {
				o = o.merge(more)
				gathered[passage] = 0
			}
		}
		v := t.known(o, words[passage])
		if v == 0 {
			v = t.reckon(o, words[passage])
		}
		scores[passage] += weight * v
	}
}

// scoreWord is score for a word of several terms: the occurrences of all but the
// most frequent one are gathered first. x.merged is all zero before and after.
func (s *segment) scoreWord(terms []uint32, weight float64, selected bitmap, x *scratch, scores []float64) {
	most := terms[0]
	for _, term := range terms[1:] {
		if s.terms.passages[term] > s.terms.passages[most] {
			most = term
		}
	}
	gathered, touched := x.occurrences(len(s.bodyWords)), x.touched[:0]
	for _, term := range terms {
		if term != most {
			p := s.postings(term)
			p.each(selected, func(passage uint32, o occurrences) {
				before := gathered[passage]
				if before == 0 {
					touched = append(touched, passage)
				}
				gathered[passage] = before.merge(o)
			})
		}
	}
	x.touched = touched
	s.score(most, weight, selected, &x.damped, scores, gathered)
	for _, passage := range touched {
		if o := gathered[passage]; o != 0 {
			scores[passage] += weight * x.damped.of(o, s.bodyWords[passage])
			gathered[passage] = 0
		}
	}
}
