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
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/search"
)

// Texts of answers without a model.
const (
	noModelText   = "No chat model is configured, so nothing here was thought up: this is what the agent's tools gave."
	noToolText    = "None of the agent's tools fits this message."
	noQuotesText  = "I found nothing about this in the documents."
	quotesHeading = "From the documents, verbatim:"
)

// runWithoutModel finds arithmetic, questions about the time and a search query
// in the message, makes those calls and writes their results.
func (r *run) runWithoutModel(ctx context.Context) error {
	r.outcome.Iterations = 1
	if err := r.emitEvent(ctx, Iteration{Number: 1, Status: Planning}); err != nil {
		return err
	}
	var invocations []*invocation
	for _, call := range planCalls(r.task.Message, func(tool string) bool { return r.tools[tool] != nil }) {
		invocations = append(invocations, r.prepareUnasked(ctx, call))
	}
	if len(invocations) > 0 {
		if err := r.emitEvent(ctx, Iteration{Number: 1, Status: Acting}); err != nil {
			return err
		}
		for _, inv := range invocations {
			if err := r.emitEvent(ctx, ToolCall{Tool: inv.Name, CallID: inv.ID, Params: inv.params}); err != nil {
				return err
			}
		}
		if err := r.invokeAll(ctx, invocations); err != nil {
			return err
		}
	}
	if err := r.emitEvent(ctx, Iteration{Number: 1, Status: Answering}); err != nil {
		return err
	}
	if err := r.writeAnswer(ctx, noModelText); err != nil {
		return err
	}
	if len(invocations) == 0 {
		return r.writeAnswer(ctx, "\n\n"+noToolText)
	}
	for _, inv := range invocations {
		if err := r.writeResult(ctx, inv); err != nil {
			return err
		}
	}
	return nil
}

// prepareUnasked prepares a call that cannot wait for a person.
func (r *run) prepareUnasked(ctx context.Context, call llm.ToolCall) *invocation {
	inv := r.prepare(ctx, call)
	if inv.Decision != "" {
		inv.Decision, inv.Failure = "", "Not called: a person must approve this call."
	}
	return inv
}

// writeResult writes the result of a call into the answer.
func (r *run) writeResult(ctx context.Context, inv *invocation) error {
	switch {
	case inv.Failure != "":
		return r.writeAnswer(ctx, "\n\n"+inv.Name+": "+inv.Failure)
	case inv.Name != SearchTool:
		return r.writeAnswer(ctx, "\n\n"+inv.result.Summary)
	}
	var quotes []Quote
	if r.task.FindQuotes != nil {
		quotes = r.task.FindQuotes(r.task.Message, inv.result.Hits)
	}
	if len(quotes) == 0 {
		return r.writeAnswer(ctx, "\n\n"+noQuotesText)
	}
	if err := r.writeAnswer(ctx, "\n\n"+quotesHeading); err != nil {
		return err
	}
	for _, q := range quotes {
		separator := " "
		if q.Block {
			separator = "\n\n" // on the last line it would become part of the table or the fence
		}
		if err := r.writeAnswer(ctx, "\n\n"+q.Text+separator+r.task.Citer.Cite(r.task.Citer.Add(inv.result.Hits[q.HitIndex]))); err != nil {
			return err
		}
	}
	return nil
}

const (
	maxPlannedCalls = 5   // expressions, and places, of one message
	quoteHits       = 8   // passages to quote from
	maxQueryLength  = 400 // characters
)

// planCalls returns the calls that a message needs. hasTool reports whether the
// agent has a tool.
func planCalls(message string, hasTool func(tool string) bool) []llm.ToolCall {
	var calls []llm.ToolCall
	add := func(tool string, arguments map[string]any) {
		text, _ := json.Marshal(arguments) // strings and numbers only
		calls = append(calls, llm.ToolCall{Name: tool, Arguments: string(text)})
	}
	rest := message
	if hasTool(CalculateTool) {
		for _, expression := range expressions(message) {
			add(CalculateTool, map[string]any{"expression": strings.TrimSpace(expression)})
			rest = strings.Replace(rest, expression, " ", 1)
		}
	}
	if hasTool(ClockTool) && timeQuestion().MatchString(message) {
		for _, zone := range timeZones(message) {
			arguments := map[string]any{}
			if zone != "" {
				arguments["timezone"] = zone
			}
			add(ClockTool, arguments)
		}
		rest = timeQuestion().ReplaceAllString(rest, " ")
		rest = placePattern().ReplaceAllString(rest, " ")
	}
	if hasTool(SearchTool) && (len(calls) == 0 || hasContent(rest)) {
		query := message
		if len(calls) > 0 {
			query = strings.Join(strings.Fields(rest), " ")
		}
		add(SearchTool, map[string]any{"query": safetext.Truncate(query, maxQueryLength), "limit": quoteHits})
	}
	return calls
}

