package resident

import (
	"math"
)

// pageBytes is about how large the pieces are in which vectors are kept: small
// enough that a builder wastes little while it grows.
const pageBytes = 1 << 20

// vectors are a segment's vectors of one length, numbered in the order of their
// passages. Each is kept as bytes, to be compared exactly enough, and as bits,
// to find out quickly which are worth it.
type vectors struct {
	length int
	// passages of the vectors, rising; nil when every passage of the segment has one.
	passages []uint32
	// slots are the vectors of the passages, -1 for none; nil like passages.
	slots []int32

	shift   int      // a page has 1<<shift vectors
	pages   [][]int8 // components, as shares of the greatest one
	inverse []float32
	// codes are the bits of each vector, coder.words apiece.
	codes []uint64
	coder *coder
}

func (v *vectors) count() int { return len(v.inverse) }

// bytes leaves the coder out, which several segments may share.
func (v *vectors) bytes() int64 {
	n := int64(4*(len(v.passages)+len(v.slots)+len(v.inverse)) + 8*len(v.codes))
	for _, p := range v.pages {
		n += int64(cap(p)) + 24
	}
	return n
}

// slot returns the vector of a passage, -1 for none.
func (v *vectors) slot(passage uint32) int {
	if v.slots == nil {
		return int(passage)
	}
	return int(v.slots[passage])
}

// present returns which of the passages from 64*word on have a vector.
func (v *vectors) present(word int) uint64 {
	if v.slots == nil {
		return ^uint64(0)
	}
	bits := uint64(0)
	for i, slot := range v.slots[word*64 : min(word*64+64, len(v.slots))] {
		if slot >= 0 {
			bits |= 1 << i
		}
	}
	return bits
}

func (v *vectors) passage(slot int) uint32 {
	if v.passages == nil {
		return number(slot)
	}
	return v.passages[slot]
}

// components returns a vector, to be multiplied by its inverse for unit length.
func (v *vectors) components(slot int) []int8 {
	at := slot & (1<<v.shift - 1) * v.length
	return v.pages[slot>>v.shift][at : at+v.length]
}

func (v *vectors) code(slot int) []uint64 {
	w := v.coder.words
	return v.codes[slot*w : slot*w+w]
}

// similarity is the cosine of a vector and a question.
func (v *vectors) similarity(slot int, q *question) float64 {
	return q.similarity(v.components(slot), v.inverse[slot])
}

// question is a vector to compare others with.
type question struct {
	vector     []float32
	components []int16
	inverse    float64
	code       []uint64
	coder      *coder // that code is of
}

// similarity is the cosine of the question and a vector of these components.
func (q *question) similarity(components []int8, inverse float32) float64 {
	return max(-1, min(1, float64(dot(components, q.components))*q.inverse*float64(inverse)))
}

// set makes q a question by a vector; false when the vector has no direction.
func (q *question) set(vector []float32) bool {
	q.coder, q.inverse = nil, 0
	greatest := magnitude(vector)
	if greatest == 0 {
		return false
	}
	q.vector = append(q.vector[:0], vector...)
	q.components = q.components[:0]
	sum := 0.0
	for _, x := range vector {
		c := math.RoundToEven(float64(x) / greatest * math.MaxInt16)
		q.components = append(q.components, int16(c))
		sum += c * c
	}
	q.inverse = 1 / math.Sqrt(sum)
	return true
}

// coded returns the question's bits under a coder.
func (q *question) coded(c *coder) []uint64 {
	if q.coder != c {
		if cap(q.code) < c.words {
			q.code = make([]uint64, c.words)
		}
		q.code = q.code[:c.words]
		c.encode(q.code, q.vector)
		q.coder = c
	}
	return q.code
}

