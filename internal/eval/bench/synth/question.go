package synth

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

// The number of words in a question.
const (
	minWords = 2
	maxWords = 12
)

// Questions returns at most n different questions about the pages. Equal parts of
// them are a page's title with one of its headings, a heading alone, and the first
// words of a description or a section. The same pages and seed give the same
// questions in the same order.
func Questions(pages []Page, n int, seed uint64) []string {
	dice := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // repeatable on purpose
	var kinds [3][]string
	for i := range pages {
		page := &pages[i]
		kinds[2] = append(kinds[2], page.Description)
		for _, section := range page.Sections {
			heading := plain(strings.TrimLeft(section.Heading, "# "))
			if heading != "" && heading != page.Title {
				kinds[0] = append(kinds[0], page.Title+" "+heading)
				kinds[1] = append(kinds[1], heading)
			}
			for _, block := range section.Blocks {
				if block.Kind == Prose && len(block.Units) > 0 {
					kinds[2] = append(kinds[2], plain(block.Units[0]))
					break
				}
			}
		}
	}
	seen := make(map[string]bool)
	var usable [3][]string
	for kind, texts := range kinds {
		dice.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		for _, text := range texts {
			if question, ok := cutQuestion(text); ok && !seen[strings.ToLower(question)] {
				seen[strings.ToLower(question)] = true
				usable[kind] = append(usable[kind], question)
			}
		}
	}
	questions := make([]string, 0, n)
	for at := 0; len(questions) < n; at++ {
		before := len(questions)
		for _, texts := range usable {
			if at < len(texts) && len(questions) < n {
				questions = append(questions, texts[at])
			}
		}
		if len(questions) == before {
			break
		}
	}
	dice.Shuffle(len(questions), func(i, j int) { questions[i], questions[j] = questions[j], questions[i] })
	return slices.Clip(questions)
}

// maxWordLength is the longest word of a question in bytes. Addresses and encoded
// texts are longer.
const maxWordLength = 60

// cutQuestion cuts a text to the length of a question. It reports false for a text
// that makes no question.
func cutQuestion(text string) (string, bool) {
	words := strings.Fields(strings.TrimRight(text, ".:;!?。 "))
	if len(words) > maxWords {
		words = words[:maxWords]
	}
	question := strings.Join(words, " ")
	characters := utf8.RuneCountInString(question)
	spaced := characters == len(question) || len(words) >= minWords
	if !spaced { // a script without spaces: three characters count as a word at most, two at least
		if characters > 3*maxWords {
			question = string([]rune(question)[:3*maxWords])
		}
		return question, characters >= 2*minWords
	}
	for _, word := range words {
		if len(word) > maxWordLength {
			return "", false
		}
	}
	return question, len(words) >= minWords
}
