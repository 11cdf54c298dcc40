package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search"
)

// Limits of follow-up questions.
const (
	maxFollowUps  = 3
	maxCandidates = 6 // searched at most
)

// Lengths of a heading that can become a question, in characters.
const (
	minTopic = 3
	maxTopic = 80
)

// A followUp is a follow-up question and the heading that it is about.
type followUp struct{ question, topic string }

// followUps makes candidates from the headings of passages that were found but
// not used, the most likely first. It leaves out headings that the question or
// the answer covers. The caller checks by a search whether the documents answer
// them.
func followUps(a *analysis.Analyzer, l language, question string, history []turn, hits []search.Hit, used map[int]bool) []followUp {
	askedBefore := make(map[string]bool)
	for _, t := range history {
		if t.fromUser {
			askedBefore[fold(t.text)] = true
		}
	}
	knownTerms := termSet(a, question)
	usedTopics := make(map[string]bool)
	for i := range used {
		usedTopics[fold(topicOf(hits[i]))] = true
	}
	var questions []followUp
	for i, hit := range hits {
		if len(questions) == maxCandidates {
			break
		}
		topic := topicOf(hit)
		key := fold(topic)
		foreign := l != unknown && hit.Language != "" && languageOfHit(hit) != l
		if used[i] || foreign || topic == "" || usedTopics[key] || hasOnlyKnownWords(a, topic, knownTerms) {
			continue
		}
		usedTopics[key] = true
		if q := l.phraseQuestion(topic); !askedBefore[fold(q)] {
			questions = append(questions, followUp{q, topic})
		}
	}
	return questions
}

// topicOf returns the innermost heading of a passage that is specific, or the
// title, or "" if neither can become a question.
func topicOf(hit search.Hit) string {
	for i := len(hit.Headings) - 1; i >= -1; i-- {
		raw := hit.Title
		if i >= 0 {
			raw = hit.Headings[i]
		}
		topic := normalizeTopic(raw)
		if n := utf8.RuneCountInString(topic); n < minTopic || n > maxTopic || strings.Contains(genericHeadings, " "+fold(topic)+";") {
			continue
		}
		if title := normalizeTopic(hit.Title); !strings.Contains(topic, " ") && title != "" && fold(title) != fold(topic) {
			if full := title + ": " + topic; utf8.RuneCountInString(full) <= maxTopic {
				return full // one word alone is ambiguous
			}
		}
		return topic
	}
	return ""
}

// genericHeadings say nothing without their document. Each stands between a
// blank and a semicolon, in lower case.
const genericHeadings = ` overview; introduction; summary; see also; table of contents; contents; example; examples; note; notes;` +
	` next steps; further reading; references; related; related pages; general; details; background; conclusion; more;` +
	` einleitung; einführung; überblick; übersicht; zusammenfassung; siehe auch; inhalt; inhaltsverzeichnis; beispiel;` +
	` beispiele; hinweis; hinweise; nächste schritte; weiterlesen; allgemeines; details; hintergrund; fazit;`

// normalizeTopic removes Markdown, numbering and final punctuation from a
// heading.
func normalizeTopic(heading string) string {
	heading = strings.Join(strings.Fields(strings.NewReplacer("`", "", "**", "", "\x00", "").Replace(heading)), " ")
	heading = strings.TrimLeft(heading, "#* ")
	if number, rest, found := strings.Cut(heading, " "); found && strings.Trim(number, "0123456789.)") == "" {
		heading = rest
	}
	heading = strings.TrimRight(heading, ".:;,!* ")
	if strings.ContainsFunc(heading, unicode.IsLetter) && utf8.ValidString(heading) {
		return heading
	}
	return ""
}

// phraseQuestion returns a question about a topic. In an unknown language it is
// the topic with a question mark.
func (l language) phraseQuestion(topic string) string {
	if strings.ContainsAny(topic, "?？؟") {
		return topic
	}
	switch l {
	case english:
		return phraseEnglish(topic)
	case german:
		return phraseGerman(topic)
	default:
		return topic + "?"
	}
}

// taskVerbs begin headings about tasks and are seldom nouns.
const taskVerbs = " install configure create add enable disable delete remove rotate upgrade restore deploy connect migrate verify choose use define replace submit send register revoke resolve override write build generate manage authenticate "

func phraseEnglish(topic string) string {
	first, rest, _ := strings.Cut(topic, " ")
	first = strings.ToLower(first)
	switch {
	case rest == "", strings.Contains(topic, ": "):
	case first == "how" && strings.HasPrefix(rest, "to "):
		return "How do I " + strings.TrimPrefix(rest, "to ") + "?"
	case strings.Contains(taskVerbs, " "+first+" "):
		return "How do I " + first + " " + rest + "?"
	case first == "what" || first == "why" || first == "who":
		return topic + "?"
	}
	return "What do the documents say about “" + topic + "”?"
}

// phraseGerman treats a heading that ends with an infinitive as a task. Such
// headings omit the article, so a sentence must quote them.
func phraseGerman(topic string) string {
	last := topic[strings.LastIndexByte(topic, ' ')+1:]
	initial, _ := utf8.DecodeRuneInString(last)
	if last != topic && unicode.IsLower(initial) && (strings.HasSuffix(last, "en") || strings.HasSuffix(last, "ern") || strings.HasSuffix(last, "eln")) {
		return "Wie geht „" + topic + "“?"
	}
	return "Was steht in den Dokumenten über „" + topic + "“?"
}

// fold returns a form of text that is equal for different case and white space.
func fold(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// termSet returns the terms of a text.
func termSet(a *analysis.Analyzer, text string) map[string]bool {
	set := make(map[string]bool)
	for _, term := range a.Terms(text, "") {
		set[term] = true
	}
	return set
}

// hasOnlyKnownWords reports whether all words of a topic are stop words or
// known terms.
func hasOnlyKnownWords(a *analysis.Analyzer, topic string, known map[string]bool) bool {
	for _, word := range a.Words(topic, "") {
		found := word.Stop
		for _, term := range word.Terms {
			found = found || known[term]
		}
		if !found {
			return false
		}
	}
	return true
}