// magnitude is the greatest component, 0 where there is none or one is no number.
func magnitude(vector []float32) float64 {
	greatest := float32(0)
	for _, x := range vector {
		if x != x {
			return 0
		}
		greatest = max(greatest, x, -x)
	}
	if math.IsInf(float64(greatest), 0) {
		return 0
	}
	return float64(greatest)
}

// vectorBuilder gathers vectors of one length.
type vectorBuilder struct {
	out vectors
	sum []float64 // of all vectors at unit length
}

func newVectorBuilder(length int) *vectorBuilder {
	shift := 0
	for shift < 10 && length<<(shift+1) <= pageBytes {
		shift++
	}
	return &vectorBuilder{out: vectors{length: length, shift: shift}, sum: make([]float64, length)}
}

// room returns where the next vector of a passage is to be written.
func (b *vectorBuilder) room(passage uint32) []int8 {
	v := &b.out
	n := v.count()
	if n&(1<<v.shift-1) == 0 {
		v.pages = append(v.pages, nil)
	}
	page := &v.pages[len(v.pages)-1]
	from := len(*page)
	if cap(*page) < from+v.length {
		// The first pages of small segments grow, later ones are made whole.
		size := v.length << v.shift
		if len(v.pages) == 1 {
			size = min(size, max(2*from, 4*v.length))
		}
		grown := make([]int8, from, size)
		copy(grown, *page)
		*page = grown
	}
	*page = (*page)[:from+v.length]
	v.passages = append(v.passages, passage)
	return (*page)[from:]
}

// add takes the vector of a passage. Passages come in rising order.
func (b *vectorBuilder) add(passage uint32, vector []float32) {
	greatest := magnitude(vector)
	if greatest == 0 {
		return // it has no direction: its similarity is unknown
	}
	to := b.room(passage)
	sum := 0
	for i, x := range vector {
		c := math.RoundToEven(float64(x) / greatest * math.MaxInt8)
		to[i] = int8(c)
		sum += int(to[i]) * int(to[i])
	}
	b.take(to, float32(1/math.Sqrt(float64(sum))))
}

// copy takes a vector of another segment.
func (b *vectorBuilder) copy(passage uint32, from *vectors, slot int) {
	to := b.room(passage)
	copy(to, from.components(slot))
	b.take(to, from.inverse[slot])
}

func (b *vectorBuilder) take(components []int8, inverse float32) {
	b.out.inverse = append(b.out.inverse, inverse)
	for i, c := range components {
		b.sum[i] += float64(float32(c) * inverse)
	}
}

// finish codes the vectors of a segment of so many passages. near codes vectors
// like these and is used when these are too few to learn from; it may be nil.
func (b *vectorBuilder) finish(passages int, near *coder) *vectors {
	v := &b.out
	if last := len(v.pages) - 1; last >= 0 {
		v.pages[last] = exact(v.pages[last])
	}
	v.pages, v.inverse = exact(v.pages), exact(v.inverse)
	if v.count() == passages {
		v.passages = nil
	} else {
		v.passages = exact(v.passages)
		v.slots = make([]int32, passages)
		for i := range v.slots {
			v.slots[i] = -1
		}
		for slot, p := range v.passages {
			v.slots[p] = int32(slot) //nolint:gosec // below the number of passages
		}
	}
	v.coder = near
	if near == nil || near.sample < v.count() {
		v.coder = newCoder(b.sum, v.count())
	}
	v.codes = make([]uint64, v.count()*v.coder.words)
	wide := make([]float32, v.length)
	for slot := range v.count() {
		for i, c := range v.components(slot) {
			wide[i] = float32(c) * v.inverse[slot]
		}
		v.coder.encode(v.code(slot), wide)
	}
	out := *v // a pointer into the builder would keep all of it
	return &out
}

func (b *vectorBuilder) bytes() int64 {
	n := int64(4*(cap(b.out.passages)+cap(b.out.inverse)) + 8*len(b.sum))
	for _, p := range b.out.pages {
		n += int64(cap(p))
	}
	return n
}
