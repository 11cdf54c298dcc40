package resident

import (
	"encoding/binary"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// occurrences are rank.Counts in one byte: the body's count in the lower bits, then
// one bit each for title, heading and path. No posting has 0.
type occurrences uint8

const (
	bodyMask    occurrences = 1<<5 - 1
	titleOnce   occurrences = 1 << 5
	headingOnce occurrences = 1 << 6
	pathOnce    occurrences = 1 << 7
	_           uint        = uint(bodyMask) - rank.MaxBody // MaxBody fits
	_           uint        = rank.MaxBody - uint(bodyMask) // and uses all of the bits

	allOccurrences = 1 << 8 // number of values
)

// add counts another occurrence at a position.
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

// blockSize is the number of postings in a block. Where a term has more than one
// block, its postings begin with a head for each: the block's first passage and the
// offset of its postings in the stream.
const (
	blockSize = 128
	headSize  = 8
)

// postings are the passages that contain a term, in rising order. Each is a varint of
// the distance to the passage before, minus 1, and a byte of occurrences.
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

// block returns the first passage of a block and its offset in the stream.
func (p *postings) block(b uint32) (first uint32, offset int) {
	h := p.heads[b*headSize:]
	return binary.LittleEndian.Uint32(h), int(binary.LittleEndian.Uint32(h[4:]))
}

// each calls f for the postings of selected passages, in rising order; nil selects
// all. It skips blocks without a selected passage.
func (p *postings) each(selected bitmap, f func(passage uint32, o occurrences)) {
	p.eachBlock(selected, func(previous uint32, i int, n uint32) {
		b := p.stream
		passage := previous
		for range n {
			d := uint32(b[i])
			i++
			if d >= twoBytes {
				d, i = longVarint(d, b, i)
			}
			passage += d + 1
			o := occurrences(b[i])
			i++
			if selected == nil || selected.has(passage) {
				f(passage, o)
			}
		}
	})
}

// eachBlock calls f for the blocks that may have selected passages: with the passage
// before the block's first one (which wraps below 0), the block's offset in the
// stream, and its number of postings.
func (p *postings) eachBlock(selected bitmap, f func(previous uint32, offset int, n uint32)) {
	if p.heads == nil || selected == nil {
		f(^uint32(0), 0, p.n)
		return
	}
	blocks := u32(len(p.heads) / headSize)
	end := u32(len(selected) * 64)
	for b := range blocks {
		first, offset := p.block(b)
		next := end
		if b+1 < blocks {
			next, _ = p.block(b + 1)
		}
		if !selected.any(first, next) {
			continue
		}
		// The first distance is that from the block before.
		d := uint32(p.stream[offset])
		if d >= twoBytes {
			d, _ = longVarint(d, p.stream, offset+1)
		}
		f(first-d-1, offset, min(blockSize, p.n-b*blockSize))
	}
}

// tableWords bounds the body lengths in a saturationTable.
const tableWords = 1 << 8

// A saturationTable caches rank.Saturation by occurrences and body length, for one
// mean length: a search needs the same few hundred values many times.
type saturationTable struct {
	average float64
	values  [allOccurrences * tableWords]float64 // 0: not computed yet
}

// reset prepares the table for a mean length.
func (t *saturationTable) reset(average float64) {
	if t.average != average {
		clear(t.values[:])
		t.average = average
	}
}

// value returns the saturation of a passage's occurrences, given its body length.
func (t *saturationTable) value(o occurrences, words int32) float64 {
	if v := t.cached(o, words); v != 0 {
		return v
	}
	return t.compute(o, words)
}

// cached returns the value if it has been computed, else 0.
func (t *saturationTable) cached(o occurrences, words int32) float64 {
	if uint32(words) >= tableWords { //nolint:gosec // a negative length is out of range, too
		return 0
	}
	return t.values[uint16(o)*tableWords+uint16(words)] //nolint:gosec // below tableWords
}

// compute computes a value and caches it.
func (t *saturationTable) compute(o occurrences, words int32) float64 {
	v := rank.Saturation(o.counts(), rank.LengthNorm(words, t.average))
	if uint32(words) < tableWords { //nolint:gosec // a negative length is out of range, too
		t.values[uint16(o)*tableWords+uint16(words)] = v //nolint:gosec // below tableWords
	}
	return v
}

// score adds the scores of a term to those of the selected passages.
// others, nil for a word of one term, are occurrences of the word's other terms by
// passage. score merges them with those of the term and clears the ones it used.
func (s *segment) score(term uint32, weight float64, selected bitmap, t *saturationTable, scores []float64, others []occurrences) {
	p := s.postings(term)
	scores = scores[:len(s.bodyWords)]
	p.eachBlock(selected, func(previous uint32, offset int, n uint32) {
		t.scoreSelected(p.stream[offset:], n, previous, s.bodyWords, weight, selected, scores, others)
	})
}

// scoreSelected is score for n postings that follow the passage previous.
func (t *saturationTable) scoreSelected(stream []byte, n, previous uint32, words []int32, weight float64, selected bitmap, scores []float64, others []occurrences) {
	passage, i := previous, 0
	for range n {
		d := uint32(stream[i])
		i++
		if d >= twoBytes {
			d, i = longVarint(d, stream, i)
		}
		passage += d + 1
		o := occurrences(stream[i])
		i++
		if !selected.has(passage) {
			continue
		}
		if others != nil {
			if other := others[passage]; other != 0 {
				o = o.merge(other)
				others[passage] = 0
			}
		}
		v := t.cached(o, words[passage])
		if v == 0 {
			v = t.compute(o, words[passage])
		}
		scores[passage] += weight * v
	}
}

// scoreWord is score for a word of several terms. It collects the occurrences of all
// terms but the most frequent one, and merges them while it scores that one.
func (s *segment) scoreWord(terms []uint32, weight float64, selected bitmap, x *scratch, scores []float64) {
	frequent := terms[0]
	for _, term := range terms[1:] {
		if s.terms.passages[term] > s.terms.passages[frequent] {
			frequent = term
		}
	}
	others, passages := x.occurrences(len(s.bodyWords)), x.passages[:0]
	for _, term := range terms {
		if term != frequent {
			p := s.postings(term)
			p.each(selected, func(passage uint32, o occurrences) {
				before := others[passage]
				if before == 0 {
					passages = append(passages, passage)
				}
				others[passage] = before.merge(o)
			})
		}
	}
	x.passages = passages
	s.score(frequent, weight, selected, &x.saturation, scores, others)
	s.scoreOthers(x, weight, scores, others)
}

// scoreOthers adds the scores of those of x.passages that have occurrences of a word's
// other terms alone, and clears these.
func (s *segment) scoreOthers(x *scratch, weight float64, scores []float64, others []occurrences) {
	for _, passage := range x.passages {
		if o := others[passage]; o != 0 {
			scores[passage] += weight * x.saturation.value(o, s.bodyWords[passage])
			others[passage] = 0
		}
	}
}
