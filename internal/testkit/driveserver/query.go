package driveserver

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

var errQuery = errors.New("invalid query")

// A condition decides whether a user's list has a file.
type condition func(f *File) bool

var queryToken = regexp.MustCompile(`^\s*(\(|\)|!=|=|'(?:[^'\\]|\\.)*'|[A-Za-z]+)`)

// A queryParser parses the search terms of files.list.
type queryParser struct {
	server *Server
	email  string
	tokens []string
}

func (s *Server) parseQuery(text, email string) (condition, error) {
	p := &queryParser{server: s, email: email}
	for rest := text; strings.TrimSpace(rest) != ""; {
		match := queryToken.FindStringSubmatch(rest)
		if match == nil {
			return nil, errQuery
		}
		p.tokens = append(p.tokens, match[1])
		rest = rest[len(match[0]):]
	}
	if len(p.tokens) == 0 {
		return func(*File) bool { return true }, nil
	}
	c, err := p.either()
	if err == nil && len(p.tokens) > 0 {
		err = errQuery
	}
	return c, err
}

func (p *queryParser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	return token
}

func (p *queryParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *queryParser) either() (condition, error) {
	left, err := p.both()
	for err == nil && p.peek() == "or" {
		p.next()
		var right condition
		if right, err = p.both(); err == nil {
			first := left
			left = func(f *File) bool { return first(f) || right(f) }
		}
	}
	return left, err
}

func (p *queryParser) both() (condition, error) {
	left, err := p.term()
	for err == nil && p.peek() == "and" {
		p.next()
		var right condition
		if right, err = p.term(); err == nil {
			first := left
			left = func(f *File) bool { return first(f) && right(f) }
		}
	}
	return left, err
}

func (p *queryParser) term() (condition, error) {
	switch token := p.next(); {
	case token == "(":
		c, err := p.either()
		if err == nil && p.next() != ")" {
			err = errQuery
		}
		return c, err
	case token == "not":
		c, err := p.term()
		return func(f *File) bool { return !c(f) }, err
	case strings.HasPrefix(token, "'"):
		return p.membership(unquote(token))
	default:
		return p.comparison(token)
	}
}

func unquote(token string) string {
	return strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(token[1 : len(token)-1])
}

// membership parses the rest of "'id' in parents".
func (p *queryParser) membership(value string) (condition, error) {
	if p.next() != "in" {
		return nil, errQuery
	}
	switch p.next() {
	case "parents":
		if value == "root" {
			value = p.server.rootOf(p.email)
		}
		return func(f *File) bool { return f.Parent == value }, nil
	case "owners":
		if value == "me" {
			value = p.email
		}
		return func(f *File) bool { return f.Owner == value && f.driveID == "" }, nil
	}
	return nil, errQuery
}

func (p *queryParser) comparison(field string) (condition, error) {
	if field == "sharedWithMe" && p.peek() != "=" {
		return p.sharedWithMe(true), nil
	}
	operator, value := p.next(), p.next()
	if operator != "=" && operator != "!=" || value == "" {
		return nil, errQuery
	}
	var c condition
	switch {
	case field == "sharedWithMe":
		c = p.sharedWithMe(value == "true")
	case field == "trashed":
		c = func(f *File) bool { return p.server.isTrashed(f) == (value == "true") }
	case field == "name" && strings.HasPrefix(value, "'"):
		c = func(f *File) bool { return strings.EqualFold(f.Name, unquote(value)) }
	case field == "mimeType" && strings.HasPrefix(value, "'"):
		c = func(f *File) bool { return f.MimeType == unquote(value) }
	default:
		return nil, errQuery
	}
	if operator == "!=" {
		equal := c
		c = func(f *File) bool { return !equal(f) }
	}
	return c, nil
}

// sharedWithMe is true for files that were shared with the user themselves, and not
// for those in a shared folder.
func (p *queryParser) sharedWithMe(want bool) condition {
	return func(f *File) bool {
		direct := f.Owner != p.email && f.driveID == "" && slices.ContainsFunc(f.Permissions, func(permission Permission) bool { return p.server.admits(permission, p.email) })
		return direct == want
	}
}
