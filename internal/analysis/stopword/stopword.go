package stopword

import (
	"slices"
	"strings"
)

// List returns the stop words of a language, given by its code of ISO 639-1 in
// lower case, each once. They are spelled as the language spells them, in lower
// case and in Unicode's form NFC. It returns nil for a language that has no list.
func List(code string) []string {
	words := strings.Fields(text(code))
	if len(words) == 0 {
		return nil
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// Codes returns the codes of the languages that have a list, sorted.
func Codes() []string {
	return []string{
		"ar", "bg", "bn", "bs", "ca", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id", "it", "ja", "ko", "mr",
		"ms", "ne", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sr", "sv", "th", "tr", "uk", "ur", "vi",
	}
}

// All returns the list of each language by its code.
func All() map[string][]string {
	all := make(map[string][]string, len(Codes()))
	for _, code := range Codes() {
		all[code] = List(code)
	}
	return all
}

func text(code string) string {
	switch code {
	case "ar":
		return arabic
	case "bg":
		return bulgarian
	case "bn":
		return bengali
	case "ca":
		return catalan
	case "cs":
		return czech
	case "da":
		return danish
	case "de":
		return german
	case "el":
		return greek
	case "en":
		return english
	case "es":
		return spanish
	case "fa":
		return persian
	case "fi":
		return finnish
	case "fr":
		return french
	case "he":
		return hebrew
	case "hi":
		return hindi
	case "hr", "bs":
		return croatian
	case "hu":
		return hungarian
	case "id":
		return indonesian
	case "it":
		return italian
	case "ja":
		return japanese
	case "ko":
		return korean
	case "mr":
		return marathi
	case "ms":
		return malay
	case "ne":
		return nepali
	case "nl":
		return dutch
	case "no":
		return norwegian
	case "pl":
		return polish
	case "pt":
		return portuguese
	case "ro":
		return romanian
	case "ru":
		return russian
	case "sk":
		return slovak
	case "sr":
		return serbian
	case "sv":
		return swedish
	case "th":
		return thai
	case "tr":
		return turkish
	case "uk":
		return ukrainian
	case "ur":
		return urdu
	case "vi":
		return vietnamese
	}
	return ""
}
