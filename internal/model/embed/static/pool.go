package static

import (
	"math"
	"math/bits"
)

// The scale of a row is at most maxScale. The weight of a feature is in units of 1/weightUnit.
const (
	maxScale   = 2047
	weightUnit = 16
	maxCount   = 64  // further occurrences of a feature add nothing
	flushAfter = 512 // the sum of so many features is below 1<<31
)

// A Pool computes the vectors of texts. It is not safe for concurrent use.
type Pool struct {
	table  *Table
	reader *Reader
	damped [maxCount]int32
	counts counter
	grams  []uint32
	// pairs are the sums of rows, of two dimensions each: the even one in the lower 32
	// bits. Their values are above zero: each dimension has zero times weights too much.
	pairs   [rowSize]uint64
	weights int64
	spread  [256]uint64       // a byte of a row as such a pair
	signs   [Dimensions]int32 // the sums of signs
	totals  [Dimensions]int64
}

// NewPool returns a pool of a table.
func NewPool(table *Table, reader *Reader) *Pool {
	p := &Pool{table: table, reader: reader, counts: newCounter()}
	for n := 1; n < maxCount; n++ {
		// Rounding hides differences of the logarithm between machines.
		p.damped[n] = int32(math.Round(weightUnit * Damped(n)))
	}
	for both := range p.spread {
		p.spread[both] = uint64(both&15) | uint64(both>>4)<<32
	}
	return p
}

// Damped returns the weight of a feature that occurs n times in a text: 1 + ln n.
func Damped(n int) float64 { return 1 + math.Log(float64(n)) }

// Embed writes the vector of a text to vector, which has Dimensions values. The vector has unit length. All sums are over
// integers, so that every machine computes the same vector. All texts without words have the same vector.
func (p *Pool) Embed(vector []float32, text string) {
	p.counts.reset()
	for _, feature := range p.reader.Features(text) {
		p.counts.add(HashWord(feature.Term), feature)
	}
	clear(p.totals[:])
	pending := 0
	for _, slot := range p.counts.used {
		entry := &p.counts.table[slot]
		weight := p.damped[min(entry.count, maxCount-1)]
		if row, ok := p.table.lookup(entry.hash); ok {
			p.add(row, weight*p.table.scale(row))
			pending++
		} else {
			pending += p.addUnknown(entry, weight)
		}
		if pending >= flushAfter {
			p.flush()
			pending = 0
		}
	}
	p.flush()
	p.unit(vector)
}

// addUnknown adds an unknown word: the mean of its n-grams, and a pseudo-random vector of the word, which makes two texts
// with the same unknown word similar.
func (p *Pool) addUnknown(entry *counted, weight int32) int {
	p.grams = p.grams[:0]
	if !entry.whole {
		p.grams = AppendGrams(p.grams, entry.term, p.table.grams)
	}
	length := int32(len(p.grams)) //nolint:gosec // grams of at most maxGramWord runes
	for _, gram := range p.grams {
		row := p.table.words + int(gram)
		p.add(row, weight*p.table.scale(row)/length)
	}
	p.addSigns(entry.hash, weight*p.table.sign)
	return 2
}

// add adds a row. A sum of flushAfter rows of the largest weight and value has less than
// 32 bits, so that the lower half of a pair never runs over.
func (p *Pool) add(row int, weight int32) {
	values := p.table.row(row)
	values = values[:rowSize]
	times := uint64(weight) //nolint:gosec // weights are not negative
	for i := range rowSize {
		p.pairs[i] += times * p.spread[values[i]]
	}
	p.weights += int64(weight)
}

func (p *Pool) addSigns(hash uint64, weight int32) {
	for block := 0; block < Dimensions; block += 64 {
		hash = nextSigns(hash)
		for i, signs := 0, hash; i < 64; i, signs = i+1, signs>>1 {
			p.signs[block+i] += weight * (1 - 2*int32(signs&1))
		}
	}
}

func (p *Pool) flush() {
	offset := zero * p.weights
	for i, pair := range p.pairs {
		p.totals[2*i] += int64(pair&math.MaxUint32) - offset + int64(p.signs[2*i])
		p.totals[2*i+1] += int64(pair>>32) - offset + int64(p.signs[2*i+1])
	}
	clear(p.pairs[:])
	clear(p.signs[:])
	p.weights = 0
}

func (p *Pool) unit(vector []float32) {
	square := 0.0
	for _, total := range p.totals {
		square += float64(float64(total) * float64(total))
	}
	if square == 0 {
		for i := range vector {
			vector[i] = float32(1 / math.Sqrt(float64(len(vector))))
		}
		return
	}
	scale := 1 / math.Sqrt(square)
	for i, total := range p.totals {
		vector[i] = float32(float64(total) * scale)
	}
}

// A counter counts features in an open hash table, which is reused.
type counter struct {
	table []counted
	used  []uint32 // occupied slots, in order of insertion
}

type counted struct {
	hash  uint64
	term  string
	count int
	whole bool
}

func newCounter() counter { return counter{table: make([]counted, 1<<10)} }

func (c *counter) reset() {
	for _, slot := range c.used {
		c.table[slot] = counted{}
	}
	c.used = c.used[:0]
}

func (c *counter) add(hash uint64, feature Feature) {
	if 2*len(c.used) >= len(c.table) {
		c.grow()
	}
	slot := c.find(hash)
	entry := &c.table[slot]
	if entry.count == 0 {
		*entry = counted{hash: hash, term: feature.Term, whole: feature.Whole}
		c.used = append(c.used, slot)
	}
	entry.count++
	entry.whole = entry.whole && feature.Whole
}

func (c *counter) find(hash uint64) uint32 {
	mask := uint64(len(c.table) - 1) //nolint:gosec // a table is never empty
	slot := hash >> (64 - bits.Len64(mask))
	for c.table[slot].count != 0 && c.table[slot].hash != hash {
		slot = (slot + 1) & mask
	}
	return uint32(slot) //nolint:gosec // below the length of the table
}

func (c *counter) grow() {
	old := c.table
	c.table = make([]counted, 2*len(old))
	for i, from := range c.used {
		slot := c.find(old[from].hash)
		c.table[slot] = old[from]
		c.used[i] = slot
	}
}
