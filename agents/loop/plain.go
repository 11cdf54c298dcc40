package loop

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/agents/calc"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/search"
)

// What a run without a model says.
const (
	noModel      = "No chat model is configured, so nothing here was thought up: this is what the agent's tools gave."
	noneUseful   = "None of the agent's tools fits this message."
	nothingFound = "I found nothing about this in the documents."
	quotesFollow = "From the documents, verbatim:"
)

// plain is the run without a model: it looks for arithmetic, for questions about the time and for something to search for,
// makes those calls, and shows what they gave.
func (r *run) plain(ctx context.Context) error {
	r.out.Iterations = 1
	if err := r.tell(ctx, Iteration{Number: 1, Status: Planning}); err != nil {
		return err
	}
	var jobs []*job
	for _, call := range plan(r.task.Message, func(tool string) bool { return r.tools[tool] != nil }) {
		j := r.prepare(call)
		jobs = append(jobs, j)
	}
	if len(jobs) > 0 {
		if err := r.tell(ctx, Iteration{Number: 1, Status: Acting}); err != nil {
			return err
		}
		for _, j := range jobs {
			if err := r.tell(ctx, ToolCall{Tool: j.name, CallID: j.id, Params: j.params}); err != nil {
				return err
			}
		}
		if err := r.carryOut(ctx, jobs); err != nil {
			return err
		}
	}
	if err := r.tell(ctx, Iteration{Number: 1, Status: Answering}); err != nil {
		return err
	}
	if err := r.say(ctx, noModel); err != nil {
		return err
	}
	if len(jobs) == 0 {
		return r.say(ctx, "\n\n"+noneUseful)
	}
	for _, j := range jobs {
		if err := r.show(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// show says what a call gave.
func (r *run) show(ctx context.Context, j *job) error {
	switch {
	case j.wrong != "":
		return r.say(ctx, "\n\n"+j.name+": "+j.wrong)
	case j.name != SearchTool:
		return r.say(ctx, "\n\n"+j.result.Summary)
	}
	var quotes []Quote
	if r.task.Quotes != nil {
		quotes = r.task.Quotes(r.task.Message, j.result.Hits)
	}
	if len(quotes) == 0 {
		return r.say(ctx, "\n\n"+nothingFound)
	}
	if err := r.say(ctx, "\n\n"+quotesFollow); err != nil {
		return err
	}
	for _, q := range quotes {
		mark := " "
		if q.Block {
			mark = "\n\n" // behind a closing fence or a table row it would become part of it
		}
		if err := r.say(ctx, "\n\n"+q.Text+mark+r.task.Cites.Cite(r.task.Cites.Add(j.result.Hits[q.Hit]))); err != nil {
			return err
		}
	}
	return nil
}

const (
	maxPlanned = 5   // expressions and places of one message
	plainHits  = 8   // passages to quote from
	maxQuery   = 400 // characters
)

// plan looks at a message and says what to call. has tells which tools there are.
func plan(message string, has func(tool string) bool) []llm.ToolCall {
	var calls []llm.ToolCall
	add := func(tool string, arguments map[string]any) {
		text, _ := json.Marshal(arguments) // of texts and numbers
		calls = append(calls, llm.ToolCall{Name: tool, Arguments: string(text)})
	}
	rest := message
	if has(CalculateTool) {
		for _, expression := range expressions(message) {
			add(CalculateTool, map[string]any{"expression": strings.TrimSpace(expression)})
			rest = strings.Replace(rest, expression, " ", 1)
		}
	}
	if has(ClockTool) && asksTime().MatchString(message) {
		for _, zone := range zones(message) {
			arguments := map[string]any{}
			if zone != "" {
				arguments["timezone"] = zone
			}
			add(ClockTool, arguments)
		}
		rest = asksTime().ReplaceAllString(rest, " ")
		rest = placeForm().ReplaceAllString(rest, " ")
	}
	if has(SearchTool) && (len(calls) == 0 || substance(rest)) {
		query := message
		if len(calls) > 0 {
			query = strings.Join(strings.Fields(rest), " ")
		}
		add(SearchTool, map[string]any{"query": shortened(query, maxQuery), "limit": plainHits})
	}
	return calls
}

// expressions finds the arithmetic in a message: what the calculator takes and is more than a number, a date or a range.
func expressions(message string) []string {
	if utf8.RuneCountInString(message) > 4*maxQuery {
		message = string([]rune(message)[:4*maxQuery])
	}
	form := regexp.MustCompile(`(?i)(?:\b(?:sqrt|cbrt|round|floor|ceil|abs|min|max|sum|avg|mean|median|log10|log2|log|ln|exp|sin|cos|tan|pow|gcd|lcm|mod|factorial|of|pi|tau)\b|[0-9.,_+\-*/%^()!×÷−·²³√π\s])+`)
	asked := regexp.MustCompile(`(?i)\b(calculate|compute|how much|what is|what's|rechne|berechne|wie ?viel|was ist|was sind|cuánto|combien)\b|=`).MatchString(message)
	strong := regexp.MustCompile(`(?i)[0-9)%²³!]\s*[+*×÷^·]\s*[0-9(√a-z.-]|%\s*of\b|\b[a-z0-9]+\(|[0-9]!|[0-9][²³]|√|\bmod\b|[0-9)]\s+[-−/]\s+[0-9(]`)
	weak := regexp.MustCompile(`[0-9)]\s*[-−/]\s*[0-9(]`)
	var found []string
	for _, part := range form.FindAllString(message, -1) {
		part = strings.Trim(part, " \t\r\n,._!")
		if strings.Count(part, "(") < strings.Count(part, ")") {
			part = strings.TrimRight(part, ") ")
		}
		sum := strong.MatchString(part) || asked && weak.MatchString(part)
		if !sum || !strings.ContainsAny(part, "0123456789") {
			continue
		}
		if _, err := calc.Evaluate(part); err == nil {
			if found = append(found, part); len(found) == maxPlanned {
				break
			}
		}
	}
	return found
}

func asksTime() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(what time|current time|the time now|time is it|what day|today'?s date|current date|date today|what date|what is the date|which day|uhrzeit|wie spät|wieviel uhr|wie viel uhr|welcher tag|welches datum|heutige datum)\b`)
}

// placeForm is a place or a time zone that a time is asked for.
func placeForm() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:in|at|for)\s+(\p{Lu}[\p{L}_]+(?:[ /]\p{Lu}[\p{L}_]+){0,2})|\b(\p{Lu}[\p{L}]+/\p{Lu}[\p{L}_]+(?:/\p{Lu}[\p{L}_]+)?|UTC|GMT)\b`)
}

// zones are the time zones that a message names; "" for none.
func zones(message string) []string {
	var found []string
	for _, match := range placeForm().FindAllStringSubmatch(message, maxPlanned) {
		if zone := zone(match[1] + match[2]); zone != "" {
			found = append(found, zone)
		}
	}
	if len(found) == 0 {
		return []string{""}
	}
	return found
}

// zone finds the time zone of a place, by its name in the IANA database.
func zone(place string) string {
	place = strings.ReplaceAll(place, " ", "_")
	for _, region := range []string{"", "Europe/", "America/", "Asia/", "Africa/", "Australia/", "Pacific/", "Atlantic/", "Indian/"} {
		if place == "Local" {
			return ""
		}
		if _, err := time.LoadLocation(region + place); err == nil {
			return region + place
		}
	}
	return ""
}

// substance reports whether a message says more than that something is asked.
func substance(text string) bool {
	const filler = " what whats what's is are the a an it its and or to of in on at for me you your please tell give show calculate compute result now today current much how many i " +
		"my time date day also then plus with that this can could would was wie viel ist sind das der die und bitte rechne berechne mir jetzt heute auch dann von "
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && c != '\'' }) {
		if !strings.Contains(filler, " "+word+" ") && (utf8.RuneCountInString(word) > 2 || word[0] >= utf8.RuneSelf) {
			return true
		}
	}
	return false
}

var _ Citer = noCites{}

// noCites takes no account of citations.
type noCites struct{}

func (noCites) Add(search.Hit) int       { return 1 }
func (noCites) Write(text string) string { return text }
func (noCites) Flush() string            { return "" }
func (noCites) Cite(int) string          { return "" }
