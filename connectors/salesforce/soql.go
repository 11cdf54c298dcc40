package salesforce

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// quoted returns a text as a literal of SOQL.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// in returns a condition that a field has one of some values.
func in(field string, values []string) string {
	literals := make([]string, len(values))
	for i, value := range values {
		literals[i] = quoted(value)
	}
	return field + " IN (" + strings.Join(literals, ",") + ")"
}

// since returns a condition that a field has a time, or a later one.
func since(field string, at time.Time) string {
	return field + " >= " + at.UTC().Format("2006-01-02T15:04:05Z")
}

// A selection is a query whose rows are read in the order of their ids.
type selection struct {
	fields []string
	object string
	where  []string
	// deleted says that rows in the recycle bin are read, too.
	deleted bool
	// key is the field with the id, Id if it is empty.
	key string
}

func (q selection) keyField() string {
	if q.key == "" {
		return "Id"
	}
	return q.key
}

// with returns the query with another condition.
func (q selection) with(condition string) selection {
	q.where = append(append([]string(nil), q.where...), condition)
	return q
}

// text returns the query for the rows whose ids follow after.
func (q selection) text(after string, limit int) string {
	if after != "" {
		q = q.with(q.keyField() + " > " + quoted(after))
	}
	return fmt.Sprintf("SELECT %s%s ORDER BY %s LIMIT %d", strings.Join(q.fields, ","), q.source(), q.keyField(), limit)
}

// count returns the query for the number of rows.
func (q selection) count() string { return "SELECT COUNT()" + q.source() }

// source returns what follows the fields.
func (q selection) source() string {
	text := " FROM " + q.object
	if len(q.where) > 0 {
		text += " WHERE " + strings.Join(q.where, " AND ")
	}
	return text
}

// everyObject is the key of the filter for all objects.
const everyObject = ""

// parseFilters parses the option soqlFilter: conditions by object, with parentheses.
func parseFilters(text string) (map[string][]string, error) {
	parsed := map[string][]string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		object, clause := everyObject, line
		if match := regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]*)\s*:\s*(.*)$`).FindStringSubmatch(line); match != nil {
			object, clause = match[1], match[2]
		}
		if err := checkClause(clause); err != nil {
			return nil, err
		}
		parsed[object] = append(parsed[object], "("+clause+")")
	}
	return parsed, nil
}

// checkClause checks that a text is a condition that parentheses keep apart from the
// rest of a query.
func checkClause(clause string) error {
	depth, inText := 0, false
	var outer strings.Builder // what is not in a text or parentheses
	for i := 0; i < len(clause); i++ {
		switch c := clause[i]; {
		case inText && c == '\\':
			i++
		case c == '\'':
			inText = !inText
			outer.WriteByte(' ')
		case inText:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return errors.New("has a closing parenthesis without an opening one")
			}
			outer.WriteByte(' ')
		case depth == 0:
			outer.WriteByte(c)
		}
	}
	switch {
	case inText:
		return errors.New("has a text without its end; write texts between single quotes")
	case depth > 0:
		return errors.New("has an opening parenthesis without a closing one")
	case strings.TrimSpace(clause) == "":
		return errors.New("needs a condition, such as Case: Status != 'Draft'")
	}
	forbidden := regexp.MustCompile(`(?i)\b(select|from|where|with|group\s+by|having|order\s+by|limit|offset|for\s+(view|reference|update)|all\s+rows)\b|;`)
	if word := forbidden.FindString(outer.String()); word != "" {
		return fmt.Errorf("must be a condition only, without %s", strings.ToUpper(word))
	}
	return nil
}
