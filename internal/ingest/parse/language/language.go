package language

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/letter"
	"github.com/magpie-search/magpie/internal/safetext"
)

// maxRunes is how much text is examined. More text would not make the result more certain.
const maxRunes = 2000

// Code returns the ISO 639-1 code of a language tag such as en-US, zh_Hans or deu, or "".
func Code(tag string) string {
	tag = strings.ToLower(strings.TrimSpace(tag))
	if end := strings.IndexAny(tag, "-_,; "); end >= 0 {
		tag = tag[:end]
	}
	if len(tag) == 3 {
		if at := strings.Index(longCodes, " "+tag+" "); at >= 0 {
			tag = longCodes[at+len(" xxx ") : at+len(" xxx xx")]
		}
	}
	if len(tag) != 2 || !strings.Contains(codes, " "+tag+" ") {
		return ""
	}
	return tag
}

// codes lists the codes of ISO 639-1.
const codes = " aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es " +
	"et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks " +
	"ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn " +
	"ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo " +
	"za zh zu "

// longCodes lists codes of ISO 639-2 and 639-3, each followed by the code of ISO 639-1.
const longCodes = " eng en deu de ger de fra fr fre fr spa es ita it por pt nld nl dut nl swe sv dan da nor no nob nb nno nn fin fi isl is ice is " +
	"pol pl ces cs cze cs slk sk slo sk slv sl hrv hr srp sr bos bs mkd mk mac mk bul bg ron ro rum ro hun hu ell el gre el tur tr rus ru ukr uk " +
	"bel be est et lav lv lit lt gle ga cym cy wel cy cat ca glg gl eus eu baq eu sqi sq alb sq mlt mt ltz lb afr af heb he ara ar fas fa per fa " +
	"urd ur hin hi ben bn mar mr tam ta tel te guj gu kan kn mal ml pan pa nep ne sin si tha th vie vi ind id msa ms may ms tgl tl khm km lao lo " +
	"mya my bur my jpn ja zho zh chi zh kor ko mon mn kaz kk uzb uz aze az hye hy arm hy kat ka geo ka amh am swa sw yor yo zul zu hau ha ibo ig " +
	"som so yid yi epo eo lat la "

// FolderCode returns the language code of a folder name such as de or zh-CN, or "".
func FolderCode(folder string) string {
	base, region, hasRegion := strings.Cut(strings.ReplaceAll(folder, "_", "-"), "-")
	if hasRegion && (len(region) < 2 || len(region) > 4 || strings.ContainsFunc(region, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })) {
		return ""
	}
	if len(base) != 2 {
		return ""
	}
	return Code(base)
}

// IsAmbiguousFolder reports whether a folder name is as likely a word or an abbreviation (it, hr, id, io) as a
// language. Such a name counts only if the text is in that language.
func IsAmbiguousFolder(folder string) bool {
	switch folder {
	case "en", "de", "fr", "es", "ja", "zh", "ko", "ru", "pt", "nl", "sv", "da", "fi", "pl", "cs", "hu", "tr", "uk", "vi", "ar", "fa", "he",
		"hi", "el", "bg", "ro", "sk", "th", "nb", "nn", "et", "lv", "lt", "bn", "ta", "ur":
		return false
	}
	return len(folder) == 2
}

// Detect returns the language of a document, by its title, description and prose. The result is reliable if the text is
// long enough and much more likely in this language than in any other.
func Detect(d *document.Document) (code string, reliable bool) {
	text := proseOf(d)
	found := letter.Language(text)
	return found.Code, isReliable(found, text)
}

// proseOf returns a sample of the text of a document.
func proseOf(d *document.Document) string {
	var b strings.Builder
	runes := appendWords(&b, d.Title)
	if description, ok := d.Metadata["description"].(string); ok && (len(d.Blocks) > 1 || d.Blocks[0].Text != description) {
		runes += appendWords(&b, description)
	}
	for i := range d.Blocks {
		switch d.Blocks[i].Kind {
		case document.Paragraph, document.List, document.Quote, document.Heading:
			runes += appendWords(&b, d.Blocks[i].Text)
		case document.Table:
			runes += appendCells(&b, &d.Blocks[i])
		case document.Code:
		}
		if runes >= maxRunes {
			break
		}
	}
	return b.String()
}

