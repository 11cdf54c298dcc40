package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/letter"
)

// maxDetect is how many letters are looked at: more do not make the language surer.
const maxDetect = 2000

// languageCode returns the ISO 639-1 code of a language tag such as en-US, zh_Hans or deu, "" for anything else.
func languageCode(tag string) string {
	tag = strings.ToLower(strings.TrimSpace(tag))
	if end := strings.IndexAny(tag, "-_,; "); end >= 0 {
		tag = tag[:end]
	}
	if len(tag) == 3 {
		if at := strings.Index(longCodes, " "+tag+" "); at >= 0 {
			tag = longCodes[at+len(" xxx ") : at+len(" xxx xx")]
		}
	}
	if len(tag) != 2 || !strings.Contains(languageCodes, " "+tag+" ") {
		return ""
	}
	return tag
}

// languageCodes are the codes of ISO 639-1.
const languageCodes = " aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es " +
	"et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks " +
	"ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn " +
	"ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo " +
	"za zh zu "

// longCodes are codes of ISO 639-2 and 639-3, each with that of ISO 639-1.
const longCodes = " eng en deu de ger de fra fr fre fr spa es ita it por pt nld nl dut nl swe sv dan da nor no nob nb nno nn fin fi isl is ice is " +
	"pol pl ces cs cze cs slk sk slo sk slv sl hrv hr srp sr bos bs mkd mk mac mk bul bg ron ro rum ro hun hu ell el gre el tur tr rus ru ukr uk " +
	"bel be est et lav lv lit lt gle ga cym cy wel cy cat ca glg gl eus eu baq eu sqi sq alb sq mlt mt ltz lb afr af heb he ara ar fas fa per fa " +
	"urd ur hin hi ben bn mar mr tam ta tel te guj gu kan kn mal ml pan pa nep ne sin si tha th vie vi ind id msa ms may ms tgl tl khm km lao lo " +
	"mya my bur my jpn ja zho zh chi zh kor ko mon mn kaz kk uzb uz aze az hye hy arm hy kat ka geo ka amh am swa sw yor yo zul zu hau ha ibo ig " +
	"som so yid yi epo eo lat la "

// languageFolder returns the code when a folder is named as documentation in several languages names its folders.
func languageFolder(folder string) string {
	base, region, tagged := strings.Cut(strings.ReplaceAll(folder, "_", "-"), "-")
	if tagged && (len(region) < 2 || len(region) > 4 || strings.ContainsFunc(region, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })) {
		return ""
	}
	if len(base) != 2 {
		return ""
	}
	return languageCode(base)
}

// isAmbiguous reports folders that are as likely a word or an abbreviation (it, hr, id, io) as a language: these count
// only when the text is in that language.
func isAmbiguous(folder string) bool {
	switch folder {
	case "en", "de", "fr", "es", "ja", "zh", "ko", "ru", "pt", "nl", "sv", "da", "fi", "pl", "cs", "hu", "tr", "uk", "vi", "ar", "fa", "he",
		"hi", "el", "bg", "ro", "sk", "th", "nb", "nn", "et", "lv", "lt", "bn", "ta", "ur":
		return false
	}
	return len(folder) == 2
}

// detectLanguage guesses the language of a document from its title, description and prose. It is reliable when the text
// is long enough and much more likely in this language than in any other; in doubt it is not.
func detectLanguage(d *document.Document) (code string, reliable bool) {
	text := proseOf(d)
	found := letter.Language(text)
	return found.Code, isReliable(found, text)
}

// proseOf collects text of a document whose language is to be told.
func proseOf(d *document.Document) string {
	var b strings.Builder
	runes := sample(&b, d.Title)
	if description, ok := d.Metadata["description"].(string); ok && (len(d.Blocks) > 1 || d.Blocks[0].Text != description) {
		runes += sample(&b, description)
	}
	for i := range d.Blocks {
		switch d.Blocks[i].Kind {
		case document.Paragraph, document.List, document.Quote, document.Heading:
			runes += sample(&b, d.Blocks[i].Text)
		case document.Table:
			runes += sampleTable(&b, &d.Blocks[i])
		case document.Code:
		}
		if runes >= maxDetect {
			break
		}
	}
	return b.String()
}

// isBeyondDoubt reports a text so long, and so much more likely in its language than in any other, that it outweighs what
// the file says.
func isBeyondDoubt(d *document.Document) bool {
	found := letter.Language(proseOf(d))
	return found.Letters >= 60 && found.Margin >= 80 && found.Share >= 0.8 && found.Surprise < 3.3
}

// isReliable holds a guess against what texts in that language are like. The bounds are such that of single sentences in
// thirty languages none is given a wrong language, and nearly all paragraphs are given one.
func isReliable(found letter.Detected, text string) bool {
	least, margin := 25, 6.0
	switch found.Code {
	case "":
		return false
	case "zh", "ja", "ko":
		least = 6
	case "th", "el", "he", "hi", "ka", "hy", "bn", "ta", "te":
		least = 10
	case "ca", "gl", "af", "eu", "ga", "cy", "sq", "id", "is", "mk", "be", "kk":
		margin = 20 // what is in none of the languages that are known comes out as one of these
	}
	margin = max(margin, 0.04*float64(found.Letters)) // lists of names are a little more likely in one language than in others
	if found.Letters < least || found.Margin < margin || found.Share < 0.5 {
		return false
	}
	if found.Letters < 150 {
		return found.Surprise < 3.4 && hasCommonWord(text, found.Code)
	}
	return found.Surprise < 3.35
}

// hasCommonWord reports whether a text has one of the words that hardly a sentence goes without, in the languages that it
// knows such words of.
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

// sample adds the words of a text, without link targets, code and names that are written like code, and returns how many
// runes that gave.
func sample(b *strings.Builder, text string) int {
	text = document.Truncate(text, 4*maxDetect)
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

// isName reports words that are no language: with a capital after a small letter, of capitals only, with dots inside.
func isName(word string) bool {
	word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
	small, capitals, letters := false, 0, 0
	for i, r := range word {
		switch {
		case r >= 0x2E80:
			return false
		case unicode.IsUpper(r):
			if small {
				return true
			}
			capitals++
			letters++
		case unicode.IsLetter(r):
			small = true
			letters++
		case (r == '.' || r == ':') && i+1 < len(word) && word[i+1] != ' ' && word[i+1] != '*':
			return true
		}
	}
	return letters > 1 && capitals == letters
}

// sampleTable adds cells that have several words.
func sampleTable(b *strings.Builder, table *document.Block) int {
	count := 0
	for _, row := range table.Rows[:min(len(table.Rows), 50)] {
		for _, cell := range row {
			if strings.Count(cell, " ") >= 3 {
				count += sample(b, cell)
			}
		}
		if count >= maxDetect {
			break
		}
	}
	return count
}
