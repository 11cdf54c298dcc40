package chat

import (
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/search"
)

// RewriteCitations passes an answer in pieces through a citationRewriter.
func RewriteCitations(hits []search.Hit, pieces ...string) (string, []Source) {
	c := newCitationRewriter(hits)
	text := ""
	for _, piece := range pieces {
		text += c.write(piece)
	}
	return text + c.flush(), c.sources
}

// EscapeCitations returns a quote with its brackets escaped.
func EscapeCitations(quote string) string { return escapeCitations(quote) }

// EscapeMarks returns the text of a passage as a prompt quotes it.
func EscapeMarks(text string) string { return escapeMarks(text) }

// Turn is an earlier message for CarryOver and Prompt.
type Turn struct {
	Asked bool
	Text  string
}

func toTurns(history []Turn) []turn {
	list := make([]turn, len(history))
	for i, t := range history {
		list[i] = turn{fromUser: t.Asked, text: t.Text}
	}
	return list
}

// CarryOver makes a standalone question without a model.
func CarryOver(question string, earlier ...string) string {
	var history []turn
	for _, text := range earlier {
		history = append(history, turn{fromUser: true, text: text}, turn{text: "An answer."})
	}
	return carryOver(analysis.New(), history, question)
}

// Prompt builds a prompt and returns its messages and the number of its
// passages.
func Prompt(operator string, history []Turn, question, standalone string, hits []search.Hit, budget int, tokens *llm.TokenCounter) ([]llm.Message, int) {
	p := newPrompt(material{
		operator: operator, history: toTurns(history), question: question, standalone: standalone, hits: hits,
	}, budget, tokens)
	return p.messages, len(p.passages)
}

// FollowUps makes questions from passages, of which the given ones were used.
func FollowUps(question string, hits []search.Hit, used ...int) []string {
	set := make(map[int]bool)
	for _, i := range used {
		set[i] = true
	}
	questions := []string{}
	for _, f := range followUps(analysis.New(), languageFor(question, hits), question, nil, hits, set) {
		questions = append(questions, f.question)
	}
	return questions
}

// LanguageOf guesses a question's language.
func LanguageOf(text string) string { return string(languageOf(text)) }
