package resident

import (
	"slices"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// A cursor reads the postings of a term in rising order.
type cursor struct {
	stream []byte
	before uint32 // the passage before the next one; it wraps below 0
}

// wordCursors are those of the terms of a word, the most frequent one last.
type wordCursors struct {
	cursors []cursor
	weight  float64
}

// scoreAll sets the scores of all passages of a part: what [segment.score] and
// [segment.scoreWord] add up of selected ones, window by window. Words cost a search most
// of its time here.
func (p *part) scoreAll(x *scratch, words []rank.Word, window int, scores []float64) {
	x.cursors, x.words = x.cursors[:0], x.words[:0]
	for w := range words {
		x.terms = p.find(x.terms[:0], words[w].Terms)
		// The numbers of terms rise as they become rarer.
		slices.SortFunc(x.terms, func(a, b uint32) int { return int(b) - int(a) })
		first := len(x.cursors)
		for _, term := range x.terms {
			x.cursors = append(x.cursors, cursor{p.postings(term).stream, ^uint32(0)})
		}
		if len(x.terms) > 0 {
			x.words = append(x.words, wordCursors{x.cursors[first:], words[w].Weight})
		}
	}
	defer func() { // the scratch memory must not keep a segment
		clear(x.cursors)
		clear(x.words)
	}()
	var others []occurrences
	n := len(p.segment.bodyWords)
	for from := 0; from < n; from += window {
		end := min(from+window, n)
		clear(scores[from:end])
		for w := range x.words {
			word := &x.words[w]
			last := len(word.cursors) - 1
			if last == 0 {
				word.cursors[0].score(u32(end), word.weight, p.segment.bodyWords, &x.saturation, scores, nil)
				continue
			}
			if others == nil {
				others = x.occurrences(n)
			}
			x.passages = x.passages[:0]
			for c := range word.cursors[:last] {
				x.passages = word.cursors[c].collect(u32(end), others, x.passages)
			}
			word.cursors[last].score(u32(end), word.weight, p.segment.bodyWords, &x.saturation, scores, others)
			p.segment.scoreOthers(x, word.weight, scores, others)
		}
	}
}

// score adds the scores of the term's postings below end; others is as in [segment.score].
func (c *cursor) score(end uint32, weight float64, words []int32, t *saturationTable, scores []float64, others []occurrences) {
	stream, passage, i := c.stream, c.before, 0
	for i < len(stream) {
		d, next := uint32(stream[i]), i+1
		if d >= twoBytes {
			d, next = longVarint(d, stream, next)
		}
		if passage+d+1 >= end {
			break
		}
		passage += d + 1
		o := occurrences(stream[next])
		i = next + 1
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
	c.stream, c.before = stream[i:], passage
}

// collect merges the term's occurrences below end into those of the word's other terms,
// and appends the passages that had none.
func (c *cursor) collect(end uint32, others []occurrences, passages []uint32) []uint32 {
	stream, passage, i := c.stream, c.before, 0
	for i < len(stream) {
		d, next := uint32(stream[i]), i+1
		if d >= twoBytes {
			d, next = longVarint(d, stream, next)
		}
		if passage+d+1 >= end {
			break
		}
		passage += d + 1
		before := others[passage]
		if before == 0 {
			passages = append(passages, passage)
		}
		others[passage] = before.merge(occurrences(stream[next]))
		i = next + 1
	}
	c.stream, c.before = stream[i:], passage
	return passages
}
