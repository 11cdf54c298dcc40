package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
)

// Detection needs minDetect runes of prose to be right more often than not, and is not better for more than maxDetect.
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

// detectLanguage guesses the language of the prose among the blocks. Without enough of it there is no guess.
func detectLanguage(blocks []Block) (code string, reliable bool) {
	var b strings.Builder
	runes := 0
	for i := range blocks {
		switch blocks[i].Kind {
		case Paragraph, List, Quote:
			runes += sample(&b, blocks[i].Text)
		case Heading, Table, Code:
		}
		if runes >= maxDetect {
			break
		}
	}
	if runes < minDetect {
		return "", false
	}
	found := whatlanggo.Detect(b.String())
	return languageCode(found.Lang.Iso6391()), found.IsReliable()
}

// sample adds the letters of a text, without link targets and code, and returns how many runes that gave.
func sample(b *strings.Builder, text string) int {
	text = truncate(text, 4*maxDetect)
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