// IsBeyondDoubt reports whether the text of a document is so long, and so much more likely in its language than in any
// other, that detection outweighs a declared language.
func IsBeyondDoubt(d *document.Document) bool {
	found := letter.Language(proseOf(d))
	return found.Letters >= 60 && found.Margin >= 80 && found.Share >= 0.8 && found.Surprise < 3.3
}

// isReliable compares a result with what is usual for texts in that language. With these bounds, no single sentence in
// thirty languages got a wrong language, and nearly all paragraphs got the right one.
func isReliable(found letter.Result, text string) bool {
	minLetters, minMargin := 25, 6.0
	switch found.Code {
	case "":
		return false
	case "zh", "ja", "ko":
		minLetters = 6
	case "th", "el", "he", "hi", "ka", "hy", "bn", "ta", "te":
		minLetters = 10
	case "ca", "gl", "af", "eu", "ga", "cy", "sq", "id", "is", "mk", "be", "kk":
		minMargin = 20 // texts in an unknown language often look like one of these
	}
	minMargin = max(minMargin, 0.04*float64(found.Letters)) // lists of names are slightly more likely in one language than in others
	if found.Letters < minLetters || found.Margin < minMargin || found.Share < 0.5 {
		return false
	}
	if found.Letters < 150 {
		return found.Surprise < 3.4 && hasCommonWord(text, found.Code)
	}
	return found.Surprise < 3.35
}

// hasCommonWord reports whether a text contains one of the most frequent words of a language. It is true for languages
// whose words are not listed.
func hasCommonWord(text, code string) bool {
	words := ""
	switch code {
	case "en":
		words = " the of and to in is for with this that are you from how on or by can when not be if a an it as at "
	case "de":
		words = " der die das und ist nicht mit für auf ein eine einen zu den dem von werden sie wird wie wenn im am "
	case "fr":
		words = " le la les des et est une un dans pour que du avec sur sont vous comment ou de en au aux à qui ne "
	case "es":
		words = " el la los las de que en y es una un por para con del se cómo cuando no su al "
	case "it":
		words = " il di che e la le i per un una sono con non del della gli come quando in al si "
	case "pt":
		words = " o a que de e para uma um com não os as do da em são como quando se no na "
	case "nl":
		words = " de het een van en is dat op te voor met zijn niet hoe wanneer in we u als "
	default:
		return true
	}
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
		if word != "" && strings.Contains(words, " "+word+" ") {
			return true
		}
	}
	return false
}

// appendWords appends the words of a text, except link targets, code and identifiers. It returns how many runes it
// appended.
func appendWords(b *strings.Builder, text string) int {
	text = safetext.TruncateBytes(text, 4*maxRunes)
	count := 0
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsAny(word, "/`{}<>=_|@\\0123456789") || isName(word) {
			continue
		}
		b.WriteString(word)
		b.WriteByte(' ')
		count += utf8.RuneCountInString(word) + 1
	}
	return count
}

// isName reports whether a word says nothing about the language: camel case, capitals only, or dots inside.
func isName(word string) bool {
	word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
	hasLower, capitals, letters := false, 0, 0
	for i, r := range word {
		switch {
		case r >= 0x2E80:
			return false
		case unicode.IsUpper(r):
			if hasLower {
				return true
			}
			capitals++
			letters++
		case unicode.IsLetter(r):
			hasLower = true
			letters++
		case (r == '.' || r == ':') && i+1 < len(word) && word[i+1] != ' ' && word[i+1] != '*':
			return true
		}
	}
	return letters > 1 && capitals == letters
}

// appendCells appends cells of several words.
func appendCells(b *strings.Builder, table *document.Block) int {
	count := 0
	for _, row := range table.Rows[:min(len(table.Rows), 50)] {
		for _, cell := range row {
			if strings.Count(cell, " ") >= 3 {
				count += appendWords(b, cell)
			}
		}
		if count >= maxRunes {
			break
		}
	}
	return count
}
