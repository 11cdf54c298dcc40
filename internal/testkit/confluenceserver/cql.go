package confluenceserver

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

var errCQL = errors.New("this is no CQL")

type matcher = func(*Content) bool

// parseCQL parses the subset of CQL that the connector and its tests use: and,
// or, parentheses, =, !=, ~ and in, for id, type, space, container, label and
// title.
func parseCQL(s *Server, text string) (matcher, error) {
	p := &cql{server: s, tokens: regexp.MustCompile(`"[^"]*"|'[^']*'|!=|[=~(),]|[^\s=~(),!]+`).FindAllString(text, -1)}
	m, err := p.either()
	if err != nil || len(p.tokens) > 0 {
		return nil, errCQL
	}
	return m, nil
}

type cql struct {
	server *Server
	tokens []string
}

func (p *cql) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *cql) take() string {
	token := p.peek()
	if token != "" {
		p.tokens = p.tokens[1:]
	}
	return token
}

func (p *cql) either() (matcher, error) {
	left, err := p.both()
	for err == nil && strings.EqualFold(p.peek(), "or") {
		p.take()
		var right matcher
		a := left
		if right, err = p.both(); err == nil {
			left = func(c *Content) bool { return a(c) || right(c) }
		}
	}
	return left, err
}

func (p *cql) both() (matcher, error) {
	left, err := p.one()
	for err == nil && strings.EqualFold(p.peek(), "and") {
		p.take()
		var right matcher
		a := left
		if right, err = p.one(); err == nil {
			left = func(c *Content) bool { return a(c) && right(c) }
		}
	}
	return left, err
}

func (p *cql) one() (matcher, error) {
	if p.peek() == "(" {
		p.take()
		m, err := p.either()
		if p.take() != ")" {
			return nil, errCQL
		}
		return m, err
	}
	field, operator := strings.ToLower(p.take()), strings.ToLower(p.take())
	var values []string
	switch operator {
	case "in":
		if p.take() != "(" {
			return nil, errCQL
		}
		for {
			values = append(values, strings.Trim(p.take(), `"'`))
			next := p.take()
			if next == ")" {
				break
			}
			if next != "," {
				return nil, errCQL
			}
		}
	case "=", "!=", "~":
		value := p.take()
		if value == "" || strings.ContainsAny(value, "(),") {
			return nil, errCQL
		}
		values = []string{strings.Trim(value, `"'`)}
	default:
		return nil, errCQL
	}
	of, ok := map[string]func(*Content) []string{
		"id": func(c *Content) []string { return []string{c.ID} }, "type": func(c *Content) []string { return []string{c.Type} },
		"space": func(c *Content) []string { return []string{c.Space} }, "container": func(c *Content) []string { return []string{c.Container} },
		"label": func(c *Content) []string { return c.Labels }, "title": func(c *Content) []string { return []string{c.Title} },
	}[field]
	if !ok {
		return nil, errCQL
	}
	return func(c *Content) bool {
		found := slices.ContainsFunc(of(c), func(have string) bool {
			return slices.ContainsFunc(values, func(want string) bool {
				if operator == "~" {
					return strings.Contains(strings.ToLower(have), strings.ToLower(want))
				}
				return have == want
			})
		})
		return found != (operator == "!=")
	}, nil
}
