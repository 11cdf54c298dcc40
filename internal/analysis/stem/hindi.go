package stem

import "strings"

// hindi normalizes the spelling as L. Larkey, M. Connell and N. Abduljaleel do (Hindi
// CLIR in Thirty Days, TALIP 2, 2003) and cuts the longest ending of those that A.
// Ramanathan and D. Rao list by the grammar of nouns, adjectives and verbs (A
// Lightweight Stemmer for Hindi, EACL 2003).
func hindi(word string) string {
	w := cut(devanagari(word), 2, "ा े ि ो ु ं ां ें िं ों या ये यो यां यों ियां ियों िया िये ुओं ुएं ुआं ाओं ाएं एं ओं ए ओ इ "+
		"ाया ाए ाइ ाइं ाओ ाइए िए कर ाकर "+
		"ेगा ेगि ेंगे ेंगि ोगे ोगि ुंगा ुंगि एगा एगि एंगे एंगि ओगे ाएगा ाएगि ाएंगे ाएंगि ाओगे ाओगि ाउंगा ाउंगि")
	return cut(w, 2, "न त")
}

// devanagari returns a word in the simplest of the spellings that are in use for
// it: without nukta and joiners, with short vowels for long ones, and with anusvara
// for candrabindu and for a nasal before another consonant.
func devanagari(word string) string {
	w := strings.Map(func(r rune) rune {
		switch r {
		case '़', joiner, nonJoiner: // the first is the nukta
			return -1
		case 'ँ':
			return 'ं'
		case 'आ':
			return 'अ'
		case 'ई':
			return 'इ'
		case 'ऊ':
			return 'उ'
		case 'ऐ':
			return 'ए'
		case 'औ', 'ऑ':
			return 'ओ'
		case 'ी':
			return 'ि'
		case 'ू':
			return 'ु'
		case 'ै':
			return 'े'
		case 'ौ', 'ॉ':
			return 'ो'
		}
		return r
	}, word)
	if !strings.ContainsRune(w, virama) {
		return w
	}
	runes := []rune(w)
	kept := runes[:0]
	for i := 0; i < len(runes); i++ {
		if isNasal(runes, i) {
			kept = append(kept, 'ं')
			i++ // the virama
			continue
		}
		kept = append(kept, runes[i])
	}
	return string(kept)
}

// isNasal reports whether an anusvara may replace word[i] and the virama after it: a
// nasal consonant before a consonant other than itself, ya and ha.
func isNasal(word []rune, i int) bool {
	if i+2 >= len(word) || word[i+1] != virama || !strings.ContainsRune("ङञणनम", word[i]) {
		return false
	}
	next := word[i+2]
	return isConsonant(next) && next != word[i] && next != 'य' && next != 'ह'
}

const virama = '्'

// isConsonant reports whether r is a consonant of Devanagari. NFKC writes those
// with a nukta as two characters.
func isConsonant(r rune) bool { return 'क' <= r && r <= 'ह' }