// expressions returns the arithmetic in a message: what the calculator accepts
// and what is more than a number, a date or a range.
func expressions(message string) []string {
	if utf8.RuneCountInString(message) > 4*maxQueryLength {
		message = string([]rune(message)[:4*maxQueryLength])
	}
	form := regexp.MustCompile(`(?i)(?:\b(?:sqrt|cbrt|round|floor|ceil|abs|min|max|sum|avg|mean|median|log10|log2|log|ln|exp|sin|cos|tan|pow|gcd|lcm|mod|factorial|of|pi|tau)\b|[0-9.,_+\-*/%^()!×÷−·²³√π\s])+`)
	isRequest := regexp.MustCompile(`(?i)\b(calculate|compute|how much|what is|what's|rechne|berechne|wie ?viel|was ist|was sind|cuánto|combien)\b|=`).MatchString(message)
	strong := regexp.MustCompile(`(?i)[0-9)%²³!]\s*[+*×÷^·]\s*[0-9(√a-z.-]|%\s*of\b|\b[a-z0-9]+\(|[0-9]!|[0-9][²³]|√|\bmod\b|[0-9)]\s+[-−/]\s+[0-9(]`)
	weak := regexp.MustCompile(`[0-9)]\s*[-−/]\s*[0-9(]`)
	var found []string
	for _, part := range form.FindAllString(message, -1) {
		part = strings.Trim(part, " \t\r\n,._!")
		if strings.Count(part, "(") < strings.Count(part, ")") {
			part = strings.TrimRight(part, ") ")
		}
		isArithmetic := strong.MatchString(part) || isRequest && weak.MatchString(part)
		if !isArithmetic || !strings.ContainsAny(part, "0123456789") {
			continue
		}
		if _, err := calc.Evaluate(part); err == nil {
			if found = append(found, part); len(found) == maxPlannedCalls {
				break
			}
		}
	}
	return found
}

// timeQuestion matches a question about the present date or time.
func timeQuestion() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(what time|current time|the time now|time is it|what day|today'?s date|current date|date today|what date|what is the date|which day|uhrzeit|wie spät|wieviel uhr|wie viel uhr|welcher tag|welches datum|heutige datum)\b`)
}

// placePattern matches a place or a time zone in a question about the time.
func placePattern() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:in|at|for)\s+(\p{Lu}[\p{L}_]+(?:[ /]\p{Lu}[\p{L}_]+){0,2})|\b(\p{Lu}[\p{L}]+/\p{Lu}[\p{L}_]+(?:/\p{Lu}[\p{L}_]+)?|UTC|GMT)\b`)
}

// timeZones returns the time zones that a message names, or [""] if it names
// none.
func timeZones(message string) []string {
	var found []string
	for _, match := range placePattern().FindAllStringSubmatch(message, maxPlannedCalls) {
		if zone := timeZone(match[1] + match[2]); zone != "" {
			found = append(found, zone)
		}
	}
	if len(found) == 0 {
		return []string{""}
	}
	return found
}

// timeZone returns the IANA time zone of a place, or "" if there is none.
func timeZone(place string) string {
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

// hasContent reports whether a message has words besides those of a question
// about numbers or the time.
func hasContent(text string) bool {
	const filler = " what whats what's is are the a an it its and or to of in on at for me you your please tell give show calculate compute result now today current much how many i " +
		"my time date day also then plus with that this can could would was wie viel ist sind das der die und bitte rechne berechne mir jetzt heute auch dann von "
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && c != '\'' }) {
		if !strings.Contains(filler, " "+word+" ") && (utf8.RuneCountInString(word) > 2 || word[0] >= utf8.RuneSelf) {
			return true
		}
	}
	return false
}

var _ Citer = discardCitations{}

// discardCitations is a Citer that shows no citations.
type discardCitations struct{}

func (discardCitations) Add(search.Hit) int       { return 1 }
func (discardCitations) Write(text string) string { return text }
func (discardCitations) Flush() string            { return "" }
func (discardCitations) Cite(int) string          { return "" }
