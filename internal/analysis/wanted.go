package analysis

import "unicode/utf8"

// wanted is the terms that a text is searched for. It is made for one text, and so has to be cheap to make.
type wanted struct {
	terms []wantedTerm // each once
	// Each list begins with 1 more than the index of a term, 0 where it is empty.
	byHash  [wantedLists]int32 // all terms
	byStart [wantedLists]int32 // terms by the first byte, without those whose start another one's begins
	// second has for each first byte of a word the second ones with which it may be stored under a term, in either case: a
	// bit for each value of their last five bits.
	second [utf8.RuneSelf]uint32
	// anyStart is set if a word may be stored under a term that begins differently.
	anyStart bool
}

type wantedTerm struct {
	text               string
	start              int32 // how much of it every word in ASCII begins with that is stored under it
	nextHash, nextWith int32 // in the two lists
}

const wantedLists = 64

// newWanted prepares to find terms in a text whose words in ASCII are stemmed by stem.
func newWanted(terms []string, stem stemmer) *wanted {
	w := &wanted{terms: make([]wantedTerm, 0, len(terms))}
	for _, text := range terms {
		if w.find(text) < 0 {
			w.add(text, stem)
		}
	}
	return w
}

func (w *wanted) add(text string, stem stemmer) {
	hash, number := hashOf(text), int32(len(w.terms))+1 // #nosec G115 -- a query has some thousands of terms at most
	t := wantedTerm{text: text, nextHash: w.byHash[hash]}
	w.byHash[hash] = number
	if text != "" && text[0] < utf8.RuneSelf {
		t.start = int32(stem.fixedPrefix(text)) // #nosec G115 -- as above
		if t.start == 0 && !w.anyStart {
			w.anyStart = true
			for i := range w.second {
				w.second[i] = ^uint32(0)
			}
		}
		if start := text[:t.start]; !w.begins(start) {
			list := text[0] % wantedLists
			t.nextWith = w.byStart[list]
			w.byStart[list] = number
			seconds := ^uint32(0)
			if len(start) > 1 {
				seconds = 1 << (start[1] % 32)
			}
			w.second[text[0]] |= seconds
			if 'a' <= text[0] && text[0] <= 'z' {
				w.second[text[0]-'a'+'A'] |= seconds
			}
		}
	}
	w.terms = append(w.terms, t)
}

func hashOf(term string) byte {
	n := len(term)
	if n == 0 {
		return 0
	}
	return (term[0] + 7*term[n/2] + 31*term[n-1]) % wantedLists
}

// find returns the index of a term, -1 where it is not wanted.
func (w *wanted) find(term string) int {
	for at := w.byHash[hashOf(term)]; at > 0; at = w.terms[at-1].nextHash {
		if w.terms[at-1].text == term {
			return int(at) - 1
		}
	}
	return -1
}

// next returns the next part of text at or after i that may hold a word that is stored under one of the terms, the length
// of the text twice where there is none. Parts are parted by ASCII that no word, compound or pair goes over.
func (w *wanted) next(text string, i int) (from, to int) {
	at := w.nextStart(text, i)
	if at < 0 {
		return len(text), len(text)
	}
	for from = at; from > i && !isParting(text[from-1]); {
		from--
	}
	for to = at + 1; to < len(text) && !isParting(text[to]); {
		to++
	}
	return from, to
}

// isParting reports a byte that no word, compound or pair goes over.
func isParting(b byte) bool { return b < utf8.RuneSelf && asciiClasses[b] == classOther }

// nextStart returns where the next word of a text at or after i may begin that is stored under one of the terms, -1 where
// none does. It tells by two bytes, or by one where that is not ASCII: a word in ASCII begins after what is no letter or
// digit, and in a compound at a capital or digit too. It looks at every byte of a text, with next to no branches.
func (w *wanted) nextStart(text string, i int) int {
	last := len(text) - 1
	apart := uint32(1) // whether no letter or digit stands before i
	for ; i < last; i++ {
		b := text[i]
		beyond := uint32(b) / utf8.RuneSelf
		other := (25 - uint32(b-'a')) >> 31 // whether it is other than a small letter
		if (w.second[b%utf8.RuneSelf]>>(text[i+1]%32)|beyond)&(other|apart)&1 != 0 {
			return i
		}
		apart = 0
		if asciiClasses[b%utf8.RuneSelf] != classWord {
			apart = 1
		}
	}
	if i == last && (text[i] >= utf8.RuneSelf || w.second[text[i]] == ^uint32(0)) {
		return i
	}
	return -1
}

// may reports whether a word may be stored under one of the terms. Most words are told apart from them by next or here,
// which is much cheaper than to stem them.
func (w *wanted) may(word string) bool {
	ascii := 0
	for ascii < len(word) && word[ascii] < utf8.RuneSelf {
		ascii++
	}
	switch {
	case ascii == len(word):
		return w.begins(word)
	case ascii < 2 || w.anyStart:
		return true
	}
	// The last letter in ASCII may have a mark. Of the others the first two alone are sure to stay: how much a stemmer
	// keeps of a term cannot be told from one that was folded after it.
	most := min(ascii-1, 2)
	for at := w.byStart[lower(word[0])%wantedLists]; at > 0; at = w.terms[at-1].nextWith {
		t := &w.terms[at-1]
		if hasStart(word, t.text[:min(int(t.start), most)]) {
			return true
		}
	}
	return false
}

// begins reports whether text begins like a word in ASCII that may be stored under one of the terms.
func (w *wanted) begins(text string) bool {
	if w.anyStart {
		return true
	}
	for at := w.byStart[lower(text[0])%wantedLists]; at > 0; at = w.terms[at-1].nextWith {
		if t := &w.terms[at-1]; hasStart(text, t.text[:t.start]) {
			return true
		}
	}
	return false
}

// hasStart reports whether text begins with start, which is in lower case, ignoring case.
func hasStart(text, start string) bool {
	if len(text) < len(start) {
		return false
	}
	for i := range len(start) {
		if lower(text[i]) != start[i] {
			return false
		}
	}
	return true
}

func lower(b byte) byte {
	if isUpper(b) {
		return b | 0x20
	}
	return b
}
