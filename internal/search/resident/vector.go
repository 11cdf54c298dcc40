package resident

import (
	"math"
)

// pageBytes is the approximate size of the pages that hold vectors: small enough that
// a growing builder wastes little.
const pageBytes = 1 << 20

// vectors are a segment's vectors of one length, numbered (by slot) in the order of
// their passages. Each vector has int8 components, for similarities, and a binary
// code, for a fast selection of the vectors that are compared by their components.
type vectors struct {
	length int
	// passages are the passages of the slots, rising; nil if every passage of the
	// segment has a vector.
	passages []uint32
	// slots are the slots of the passages, -1 for none; nil if passages is nil.
	slots []int32

	shift int      // a page has 1<<shift vectors
	pages [][]int8 // components, relative to a vector's greatest one
	scale []float32
	// codes are the binary codes, quantizer.words each.
	codes     []uint64
	quantizer *quantizer
}

func (v *vectors) count() int { return len(v.scale) }

// bytes returns the memory of the vectors without the quantizer, which segments may
// share.
func (v *vectors) bytes() int64 {
	n := int64(4*(len(v.passages)+len(v.slots)+len(v.scale)) + 8*len(v.codes))
	for _, p := range v.pages {
		n += int64(cap(p)) + 24
	}
	return n
}

// slot returns the slot of a passage's vector, -1 for none.
func (v *vectors) slot(passage uint32) int {
	if v.slots == nil {
		return int(passage)
	}
	return int(v.slots[passage])
}

// present returns which of the 64 passages of a bitmap's word have a vector.
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
		return u32(slot)
	}
	return v.passages[slot]
}

// components returns the components of a vector. Multiplied by scale they have unit
// length.
func (v *vectors) components(slot int) []int8 {
	start := slot & (1<<v.shift - 1) * v.length
	return v.pages[slot>>v.shift][start : start+v.length]
}

func (v *vectors) code(slot int) []uint64 {
	w := v.quantizer.words
	return v.codes[slot*w : slot*w+w]
}

// similarity returns the cosine of a vector and a query vector.
func (v *vectors) similarity(slot int, q *queryVector) float64 {
	return q.similarity(v.components(slot), v.scale[slot])
}

// A queryVector is compared with the vectors of passages.
type queryVector struct {
	vector     []float32
	components []int16
	scale      float64 // 0 for a vector without a direction
	code       []uint64
	quantizer  *quantizer // of code
}

// similarity returns the cosine with a vector given by its components and scale.
func (q *queryVector) similarity(components []int8, scale float32) float64 {
	return max(-1, min(1, float64(dot(components, q.components))*q.scale*float64(scale)))
}

// set sets the vector. It reports whether the vector has a direction.
func (q *queryVector) set(vector []float32) bool {
	q.quantizer, q.scale = nil, 0
	greatest := maxComponent(vector)
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
	q.scale = 1 / math.Sqrt(sum)
	return true
}

// codeBy returns the vector's code by a quantizer.
func (q *queryVector) codeBy(c *quantizer) []uint64 {
	if q.quantizer != c {
		if cap(q.code) < c.words {
			q.code = make([]uint64, c.words)
		}
		q.code = q.code[:c.words]
		c.encode(q.code, q.vector)
		q.quantizer = c
	}
	return q.code
}

// maxComponent returns the greatest absolute component; 0 if the vector is empty or a
// component is not finite.
func maxComponent(vector []float32) float64 {
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

// A vectorBuilder collects vectors of one length.
type vectorBuilder struct {
	out vectors
	sum []float64 // of the vectors at unit length
}

func newVectorBuilder(length int) *vectorBuilder {
	shift := 0
	for shift < 10 && length<<(shift+1) <= pageBytes {
		shift++
	}
	return &vectorBuilder{out: vectors{length: length, shift: shift}, sum: make([]float64, length)}
}

// allocate returns the components of a new vector of a passage.
func (b *vectorBuilder) allocate(passage uint32) []int8 {
	v := &b.out
	n := v.count()
	if n&(1<<v.shift-1) == 0 {
		v.pages = append(v.pages, nil)
	}
	page := &v.pages[len(v.pages)-1]
	start := len(*page)
	if cap(*page) < start+v.length {
		// The first page grows, because small segments fill only a part of it.
		size := v.length << v.shift
		if len(v.pages) == 1 {
			size = min(size, max(2*start, 4*v.length))
		}
		grown := make([]int8, start, size)
		copy(grown, *page)
		*page = grown
	}
	*page = (*page)[:start+v.length]
	v.passages = append(v.passages, passage)
	return (*page)[start:]
}

// add adds the vector of a passage. Passages come in rising order. A vector without a
// direction is left out: its similarity is unknown.
func (b *vectorBuilder) add(passage uint32, vector []float32) {
	greatest := maxComponent(vector)
	if greatest == 0 {
		return
	}
	to := b.allocate(passage)
	sum := 0
	for i, x := range vector {
		c := math.RoundToEven(float64(x) / greatest * math.MaxInt8)
		to[i] = int8(c)
		sum += int(to[i]) * int(to[i])
	}
	b.addScale(to, float32(1/math.Sqrt(float64(sum))))
}

// copy adds a vector of another segment.
func (b *vectorBuilder) copy(passage uint32, from *vectors, slot int) {
	to := b.allocate(passage)
	copy(to, from.components(slot))
	b.addScale(to, from.scale[slot])
}

func (b *vectorBuilder) addScale(components []int8, scale float32) {
	b.out.scale = append(b.out.scale, scale)
	for i, c := range components {
		b.sum[i] += float64(float32(c) * scale)
	}
}

// finish encodes the vectors of a segment of so many passages. existing is a quantizer
// of other vectors of the collection, nil for none. It is used if it has seen more
// vectors than there are here.
func (b *vectorBuilder) finish(passages int, existing *quantizer) *vectors {
	v := &b.out
	if last := len(v.pages) - 1; last >= 0 {
		v.pages[last] = trim(v.pages[last])
	}
	v.pages, v.scale = trim(v.pages), trim(v.scale)
	if v.count() == passages {
		v.passages = nil
	} else {
		v.passages = trim(v.passages)
		v.slots = make([]int32, passages)
		for i := range v.slots {
			v.slots[i] = -1
		}
		for slot, p := range v.passages {
			v.slots[p] = int32(slot) //nolint:gosec // below the number of passages
		}
	}
	v.quantizer = existing
	if existing == nil || existing.sample < v.count() {
		v.quantizer = newQuantizer(b.sum, v.count())
	}
	v.codes = make([]uint64, v.count()*v.quantizer.words)
	vector := make([]float32, v.length)
	for slot := range v.count() {
		for i, c := range v.components(slot) {
			vector[i] = float32(c) * v.scale[slot]
		}
		v.quantizer.encode(v.code(slot), vector)
	}
	out := *v // a pointer into the builder would keep all of it in memory
	return &out
}

func (b *vectorBuilder) bytes() int64 {
	n := int64(4*(cap(b.out.passages)+cap(b.out.scale)) + 8*len(b.sum))
	for _, p := range b.out.pages {
		n += int64(cap(p))
	}
	return n
}
