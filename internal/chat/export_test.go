package chat

import (
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/search"
)

// Units are the texts that a passage can be quoted by.
func Units(markdown string) []string {
	var texts []string
	for _, u := range units(markdown) {
		texts = append(texts, u.text)
	}
	return texts
}

// Renumber runs an answer, cut into pieces, through the citations.
func Renumber(hits []search.Hit, pieces ...string) (string, []Source) {
	c := newCitations(hits)
	text := ""
	for _, piece := range pieces {
		text += c.write(piece)
	}
	return text + c.flush(), c.sources
}

// Escaped is a quote without what would pass for a citation.
func Escaped(quote string) string { return withEscapedCitations(quote) }

// Quote is the text of a passage as it stands in a prompt.
func Quote(text string) string { return quote(text) }

// Turn is an earlier message for CarryOver and Prompt.
type Turn struct {
	Asked bool
	Text  string
}

func turns(history []Turn) []turn {
	list := make([]turn, len(history))
	for i, t := range history {
		list[i] = turn{asked: t.Asked, text: t.Text}
	}
	return list
}

// CarryOver makes a follow-up stand on its own without a model.
func CarryOver(question string, earlier ...string) string {
	var history []turn
	for _, text := range earlier {
		history = append(history, turn{asked: true, text: text}, turn{text: "An answer."})
	}
	return carryOver(analysis.New(), history, question)
}

// Prompt puts a prompt together and returns its messages and how many passages are in it.
func Prompt(operator string, history []Turn, question, standalone string, hits []search.Hit, budget int, tokens *llm.TokenCounter) ([]llm.Message, int) {
	p := newPrompt(material{
		operator: operator, history: turns(history), question: question, standalone: standalone, hits: hits,
	}, budget, tokens)
	return p.messages, len(p.passages)
}

// FollowUps phrases questions from passages, of which the given ones were used.
func FollowUps(question string, hits []search.Hit, used ...int) []string {
	set := make(map[int]bool)
	for _, i := range used {
		set[i] = true
	}
	return followUps(analysis.New(), languageFor(question, hits), question, nil, hits, set)
}

// LanguageOf guesses a question's language.
func LanguageOf(text string) string { return string(languageOf(text)) }
