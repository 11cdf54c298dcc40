package jiraserver

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A condition is the part of a query before its order.
type condition func(i *Issue) bool

type parser struct {
	*Server
	tokens []string
	zone   *time.Location
}

var tokenPattern = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|>=|<=|!=|!~|[()=<>~,]|[^\s()=<>~!,"']+`)

// parse parses a query: conditions with AND, OR and NOT, and the order.
func (s *Server) parse(text string, zone *time.Location) (match condition, order []string, err error) {
	p := &parser{Server: s, tokens: tokenPattern.FindAllString(text, -1), zone: zone}
	match = func(*Issue) bool { return true }
	if len(p.tokens) > 0 && !p.is("ORDER") {
		if match, err = p.or(); err != nil {
			return nil, nil, err
		}
	}
	if p.is("ORDER") {
		p.take()
		if !p.is("BY") {
			return nil, nil, errors.New("expecting BY")
		}
		p.take()
		order = strings.Split(strings.Join(p.tokens, " "), ",")
		p.tokens = nil
	}
	if len(p.tokens) > 0 {
		return nil, nil, fmt.Errorf("unexpected %q", p.tokens[0])
	}
	return match, order, nil
}

func (p *parser) is(word string) bool {
	return len(p.tokens) > 0 && strings.EqualFold(p.tokens[0], word)
}

func (p *parser) take() string {
	if len(p.tokens) == 0 {
		return ""
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	return token
}

func (p *parser) or() (condition, error) {
	left, err := p.and()
	for err == nil && p.is("OR") {
		p.take()
		var right condition
		first := left
		right, err = p.and()
		left = func(i *Issue) bool { return first(i) || right(i) }
	}
	return left, err
}

func (p *parser) and() (condition, error) {
	left, err := p.one()
	for err == nil && p.is("AND") {
		p.take()
		var right condition
		first := left
		right, err = p.one()
		left = func(i *Issue) bool { return first(i) && right(i) }
	}
	return left, err
}

func (p *parser) one() (condition, error) {
	if p.is("NOT") {
		p.take()
		inner, err := p.one()
		return func(i *Issue) bool { return !inner(i) }, err
	}
	if p.is("(") {
		p.take()
		inner, err := p.or()
		if err == nil && p.take() != ")" {
			err = errors.New("expecting )")
		}
		return inner, err
	}
	field, operator := strings.ToLower(p.take()), strings.ToLower(p.take())
	if operator == "not" && p.is("in") {
		p.take()
		operator = "not in"
	}
	values, raw := []string{}, ""
	if strings.HasSuffix(operator, "in") {
		if p.take() != "(" {
			return nil, errors.New("expecting (")
		}
		for !p.is(")") {
			if len(p.tokens) == 0 {
				return nil, errors.New("expecting )")
			}
			if token := p.take(); token != "," {
				values = append(values, unquote(token))
			}
		}
		p.take()
	} else {
		raw = p.take()
		if raw == "" {
			return nil, fmt.Errorf("the field %q has no value", field)
		}
		values = []string{unquote(raw)}
	}
	return p.condition(field, operator, raw, values)
}

func unquote(token string) string {
	if len(token) >= 2 && (token[0] == '"' || token[0] == '\'') {
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(token[1 : len(token)-1])
	}
	return token
}

func (p *parser) condition(field, operator, raw string, values []string) (condition, error) {
	one := func(has func(i *Issue, value string) bool) (condition, error) {
		matches := func(i *Issue) bool { return slices.ContainsFunc(values, func(v string) bool { return has(i, v) }) }
		switch operator {
		case "=", "in", "~":
			return matches, nil
		case "!=", "not in", "!~":
			return func(i *Issue) bool { return !matches(i) }, nil
		}
		return nil, fmt.Errorf("the operator %q is not supported by the %q field", operator, field)
	}
	switch field {
	case "project":
		for _, value := range values {
			if found := p.project(value); found == nil || found.Invisible {
				return nil, fmt.Errorf("the value '%s' does not exist for the field 'project'", value)
			}
		}
		return one(func(i *Issue, value string) bool { return p.project(value).ID == i.Project })
	case "id", "issuekey", "key":
		return one(func(i *Issue, value string) bool { return i.ID == value || strings.EqualFold(i.Key, value) })
	case "status":
		return one(func(i *Issue, value string) bool { return strings.EqualFold(i.Status, value) })
	case "labels":
		return one(func(i *Issue, value string) bool { return slices.Contains(i.Labels, value) })
	case "summary":
		return one(func(i *Issue, value string) bool {
			return strings.Contains(strings.ToLower(i.Summary), strings.ToLower(value))
		})
	case "created", "updated":
		return p.date(field, operator, raw)
	}
	return nil, fmt.Errorf("the field '%s' does not exist or you do not have permission to view it", field)
}

// date parses a comparison of a time: a number is milliseconds since 1970, a quoted
// time is in the zone of the asking user.
func (p *parser) date(field, operator, raw string) (condition, error) {
	var bound time.Time
	if milliseconds, err := strconv.ParseInt(raw, 10, 64); err == nil {
		bound = time.UnixMilli(milliseconds)
	} else {
		for _, layout := range []string{"2006-01-02 15:04", "2006/01/02 15:04", "2006-01-02", "2006/01/02"} {
			if t, err := time.ParseInLocation(layout, unquote(raw), p.zone); err == nil {
				bound = t
			}
		}
		if bound.IsZero() {
			return nil, fmt.Errorf("the date value '%s' for field '%s' is invalid", raw, field)
		}
	}
	of := func(i *Issue) time.Time {
		if field == "created" {
			return i.Created
		}
		return i.Updated
	}
	switch operator {
	case ">=":
		return func(i *Issue) bool { return !of(i).Before(bound) }, nil
	case ">":
		return func(i *Issue) bool { return of(i).After(bound) }, nil
	case "<":
		return func(i *Issue) bool { return of(i).Before(bound) }, nil
	case "<=":
		return func(i *Issue) bool { return !of(i).After(bound) }, nil
	}
	return nil, fmt.Errorf("the operator %q is not supported by the %q field", operator, field)
}

// sortBy sorts issues by the fields created, updated and key.
func sortBy(issues []*Issue, order []string) error {
	var compare []func(a, b *Issue) int
	for _, part := range order {
		words := strings.Fields(part)
		if len(words) == 0 {
			return errors.New("expecting a field")
		}
		by := map[string]func(a, b *Issue) int{
			"created": func(a, b *Issue) int { return a.Created.Compare(b.Created) },
			"updated": func(a, b *Issue) int { return a.Updated.Compare(b.Updated) },
			"key":     func(a, b *Issue) int { return number(a.ID) - number(b.ID) },
		}[strings.ToLower(words[0])]
		if by == nil {
			return fmt.Errorf("the field '%s' does not exist", words[0])
		}
		if len(words) > 1 && strings.EqualFold(words[1], "DESC") {
			ascending := by
			by = func(a, b *Issue) int { return ascending(b, a) }
		}
		compare = append(compare, by)
	}
	slices.SortStableFunc(issues, func(a, b *Issue) int {
		for _, by := range compare {
			if c := by(a, b); c != 0 {
				return c
			}
		}
		return 0
	})
	return nil
}
