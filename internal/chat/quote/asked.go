package quote

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// asked is the kind of answer that a question asks for.
type asked uint8

const (
	anything asked = iota
	aNumber        // or a date
	aName          // of a person or a place
)

// Words and phrases that ask for a number or a date, and for a name, in lower case.
// Those of scripts without blanks may stand inside a word.
const (
	numberPhrases = "how many|how much|how long|how old|how often|how far|how high|how large|when|what year|which year|what percentage|what date|what time|" +
		"wie viel|wie viele|wie vielen|wie lange|wie alt|wie oft|wie weit|wie hoch|wie groß|wann|welchem jahr|welches jahr|wieviel|" +
		"combien|quand|quelle année|quelle date|cuántos|cuántas|cuánto|cuánta|cuándo|qué año|quanti|quante|quanto|quando|che anno|quantos|quantas|que ano|hoeveel|wanneer|welk jaar|" +
		"hur många|hur mycket|när|hvor mange|hvornår|når|сколько|когда|каком году|какой год|скільки|коли|ile|kiedy|kolik|kdy|hány|mikor|kaç|ne zaman|câți|câte|când|πόσα|πόσοι|πότε|" +
		"bao nhiêu|khi nào|năm nào|bao lâu|mấy|ngày nào|berapa|kapan|كم|متى|أي عام|أي سنة|چند|کی|چه سالی|कितने|कितनी|कितना|कब|किस वर्ष|किस साल|" +
		"כמה|מתי|กี่|เท่าไร|เท่าไหร่|เท่าใด|เมื่อใด|เมื่อไร|เมื่อไหร่|ปีใด|ปีไหน|多少|几|何时|什么时候|哪一年|哪年|多久|いつ|何年|何人|いくつ|いくら|언제|몇|얼마"
	namePhrases = "who|whom|whose|where|wer|wem|wen|wessen|wo|wohin|woher|qui|où|quién|quiénes|dónde|chi|dove|quem|onde|wie is|waar|vem|var|hvem|hvor|" +
		"кто|кого|кому|кем|где|куда|откуда|хто|де|kto|kogo|gdzie|kdo|kde|ki|hol|kim|nerede|cine|unde|ποιος|πού|ai|ở đâu|đâu|siapa|di mana|" +
		"من هو|من هي|من الذي|أين|कौन|किसने|किसे|किसके|कहाँ|कहां|מי|איפה|ใคร|ที่ไหน|谁|哪里|哪儿|何处|誰|どこ|누가|누구|어디"
)

// askedFor returns what a question asks for.
func askedFor(question string) asked {
	padded := " " + strings.Join(strings.FieldsFunc(strings.ToLower(question), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	}), " ") + " "
	has := func(phrases string) bool {
		for phrase := range strings.SplitSeq(phrases, "|") {
			if first, _ := utf8.DecodeRuneInString(phrase); !isUnspaced(first) {
				phrase = " " + phrase + " "
			}
			if strings.Contains(padded, phrase) {
				return true
			}
		}
		return false
	}
	switch {
	case has(numberPhrases):
		return aNumber
	case has(namePhrases):
		return aName
	default:
		return anything
	}
}

// isUnspaced reports whether r belongs to a script without blanks between words.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// isIn reports whether a text may have the answer: a digit, or a name that is not in the
// question. Scripts without capitals do not show their names.
func (k asked) isIn(text, question string) bool {
	switch k {
	case aNumber:
		return strings.ContainsFunc(text, unicode.IsNumber)
	case aName:
		words := strings.Fields(text)
		for i, w := range words {
			w = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })
			if first, _ := utf8.DecodeRuneInString(w); i > 0 && unicode.IsUpper(first) && !strings.Contains(question, w) {
				return true
			}
		}
		return !strings.ContainsFunc(text, unicode.IsUpper)
	default:
		return true
	}
}

// Pronouns that begin a sentence about the subject of the sentence before it.
const pronouns = " he she it they this these those his her its their such both " +
	"er sie es dies diese dieser dieses sein seine ihr ihre beide dort dabei dadurch damit " +
	"il elle ils elles ce cette ces son sa ses leur leurs él ella ellos ellas esto este esta estos estas su sus egli essa essi esse questo questa ele eles isso " +
	"hij zij ze dit deze zijn haar hun han hon hun den det de dessa disse denne " +
	"он она оно они это эти этот эта его её ее их він вона воно вони це " +
	"on ona ono oni to ten ta jego jej ich jeho její jejich " +
	"ông bà anh chị nó họ đây điều này việc này " +
	"هو هي هم هذا هذه ذلك تلك وهو وهي وهم यह ये वह वे उन्होंने इसके उनके इसे इस उस इन उन این آن او ایشان "

// Pronouns of scripts without blanks.
const unspacedPronouns = "他 她 它 他们 她们 它们 这 该 此 其 เขา เธอ มัน พวกเขา สิ่งนี้ これ それ 彼 彼女 이 그"

// beginsWithPronoun reports whether a sentence is about the one before it.
func beginsWithPronoun(text string) bool {
	text = strings.TrimLeft(strings.ToLower(text), " \"“„«(*_")
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	if end > 0 && strings.Contains(pronouns, " "+text[:end]+" ") {
		return true
	}
	for p := range strings.FieldsSeq(unspacedPronouns) {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}
