package main

import (
	"regexp"
	"strings"
	"sync"
)

// languages are the languages of the table. Texts in other languages are omitted, because the number of rows is limited.
const languages = " en ar bg ca cs da de el es fa fi fr he hi hr hu id it ja ko nl no pl pt ro ru sk sr sv th tr uk vi zh "

var languageMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[/.])(C|[a-z]{2})([-_][a-zA-Z]{2})?(@[a-z]+)?(/|\.html|\.txt|\.gz|$)`)
})

// languageOf returns the language in a path, or "en" without one, and the path without the language, which is the same for
// translations. known reports whether it is one of languages.
func languageOf(path string) (language, rest string, known bool) {
	language, rest = "en", path
	for _, match := range languageMark().FindAllStringSubmatchIndex(path, -1) {
		mark := path[match[4]:match[5]]
		region := ""
		if match[6] >= 0 {
			region = path[match[6]:match[7]]
		}
		if mark != "C" && !strings.Contains(otherMarks, " "+mark+" ") {
			continue
		}
		if mark == "C" {
			mark = "en"
		}
		if mark == "nb" {
			mark = "no"
		}
		if mark == "zh" && strings.EqualFold(region[min(1, len(region)):], "tw") {
			mark = "zh-tw"
		}
		language, rest = mark, path[:match[4]]+"*"+path[match[10]:]
		break
	}
	return language, rest, strings.Contains(languages, " "+language+" ")
}

// threeLetters has the languages of the names of FreeDict dictionaries.
var threeLetters = map[string]string{
	"ara": "ar", "bul": "bg", "ces": "cs", "dan": "da", "deu": "de", "ell": "el", "eng": "en", "fin": "fi", "fra": "fr", "hin": "hi",
	"hrv": "hr", "hun": "hu", "ind": "id", "ita": "it", "jpn": "ja", "nld": "nl", "nor": "no", "pol": "pl", "por": "pt", "rom": "ro",
	"rus": "ru", "slk": "sk", "spa": "es", "srp": "sr", "swe": "sv", "tur": "tr",
}

// dictionaryLanguages returns the languages of a bilingual dictionary by its path.
func dictionaryLanguages(path string) (from, to string) {
	_, name, found := strings.Cut(path, "dict-freedict-")
	if !found || len(name) < 7 {
		return "de", "en" // dict-de-en
	}
	return threeLetters[name[:3]], threeLetters[name[4:7]]
}

// languageOfLocale returns the language of a locale such as pt_BR, and whether it is one of languages.
func languageOfLocale(locale string) (language string, known bool) {
	language, _, known = languageOf(strings.ReplaceAll(locale, "%5f", "_") + "/")
	return language, known && (language != "en" || strings.HasPrefix(locale, "en") || locale == "C")
}

// otherMarks are the language codes of paths, including omitted languages.
const otherMarks = " en de fr es it pt nl pl ru ja zh ar as az be bg bn bs ca cs cy da el eo et eu fa fi ga gl gu he hi hr hu hy ia id is ka kk km kn ko ku ky lt lv mk ml mr ms nb ne nn no oc or pa ro sk sl sq sr sv sw ta te tg th tk tr tt ug uk ur uz vi wa xh yi zu "
