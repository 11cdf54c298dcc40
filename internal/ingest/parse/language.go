package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"

	"magpie/internal/ingest/document"
)

// Statistics of letters need minDetect runes to be right more often than not, and are not better for more than maxDetect.
const (
	minDetect = 150
	maxDetect = 2000
)

// languageCode returns the ISO 639-1 code of a language tag such as en-US, zh_Hans or deu, "" for anything else.
func languageCode(tag string) string {
	tag = strings.ToLower(strings.TrimSpace(tag))
	if end := strings.IndexAny(tag, "-_,; "); end >= 0 {
		tag = tag[:end]
	}
	if len(tag) == 3 {
		tag = whatlanggo.CodeToLang(tag).Iso6391()
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

// detectLanguage guesses the language of a document from its title, description and prose. Closed-class words decide where
// they are clear, which is nearly always in the languages whose words are known and costs little; else the statistics of
// letters do, where they have enough text and call themselves reliable. In doubt there is no guess.
func detectLanguage(d *document.Document) (code string, reliable bool) {
	var b strings.Builder
	runes := sample(&b, d.Title)
	if description, ok := d.Metadata["description"].(string); ok {
		runes += sample(&b, description)
	}
	for i := range d.Blocks {
		switch d.Blocks[i].Kind {
		case document.Paragraph, document.List, document.Quote, document.Heading:
			runes += sample(&b, d.Blocks[i].Text)
		case document.Table, document.Code:
		}
		if runes >= maxDetect {
			break
		}
	}
	text := b.String()
	if words := languageByWords(text); words != "" || runes < minDetect {
		return words, words != ""
	}
	found := whatlanggo.Detect(text)
	return languageCode(found.Lang.Iso6391()), found.IsReliable()
}

// languageByWords returns the language with at least three closed-class words in the text, and twice as many as any other.
func languageByWords(text string) string {
	lists := [...]struct{ code, words string }{
		{"en", " the of and to in is for with this that are you from how on or by can when "},
		{"de", " der die das und ist nicht mit für auf ein eine zu den von werden sie wird wie wenn "},
		{"fr", " le la les des et est une dans pour que du avec sur sont vous comment ou "},
		{"es", " el la los las de que en y es una por para con del se cómo cuando "},
		{"it", " il di che e la per un una sono con non del della gli come quando "},
		{"pt", " o que de e para uma com não os do da em são como quando "},
		{"nl", " de het een van en is dat op te voor met zijn niet hoe wanneer "},
	}
	var counts [len(lists)]int
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		word = " " + strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) + " "
		for i := range lists {
			if len(word) > len("  ") && strings.Contains(lists[i].words, word) {
				counts[i]++
			}
		}
	}
	best, most, second := "", 0, 0
	for i, count := range counts {
		switch {
		case count > most:
			best, most, second = lists[i].code, count, most
		case count > second:
			second = count
		}
	}
	if most < 3 || most < 2*second {
		return ""
	}
	return best
}

// sample adds the letters of a text, without link targets and code, and returns how many runes that gave.
func sample(b *strings.Builder, text string) int {
	text = document.Truncate(text, 4*maxDetect)
	count := 0
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsAny(word, "/`{}<>=_|") {
			continue
		}
		b.WriteString(word)
		b.WriteByte(' ')
		count += utf8.RuneCountInString(word) + 1
	}
	return count
}
