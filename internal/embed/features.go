package embed

import (
	"math/bits"
	"unicode/utf8"

	"magpie/internal/search/analysis"
)

// family is a kind of feature.
type family uint8

const (
	familyWord family = iota
	familyPair
	familyGram
	familyCount
)

// Seeds part the kinds of features from each other.
const (
	seedWord = 0x8A5CD789635D2DFF
	seedGram = 0xB5026F5AA96619E9
)

// Character sequences of minGram to maxGram runes are taken from words, the word's borders included.
const (
	minGram     = 3
	maxGram     = 5
	maxGramWord = 32 // runes of a word beyond which no sequences are taken
)

// featureCounts counts features in an open hash table that is reused from text to text.
type featureCounts struct {
	table  []feature
	mask   uint64   // length of the table less one
	used   []uint64 // slots in use, in the order of first sight
	tokens []analysis.Token
	word   [maxGramWord + 2]rune
}

type feature struct {
	hash   uint64 // 0: empty slot
	count  uint32
	family family
	stop   bool
}

// tableSize is the length of a new table, a power of two.
const tableSize = 1 << 13

func newFeatureCounts() *featureCounts {
	return &featureCounts{table: make([]feature, tableSize), mask: tableSize - 1}
}

func (f *featureCounts) reset() {
	for _, slot := range f.used {
		f.table[slot] = feature{}
	}
	f.used = f.used[:0]
}

func (f *featureCounts) add(hash uint64, kind family, stop bool) {
	if hash == 0 {
		hash = 1
	}
	if len(f.used)*2 >= len(f.table) {
		f.grow()
	}
	for slot := (hash >> 7) & f.mask; ; slot = (slot + 1) & f.mask {
		entry := &f.table[slot]
		if entry.hash == hash {
			entry.count++
			return
		}
		if entry.hash == 0 {
			*entry = feature{hash: hash, count: 1, family: kind, stop: stop}
			f.used = append(f.used, slot)
			return
		}
	}
}

func (f *featureCounts) grow() {
	old, slots := f.table, f.used
	f.table = make([]feature, 2*len(old))
	f.mask = f.mask*2 + 1
	f.used = make([]uint64, 0, len(f.table)/2)
	for _, from := range slots {
		slot := (old[from].hash >> 7) & f.mask
		for f.table[slot].hash != 0 {
			slot = (slot + 1) & f.mask
		}
		f.table[slot] = old[from]
		f.used = append(f.used, slot)
	}
}

// addGrams counts the character sequences of a word.
func (f *featureCounts) addGrams(term string) {
	length := 1
	f.word[0] = '<'
	for i := 0; i < len(term); {
		if length > maxGramWord {
			return
		}
		r, size := utf8.DecodeRuneInString(term[i:])
		f.word[length] = r
		length++
		i += size
	}
	f.word[length] = '>'
	length++
	if length < minGram+2 {
		return // the word itself says it all
	}
	word := f.word[:length]
	for start := 0; start+minGram <= len(word); start++ {
		hash := uint64(seedGram)
		for n, r := range word[start:min(start+maxGram, len(word))] {
			hash = combine(hash, uint64(r)) //nolint:gosec // a decoded rune is never negative
			if n+1 >= minGram && n+1 < length {
				f.add(finish(hash), familyGram, false)
			}
		}
	}
}

func hashString(seed uint64, s string) uint64 {
	hash := seed
	for len(s) >= 8 {
		hash = combine(hash, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
		s = s[8:]
	}
	tail := uint64(len(s)) << 56
	for i := range len(s) {
		tail |= uint64(s[i]) << (8 * i)
	}
	return finish(combine(hash, tail))
}

// combine mixes a value into a hash by a full multiplication, as wyhash does.
func combine(hash, value uint64) uint64 {
	high, low := bits.Mul64(hash^0x9E3779B97F4A7C15, value^0xD6E8FEB86659FD93)
	return high ^ low
}

func finish(hash uint64) uint64 {
	hash ^= hash >> 29
	hash *= 0xBF58476D1CE4E5B9
	return hash ^ hash>>32
}
