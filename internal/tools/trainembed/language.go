package main

import (
	"regexp"
	"strings"
	"sync"
)

// languages are the languages of the table. Texts in other languages are omitted, because the number of rows is limited.
const languages = " en de fr es it pt nl pl ru ja zh "

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
		if mark == "zh" && strings.EqualFold(region[min(1, len(region)):], "tw") {
			mark = "zh-tw"
		}
		language, rest = mark, path[:match[4]]+"*"+path[match[10]:]
		break
	}
	return language, rest, strings.Contains(languages, " "+language+" ")
}

// otherMarks are the language codes of paths, including omitted languages.
const otherMarks = " en de fr es it pt nl pl ru ja zh ar as az be bg bn bs ca cs cy da el eo et eu fa fi ga gl gu he hi hr hu hy ia id is ka kk km kn ko ku ky lt lv mk ml mr ms nb ne nn no oc or pa ro sk sl sq sr sv sw ta te tg th tk tr tt ug uk ur uz vi wa xh yi zu "
