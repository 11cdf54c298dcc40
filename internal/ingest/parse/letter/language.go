package letter

import (
	"slices"
	"strings"
	"unicode"
)

// Result is the language of a text.
type Result struct {
	// Code is an ISO 639-1 code.
	Code string
	// Margin is how much more likely, in nats, the text is in this language than in any other of its script. It is very
	// large if only one language uses the script.
	Margin float64
	// Surprise is the mean cost of a letter, in nats. It is about 2.2 in the right language. Above 3 the text is
	// probably in an unknown language, or in none.
	Surprise float64
	// Letters is the number of letters of the script in the text.
	Letters int
	// Share is the share of these among all letters, from 0 to 1.
	Share float64
}

// certainMargin is the margin if the script alone decides.
const certainMargin = 1e6

// Language returns the language of a text. The script with most letters decides, and where several languages share it,
// the pairs of letters do. The code is empty if the text has no letters of a known script.
func Language(text string) Result {
	counts := countScripts(text)
	best, letters, all := "", 0, 0
	for _, script := range []string{"Latn", "Cyrl", "Grek", "Hebr", "Arab", "Thai", "Deva", "Hani", "Kana", "Hang", "Geor", "Armn", "Beng", "Guru",
		"Gujr", "Taml", "Telu", "Knda", "Mlym", "Sinh", "Laoo", "Mymr", "Khmr", "Ethi", "Tibt"} {
		count := counts[script]
		if script == "Hani" || script == "Hang" || script == "Kana" {
			count *= 3 // a character says about as much as three letters
		}
		all += count
		if count > letters {
			best, letters = script, count
		}
	}
	result := Result{Letters: counts[best], Margin: certainMargin, Surprise: 2}
	if all > 0 {
		result.Share = float64(letters) / float64(all)
	}
	switch best {
	case "Hani", "Kana":
		result.Letters = counts["Hani"] + counts["Kana"]
		result.Share = 3 * float64(result.Letters) / float64(all)
		result.Code = "zh"
		if counts["Kana"]*12 > result.Letters {
			result.Code = "ja"
		}
	case "Latn":
		result.detectByPairs(text, latin)
	case "Cyrl":
		result.detectByPairs(text, cyrillic)
	case "Arab":
		result.detectByPairs(text, arabic)
		if strings.Count(text, "ٹ")+strings.Count(text, "ڈ")+strings.Count(text, "ڑ")+strings.Count(text, "ے")+strings.Count(text, "ں") > result.Letters/50 {
			result.Code, result.Margin, result.Surprise = "ur", certainMargin, 2
		}
	case "Deva":
		result.Code = devanagariLanguage(text)
	default:
		result.Code = scriptLanguage(best)
	}
	return result
}

// scriptLanguage returns the only or main language of a script, or "".
func scriptLanguage(script string) string {
	switch script {
	case "Grek":
		return "el"
	case "Hebr":
		return "he"
	case "Thai":
		return "th"
	case "Hang":
		return "ko"
	case "Geor":
		return "ka"
	case "Armn":
		return "hy"
	case "Beng":
		return "bn"
	case "Guru":
		return "pa"
	case "Gujr":
		return "gu"
	case "Taml":
		return "ta"
	case "Telu":
		return "te"
	case "Knda":
		return "kn"
	case "Mlym":
		return "ml"
	case "Sinh":
		return "si"
	case "Laoo":
		return "lo"
	case "Mymr":
		return "my"
	case "Khmr":
		return "km"
	case "Ethi":
		return "am"
	case "Tibt":
		return "bo"
	}
	return ""
}

// countScripts counts the letters of each script.
func countScripts(text string) map[string]int {
	var latinLetters int
	counts := make(map[string]int)
	for _, r := range text {
		switch {
		case r < 0x80:
			if 'a' <= r|0x20 && r|0x20 <= 'z' {
				latinLetters++
			}
		case r < 0x250 || extendedLow <= r && r <= extendedHigh:
			if unicode.IsLetter(r) {
				latinLetters++
			}
		default:
			if script := scriptOf(r); script != "" {
				counts[script]++
			}
		}
	}
	counts["Latn"] = latinLetters
	return counts
}

