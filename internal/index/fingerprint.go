package index

import "math/bits"

// A Fingerprint tells, without their texts, that two passages have the same words or
// nearly the same. It is made of the terms of a passage, so that spaces, case,
// punctuation and markup do not count.
type Fingerprint struct {
	// Body is the hash of the terms of the passage's body with their positions.
	Body uint64
	// Similar is the similarity hash of the body's distinct terms, without numbers
	// (Charikar, Similarity estimation techniques from rounding algorithms, 2002): the share of
	// its bits in which two passages differ is about the angle between their sets of terms, in
	// half turns. Manku, Jain and Das Sarma, Detecting near-duplicates for web crawling, 2007,
	// find copies of pages with it.
	Similar uint64
	// Title is the hash of the terms of the document's title with their positions, and
	// TitleForm that without numbers.
	Title, TitleForm uint32
}

// Distance returns the number of bits in which the similarity hashes differ, from 0 for the
// same terms to 64. Unrelated texts differ in about 30.
func (f *Fingerprint) Distance(g *Fingerprint) int { return bits.OnesCount64(f.Similar ^ g.Similar) }

// FingerprintOf returns the fingerprint of a passage's lexemes.
func FingerprintOf(l Lexemes) (Fingerprint, error) {
	var f Fingerprinter
	err := l.Each(func(term []byte, positions []uint16) {
		h := HashTerm(term)
		inBody := false
		for _, p := range positions {
			f.Add(h, p)
			inBody = inBody || FieldOf(p) == FieldBody
		}
		if inBody {
			f.AddDistinct(h)
		}
	})
	return f.Sum(), err
}

// A TermHash is the hash of a term, as a Fingerprinter needs it.
type TermHash uint64

// isNumber is the bit of a TermHash that marks the term of a number or version.
const isNumber TermHash = 1

// HashTerm returns the hash of a term. It is the same in every process.
func HashTerm(term []byte) TermHash {
	h := uint64(14695981039346656037) // FNV-1a
	number := true
	for i, c := range term {
		h = (h ^ uint64(c)) * 1099511628211
		if (c < '0' || c > '9') && c != '.' && (c != 'v' || i > 0) {
			number = false
		}
	}
	t := TermHash(mix(h)) &^ isNumber
	if number {
		t |= isNumber
	}
	return t
}

// mix spreads the bits of a hash (the finalizer of SplitMix64).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// A Fingerprinter makes fingerprints. Its zero value is ready to use.
type Fingerprinter struct {
	out Fingerprint
	// lanes count, in a byte for each bit of the hash, the terms that set the bit; lane i
	// has those of byte i. Before a byte can overflow they are added to counts.
	lanes  [8]uint64
	inLane int
	counts [64]int32
	terms  int32
}

// spread returns the bits of a byte as the bytes of a word, 0 or 1 each.
func spread(b byte) uint64 {
	const ones = 0x0101010101010101
	own := uint64(b) * ones & 0x8040201008040201 // bit i in byte i
	return (own + 0x00406070787c7e7f) >> 7 & ones
}

// Add adds an occurrence of a term. The order of calls does not matter.
func (f *Fingerprinter) Add(term TermHash, position uint16) {
	h := mix(uint64(term) + uint64(position)*0x9e3779b97f4a7c15)
	switch FieldOf(position) {
	case FieldTitle:
		f.out.Title += uint32(h >> 32)
		if term&isNumber == 0 {
			f.out.TitleForm += uint32(h >> 32)
		}
	case FieldBody:
		f.out.Body += h
	}
}

// AddDistinct adds a term of the body, once however often it occurs.
func (f *Fingerprinter) AddDistinct(term TermHash) {
	if term&isNumber != 0 {
		return
	}
	for i := range f.lanes {
		f.lanes[i] += spread(byte(term >> (8 * i) & 0xff))
	}
	f.terms++
	if f.inLane++; f.inLane == 255 {
		f.flush()
	}
}

func (f *Fingerprinter) flush() {
	for i, lane := range f.lanes {
		for b := range 8 {
			f.counts[8*i+b] += int32(lane >> (8 * b) & 0xff)
		}
	}
	f.lanes, f.inLane = [8]uint64{}, 0
}

// Sum returns the fingerprint of what was added, and begins another.
func (f *Fingerprinter) Sum() Fingerprint {
	f.flush()
	for bit, n := range f.counts {
		if 2*n > f.terms {
			f.out.Similar |= 1 << bit
		}
	}
	out := f.out
	*f = Fingerprinter{}
	return out
}
