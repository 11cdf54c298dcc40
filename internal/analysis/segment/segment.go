package segment

import (
	"unicode"
	"unicode/utf8"
)

// Costs of a segmentation. The fewest words win; a word of the dictionary costs
// less than a single character outside of it, so that text is read as words
// wherever it can be.
const (
	wordCost    = 10
	unknownCost = 12 // for each character
)

// maxRun is how many characters are segmented at once, and overlap how many of
// them at the end are segmented again together with what follows.
const (
	maxRun  = 4096
	overlap = 128
)

// Words splits text into words and calls emit with the byte offsets of each, in
// order and without gaps. Text is letters and marks of one script; the first
// letter decides which. Characters that are in no word of the dictionary form one
// word up to the next one that is: so a foreign name stays whole. Text of a script
// without a dictionary is one word. The time is linear in the length of the text.
func Words(text string, emit func(start, end int)) {
	first, _ := utf8.DecodeRuneInString(text)
	d, ok := open(first)
	if !ok {
		if text != "" {
			emit(0, len(text))
		}
		return
	}
	for start := 0; start < len(text); {
		runes, offsets := decode(text[start:])
		cut := len(runes)
		if start+offsets[cut] < len(text) {
			cut -= overlap
		}
		end := 0
		words := d.segment(runes)
		for i, w := range words {
			if i > 0 && w.end > cut {
				break // the last words may change with what follows
			}
			emit(start+offsets[w.start], start+offsets[w.end])
			end = offsets[w.end]
		}
		start += end
	}
}

// decode returns the first characters of a text, maxRun at most, and the byte
// offset of each and of the end.
func decode(text string) (runes []rune, offsets []int) {
	for i, r := range text {
		if len(runes) == maxRun {
			return runes, append(offsets, i)
		}
		runes, offsets = append(runes, r), append(offsets, i)
	}
	return runes, append(offsets, len(text))
}

// word is a stretch of characters.
type word struct{ start, end int }

// segment returns the words of a text by the shortest path through all its
// segmentations.
func (d dictionary) segment(text []rune) []word {
	type step struct {
		cost  int
		from  int
		known bool
	}
	best := make([]step, len(text)+1)
	reach := func(from, to, cost int, known bool) {
		if total := best[from].cost + cost; best[to].cost == 0 || total < best[to].cost {
			best[to] = step{total, from, known}
		}
	}
	for i := range text {
		if i > 0 && best[i].cost == 0 {
			continue // not reached: inside a cluster
		}
		d.prefixes(text[i:], func(length int) {
			if end := i + length; end == len(text) || startsCluster(text, end) {
				reach(i, end, wordCost, true)
			}
		})
		end := i + 1
		for end < len(text) && !startsCluster(text, end) {
			end++
		}
		reach(i, end, unknownCost*(end-i), false)
	}
	count := 0
	for i := len(text); i > 0; i = best[i].from {
		count++
	}
	words := make([]word, 0, count)
	known := make([]bool, 0, count)
	for i := len(text); i > 0; i = best[i].from {
		s := best[i]
		if last := len(words) - 1; !s.known && last >= 0 && !known[last] {
			words[last].start = s.from // one unknown word with what follows it
			continue
		}
		words, known = append(words, word{s.from, i}), append(known, s.known)
	}
	for i, j := 0, len(words)-1; i < j; i, j = i+1, j-1 {
		words[i], words[j] = words[j], words[i]
	}
	return words
}

// startsCluster reports whether a word may begin at text[i], which is not the
// first character: not at a mark or a vowel that is written after its consonant,
// and not after a vowel that is written before it or a sign that stacks two
// consonants.
func startsCluster(text []rune, i int) bool {
	switch r := text[i]; r {
	case 0x0E30, 0x0E32, 0x0E33, 0x0E45, 0x0E46, // Thai vowels after their consonant, repetition
		0x0EB0, 0x0EB2, 0x0EB3, 0x0EBD, 0x0EC6: // the same of Lao
		return false
	default:
		if unicode.Is(unicode.M, r) || r == 0x200C || r == 0x200D {
			return false
		}
	}
	switch before := text[i-1]; {
	case 0x0E40 <= before && before <= 0x0E44, 0x0EC0 <= before && before <= 0x0EC4: // vowels before their consonant
		return false
	case before == 0x17D2, before == 0x1039: // Khmer coeng, Burmese virama
		return false
	}
	return true
}