// scriptOf returns the ISO 15924 code of the script of a letter outside the Latin blocks, or "".
func scriptOf(r rune) string {
	blocks := [...]struct {
		low, high rune
		script    string
	}{
		{0x370, 0x3FF, "Grek"}, {0x400, 0x52F, "Cyrl"}, {0x531, 0x58F, "Armn"}, {0x5D0, 0x5F2, "Hebr"}, {0x620, 0x6D5, "Arab"},
		{0x900, 0x97F, "Deva"}, {0x980, 0x9FF, "Beng"}, {0xA00, 0xA7F, "Guru"}, {0xA80, 0xAFF, "Gujr"}, {0xB80, 0xBFF, "Taml"},
		{0xC00, 0xC7F, "Telu"}, {0xC80, 0xCFF, "Knda"}, {0xD00, 0xD7F, "Mlym"}, {0xD80, 0xDFF, "Sinh"}, {0xE00, 0xE7F, "Thai"},
		{0xE80, 0xEFF, "Laoo"}, {0xF00, 0xFFF, "Tibt"}, {0x1000, 0x109F, "Mymr"}, {0x10A0, 0x10FF, "Geor"}, {0x1100, 0x11FF, "Hang"},
		{0x1200, 0x137F, "Ethi"}, {0x1780, 0x17FF, "Khmr"}, {0x1F00, 0x1FFF, "Grek"}, {0x3041, 0x30FF, "Kana"}, {0x3131, 0x318E, "Hang"},
		{0x3400, 0x9FFF, "Hani"}, {0xAC00, 0xD7A3, "Hang"}, {0xFF66, 0xFF9D, "Kana"}, {0x20000, 0x323AF, "Hani"},
	}
	at, found := slices.BinarySearchFunc(blocks[:], r, func(block struct {
		low, high rune
		script    string
	}, r rune) int {
		switch {
		case block.high < r:
			return -1
		case block.low > r:
			return 1
		}
		return 0
	})
	if !found {
		return ""
	}
	return blocks[at].script
}

// detectByPairs detects the language of a text in an alphabet by its pairs of letters.
func (d *Result) detectByPairs(text string, number int) {
	all := alphabets()
	alphabet := &all[number]
	codes := alphabet.codes()
	sums := make([]int, len(codes))
	last, letters := 0, 0
	for _, r := range text {
		letter := 0
		if lower := unicode.ToLower(r); alphabetOf(lower) == number {
			if letter = alphabet.letterNumber(lower); letter == 0 {
				for i := range sums {
					sums[i] += costUnknown
				}
			}
			letters++
		}
		if letter > 0 || last > 0 {
			alphabet.addPair(sums, last, letter)
		}
		last = letter
	}
	best, second := 0, -1
	for i := range sums {
		sums[i] += handicap(codes[i])
		switch {
		case sums[i] < sums[best]:
			best, second = i, best
		case i != best && (second < 0 || sums[i] < sums[second]):
			second = i
		}
	}
	if letters == 0 {
		return
	}
	d.Code, d.Surprise = codes[best], float64(sums[best])/unit/float64(letters)
	if second >= 0 {
		d.Margin = float64(sums[second]-sums[best]) / unit
	}
}

// handicap returns the cost of a rare language that resembles a frequent one.
func handicap(code string) int {
	switch code {
	case "gl", "af", "sq", "eu", "ga", "cy", "mk", "be":
		return 6 * unit
	case "ca", "is", "sl", "nb", "kk", "id":
		return 3 * unit
	}
	return 0
}

// devanagariLanguage distinguishes Hindi, Marathi and Nepali by their most frequent words.
func devanagariLanguage(text string) string {
	var counts [3]int
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		switch word {
		case "है", "हैं", "में", "और", "के", "का", "की", "से", "को", "पर", "ने", "कि", "था", "थी":
			counts[0]++
		case "आहे", "आहेत", "आणि", "हे", "ते", "या", "ही", "तर", "किंवा", "करा", "होते", "नाही":
			counts[1]++
		case "छ", "छन्", "हो", "र", "पनि", "भने", "गर्न", "यो", "लागि", "हुन्छ", "गर्नुहोस्", "थियो":
			counts[2]++
		}
	}
	switch most := slices.Max(counts[:]); most {
	case counts[0]:
		return "hi"
	case counts[1]:
		return "mr"
	default:
		return "ne"
	}
}
