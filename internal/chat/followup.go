package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search"
)

// maxFollowUps is how many questions are offered, and maxCandidates how many are looked into for that.
const (
	maxFollowUps  = 3
	maxCandidates = 6
)

// Bounds of a heading that makes a question, in characters.
const (
	minTopic = 3
	maxTopic = 80
)

// followUps phrases candidates from the headings of passages that were found and not used, the likeliest first. Headings
// that the question or the answer already dealt with are passed over. Whether the documents answer them is for the search
// to say.
func followUps(a *analysis.Analyzer, l language, question string, history []turn, hits []search.Hit, used map[int]bool) []string {
	asked := make(map[string]bool)
	for _, t := range history {
		if t.asked {
			asked[fold(t.text)] = true
		}
	}
	known := termSet(a, question)
	taken := make(map[string]bool)
	for i := range used {
		taken[fold(topicOf(hits[i]))] = true
	}
	questions := []string{}
	for i, hit := range hits {
		if len(questions) == maxCandidates {
			break
		}
		topic := topicOf(hit)
		key := fold(topic)
		foreign := l != unknown && hit.Language != "" && languageOfHit(hit) != l
		if used[i] || foreign || topic == "" || taken[key] || covered(a, topic, known) {
			continue
		}
		taken[key] = true
		if q := l.ask(topic); !asked[fold(q)] {
			questions = append(questions, q)
		}
	}
	return questions
}

// topicOf is the innermost heading of a passage that says something, else the title; "" when nothing is fit for a question.
func topicOf(hit search.Hit) string {
	for i := len(hit.Headings) - 1; i >= -1; i-- {
		raw := hit.Title
		if i >= 0 {
			raw = hit.Headings[i]
		}
		topic := cleanTopic(raw)
		if n := utf8.RuneCountInString(topic); n < minTopic || n > maxTopic || strings.Contains(idleHeadings, " "+fold(topic)+";") {
			continue
		}
		if title := cleanTopic(hit.Title); !strings.Contains(topic, " ") && title != "" && fold(title) != fold(topic) {
			if full := title + ": " + topic; utf8.RuneCountInString(full) <= maxTopic {
				return full // one word alone could be about anything
			}
		}
		return topic
	}
	return ""
}

// idleHeadings say nothing without their document; each between a blank and a semicolon, in lower case.
const idleHeadings = ` overview; introduction; summary; see also; table of contents; contents; example; examples; note; notes;` +
	` next steps; further reading; references; related; related pages; general; details; background; conclusion; more;` +
	` einleitung; einführung; überblick; übersicht; zusammenfassung; siehe auch; inhalt; inhaltsverzeichnis; beispiel;` +
	` beispiele; hinweis; hinweise; nächste schritte; weiterlesen; allgemeines; details; hintergrund; fazit;`

// cleanTopic takes Markdown, numbering and end marks off a heading.
func cleanTopic(heading string) string {
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

// ask phrases a question about a topic. Where the language is not one of ours, the topic itself is the question.
func (l language) ask(topic string) string {
	if strings.ContainsAny(topic, "?？؟") {
		return topic
	}
	switch l {
	case english:
		return askEnglish(topic)
	case german:
		return askGerman(topic)
	default:
		return topic + "?"
	}
}

// tasks are verbs that begin a heading about something to do and are seldom nouns.
const tasks = " install configure create add enable disable delete remove rotate upgrade restore deploy connect migrate verify choose use define replace submit send register revoke resolve override write build generate manage authenticate "

func askEnglish(topic string) string {
	first, rest, _ := strings.Cut(topic, " ")
	first = strings.ToLower(first)
	switch {
	case rest == "", strings.Contains(topic, ": "):
	case first == "how" && strings.HasPrefix(rest, "to "):
		return "How do I " + strings.TrimPrefix(rest, "to ") + "?"
	case strings.Contains(tasks, " "+first+" "):
		return "How do I " + first + " " + rest + "?"
	case first == "what" || first == "why" || first == "who":
		return topic + "?"
	}
	return "What do the documents say about “" + topic + "”?"
}

// askGerman takes a heading that ends with an infinitive as something to do. Such headings leave the article out, so that
// only a quotation makes a sentence of them.
func askGerman(topic string) string {
	last := topic[strings.LastIndexByte(topic, ' ')+1:]
	initial, _ := utf8.DecodeRuneInString(last)
	if last != topic && unicode.IsLower(initial) && (strings.HasSuffix(last, "en") || strings.HasSuffix(last, "ern") || strings.HasSuffix(last, "eln")) {
		return "Wie geht „" + topic + "“?"
	}
	return "Was steht in den Dokumenten über „" + topic + "“?"
}

// fold makes two spellings of a sentence equal.
func fold(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// termSet holds the terms that a text may be found under.
func termSet(a *analysis.Analyzer, text string) map[string]bool {
	set := make(map[string]bool)
	for _, term := range a.Terms(text, "") {
		set[term] = true
	}
	return set
}

// covered reports whether the words of a topic are all among the known terms.
func covered(a *analysis.Analyzer, topic string, known map[string]bool) bool {
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
