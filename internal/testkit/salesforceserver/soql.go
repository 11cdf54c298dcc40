package salesforceserver

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Row is a record: values by field. Times are texts.
type Row map[string]any

// A statement is a parsed query.
type statement struct {
	fields    []string
	counts    bool // the rows
	object    string
	where     *condition // nil without one
	order     string
	limit     int
	mentioned map[string][]string // operators by field in the condition
}

// A condition is a comparison, or "and", "or" and "not" of others.
type condition struct {
	operator string
	parts    []*condition
	field    string
	values   []any
}

type soqlError struct{ code, message string }

func (e *soqlError) Error() string { return e.code + ": " + e.message }

func malformed(format string, arguments ...any) error {
	return &soqlError{"MALFORMED_QUERY", fmt.Sprintf(format, arguments...)}
}

var tokenPattern = regexp.MustCompile(`^(?:'(?:[^'\\]|\\.)*'|[A-Za-z_][A-Za-z0-9_.]*|-?[0-9][0-9A-Za-z:.+-]*|<=|>=|!=|<>|[=<>(),])`)

func tokenize(text string) ([]string, error) {
	var tokens []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		token := tokenPattern.FindString(text)
		if token == "" {
			return nil, malformed("unexpected token: %.20s", text)
		}
		tokens, text = append(tokens, token), text[len(token):]
	}
	return tokens, nil
}

type parser struct {
	tokens []string
	made   *statement
}

func (p *parser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *parser) next() string {
	token := p.peek()
	p.tokens = p.tokens[min(1, len(p.tokens)):]
	return token
}

func (p *parser) accept(words ...string) bool {
	if len(p.tokens) < len(words) {
		return false
	}
	for i, word := range words {
		if !strings.EqualFold(p.tokens[i], word) {
			return false
		}
	}
	p.tokens = p.tokens[len(words):]
	return true
}

// parse parses SELECT … FROM … with WHERE, ORDER BY and LIMIT.
func parse(text string) (*statement, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, made: &statement{limit: -1, mentioned: map[string][]string{}}}
	if !p.accept("select") {
		return nil, malformed("unexpected token: %s", p.peek())
	}
	for p.made.counts = p.accept("count", "(", ")"); !p.made.counts; {
		p.made.fields = append(p.made.fields, p.next())
		if !p.accept(",") {
			break
		}
	}
	if !p.accept("from") {
		return nil, malformed("unexpected token: %s", p.peek())
	}
	p.made.object = p.next()
	if p.accept("where") {
		if p.made.where, err = p.either(); err != nil {
			return nil, err
		}
	}
	if p.accept("order", "by") {
		p.made.order = p.next()
		p.accept("asc")
	}
	if p.accept("limit") {
		if p.made.limit, err = strconv.Atoi(p.next()); err != nil {
			return nil, malformed("the limit is no number")
		}
	}
	if len(p.tokens) > 0 {
		return nil, malformed("unexpected token: %s", p.peek())
	}
	return p.made, nil
}

func (p *parser) either() (*condition, error) { return p.chain("or", p.both) }

func (p *parser) both() (*condition, error) { return p.chain("and", p.single) }

func (p *parser) chain(word string, inner func() (*condition, error)) (*condition, error) {
	first, err := inner()
	if err != nil || !strings.EqualFold(p.peek(), word) {
		return first, err
	}
	all := &condition{operator: word, parts: []*condition{first}}
	for p.accept(word) {
		part, err := inner()
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, part)
	}
	return all, nil
}

func (p *parser) single() (*condition, error) {
	if p.accept("not") {
		part, err := p.single()
		return &condition{operator: "not", parts: []*condition{part}}, err
	}
	if p.accept("(") {
		inner, err := p.either()
		if err == nil && !p.accept(")") {
			err = malformed("expecting a right parenthesis, found %q", p.peek())
		}
		return inner, err
	}
	c := &condition{field: p.next(), operator: strings.ToLower(p.next())}
	if c.operator == "not" && p.accept("in") {
		c.operator = "not in"
	}
	p.made.mentioned[c.field] = append(p.made.mentioned[c.field], c.operator)
	switch c.operator {
	case "=", "!=", "<", ">", "<=", ">=", "like":
		value, err := literal(p.next())
		c.values = []any{value}
		return c, err
	case "in", "not in":
		if !p.accept("(") {
			return nil, malformed("expecting a list")
		}
		for {
			value, err := literal(p.next())
			if err != nil {
				return nil, err
			}
			c.values = append(c.values, value)
			if !p.accept(",") {
				break
			}
		}
		if !p.accept(")") {
			return nil, malformed("expecting a right parenthesis, found %q", p.peek())
		}
		return c, nil
	}
	return nil, malformed("unexpected operator: %s", c.operator)
}

func literal(token string) (any, error) {
	switch {
	case strings.HasPrefix(token, "'"):
		return regexp.MustCompile(`\\(.)`).ReplaceAllString(token[1:len(token)-1], "$1"), nil
	case strings.EqualFold(token, "null"):
		return nil, nil //nolint:nilnil // the value null
	case strings.EqualFold(token, "true"), strings.EqualFold(token, "false"):
		return strings.EqualFold(token, "true"), nil
	case regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`).MatchString(token):
		return moment(token), nil
	}
	number, err := strconv.ParseFloat(token, 64)
	if err != nil {
		return nil, malformed("unexpected token: %s", token)
	}
	return number, nil
}

// holds reports whether a condition holds for the values of a row.
func (c *condition) holds(value func(field string) any) bool {
	switch c.operator {
	case "and":
		return !slices.ContainsFunc(c.parts, func(part *condition) bool { return !part.holds(value) })
	case "or":
		return slices.ContainsFunc(c.parts, func(part *condition) bool { return part.holds(value) })
	case "not":
		return !c.parts[0].holds(value)
	case "in", "not in":
		found := slices.ContainsFunc(c.values, func(wanted any) bool { return compare(c.field, value(c.field), wanted) == 0 })
		return found == (c.operator == "in")
	case "like":
		pattern := regexp.QuoteMeta(fmt.Sprint(c.values[0]))
		matched, _ := regexp.MatchString("(?is)^"+strings.NewReplacer("%", ".*", "_", ".").Replace(pattern)+"$", text(value(c.field)))
		return matched
	}
	have, wanted := value(c.field), c.values[0]
	if have == nil || wanted == nil {
		return (have == nil && wanted == nil) == (c.operator == "=")
	}
	order := compare(c.field, have, wanted)
	switch c.operator {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case ">":
		return order > 0
	case "<=":
		return order <= 0
	default:
		return order >= 0
	}
}

// compare compares a value of a row with a literal. Ids differ in case; other texts do
// not.
func compare(field string, have, wanted any) int {
	switch wanted := wanted.(type) {
	case float64:
		number, _ := strconv.ParseFloat(fmt.Sprint(have), 64)
		return cmp.Compare(number, wanted)
	case bool:
		flag, _ := have.(bool)
		if flag == wanted {
			return 0
		}
		return 1
	case instant:
		return cmp.Compare(moment(text(have)), wanted)
	case string:
		if strings.HasSuffix(field, "Id") {
			a, b := text(have), wanted
			return strings.Compare(a[:min(15, len(a))], b[:min(15, len(b))])
		}
		return strings.Compare(strings.ToLower(text(have)), strings.ToLower(wanted))
	}
	if have == nil {
		return 0
	}
	return 1
}

func text(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
