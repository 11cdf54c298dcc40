package jira

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// clause returns a person's JQL without its ORDER BY. It is an error if the text
// cannot stand in parentheses.
func clause(text string) (string, error) {
	depth, quote := 0, byte(0)
	order := regexp.MustCompile(`(?i)^order\s+by\b`)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\': // also outside of quotes
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return "", errors.New("has a ) without a (")
			}
		case (c == 'o' || c == 'O') && depth == 0 && (i == 0 || strings.IndexByte(" \t\r\n)\"'", text[i-1]) >= 0) && order.MatchString(text[i:]):
			if err := checkOrder(text[i:]); err != nil {
				return "", err
			}
			return strings.TrimSpace(text[:i]), nil
		}
	}
	if depth != 0 || quote != 0 {
		return "", errors.New("has a parenthesis or quote that is not closed")
	}
	return strings.TrimSpace(text), nil
}

// checkOrder checks that nothing but fields follows ORDER BY. The names of fields
// may have quotes, with anything between them.
func checkOrder(text string) error {
	text = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`).ReplaceAllString(text, "")
	if strings.ContainsAny(text, "()=<>~!") {
		return errors.New("has something behind its order by that is no list of fields")
	}
	return nil
}

// quoted returns a string of JQL.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// A query is a search for issues.
type query struct {
	base  string   // the connector's part
	and   []string // further conditions
	order string
	// reconcile are ids of issues that a search on Cloud takes from the database, and
	// not from its index.
	reconcile []string
}

func (q query) with(format string, args ...any) query {
	q.and = append(append([]string{}, q.and...), fmt.Sprintf(format, args...))
	return q
}

// String returns the JQL.
func (q query) String() string {
	parts := q.and
	if q.base != "" {
		parts = append([]string{q.base}, parts...)
	}
	if len(parts) == 0 {
		parts = []string{"created >= 0"} // Cloud refuses a query without a bound
	}
	text := strings.Join(parts, " AND ")
	if q.order != "" {
		text += " ORDER BY " + q.order
	}
	return text
}

// baseQuery returns the part of each query that comes from the settings.
func baseQuery(keys []string, jql string) string {
	var parts []string
	if len(keys) > 0 {
		names := make([]string, len(keys))
		for i, key := range keys {
			names[i] = quoted(strings.ToUpper(key))
		}
		parts = append(parts, "project in ("+strings.Join(names, ", ")+")")
	}
	if jql != "" {
		parts = append(parts, "("+jql+")")
	}
	return strings.Join(parts, " AND ")
}

// inIDs returns the condition that an issue has one of some ids.
func inIDs(ids []string) string { return "id in (" + strings.Join(ids, ", ") + ")" }

// compareIDs compares ids as numbers.
func compareIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// isID reports whether a text is an id.
func isID(text string) bool {
	_, err := strconv.ParseUint(text, 10, 63)
	return err == nil && text[0] != '+'
}
