package code

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
)

// nameOf returns the kind and the name of a declaration, whose text is whole.
func (o *outline) nameOf(signature, whole string) (kind, name string) {
	switch o.grammar.name {
	case "yaml":
		if strings.HasPrefix(strings.TrimSpace(signature), "{{") || strings.HasPrefix(signature, "---") {
			return unnamedKind, ""
		}
		return typeKind, yamlName(signature)
	case "ini":
		line, _, _ := strings.Cut(signature, "\n")
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
			return plainKind, strings.ReplaceAll(strings.Trim(line, "[] "), `"`, "")
		}
		return unnamedKind, ""
	case "json":
		return typeKind, jsonName(signature)
	case "hcl":
		return plainKind, blockName(signature)
	case "sql":
		return sqlName(signature)
	case "dockerfile":
		return plainKind, stageName(signature)
	case "makefile":
		return plainKind, targetName(signature)
	}
	n := namer{grammar: o.grammar, rest: signature}
	if line, _, _ := strings.Cut(signature, "\n"); o.grammar.hasRegexps && strings.Contains(line, "= require(") {
		return unnamedKind, ""
	}
	kind, name = n.declaration()
	if name == "" && strings.HasPrefix(strings.TrimSpace(signature), "typedef") {
		name = lastIdentifier(whole)
	}
	return kind, name
}

// namer reads the tokens of a declaration.
type namer struct {
	grammar *grammar
	rest    string
	text    string // of the last word or string
}

// Kinds of tokens. Punctuation stands for itself.
const (
	endOfWords = 0
	identifier = 'a'
	literal    = '"'
	lineBreak  = '\n'
)

// next reads a word, a string or a punctuation character.
func (n *namer) next() byte {
	for n.rest != "" && (n.rest[0] == ' ' || n.rest[0] == '\t') {
		n.rest = n.rest[1:]
	}
	if n.rest == "" {
		return endOfWords
	}
	c := n.rest[0]
	switch {
	case isNameByte(c) || c == '@' || c == '~' || c == '#' && n.grammar.name == "javascript" && len(n.rest) > 1 && isNameByte(n.rest[1]):
		end := 1
		for end < len(n.rest) && (isNameByte(n.rest[end]) || n.isJoiner(end)) {
			end++
		}
		if end < len(n.rest) && strings.IndexByte("?!*=", n.rest[end]) >= 0 && n.isSuffix(end) {
			end++
		}
		n.text, n.rest = n.rest[:end], n.rest[end:]
		return identifier
	case c == '"' || c == '\'' || c == '`':
		end := strings.IndexByte(n.rest[1:], c)
		if end < 0 {
			n.rest = n.rest[1:]
			return c
		}
		n.text, n.rest = n.rest[1:1+end], n.rest[end+2:]
		return literal
	case strings.HasPrefix(n.rest, "<?php"):
		n.text, n.rest = "<?php", n.rest[5:]
		return identifier
	case c == ':' && len(n.rest) > 1 && isNameByte(n.rest[1]) && n.grammar.name == "ruby":
		n.rest = n.rest[1:]
		n.next()
		return literal
	}
	n.rest = n.rest[1:]
	return c
}

func isNameByte(c byte) bool { return ascii.IsAlphanumeric(c) || c == '_' || c == '$' || c >= 0x80 }

// isJoiner reports whether a character continues a name: A::b, a.b, a:b in Lua.
func (n *namer) isJoiner(at int) bool {
	rest := n.rest[at:]
	switch {
	case strings.HasPrefix(rest, "::") && len(rest) > 2 && (isNameByte(rest[2]) || rest[2] == '~'):
		return true
	case rest[0] == ':' && n.rest[at-1] == ':':
		return true
	case rest[0] == '~' && n.rest[at-1] == ':':
		return true
	case rest[0] == '.' && len(rest) > 1 && isNameByte(rest[1]):
		return true
	case rest[0] == ':' && n.grammar.name == "lua" && len(rest) > 1 && isNameByte(rest[1]):
		return true
	case rest[0] == '-' && (n.grammar.name == "shell" || n.grammar.name == "powershell") && len(rest) > 1 && isNameByte(rest[1]):
		return true
	case rest[0] == '\'' && n.grammar.name == "haskell":
		return true
	}
	return false
}

// isSuffix reports whether a character ends a name: valid? in Ruby and Elixir, macro_rules! in Rust, function* in
// JavaScript.
func (n *namer) isSuffix(at int) bool {
	switch n.rest[at] {
	case '?', '!':
		return n.grammar.name == "ruby" || n.grammar.name == "elixir" || n.grammar.name == "julia" || n.rest[at] == '!' && n.rest[:at] == "macro_rules"
	case '*':
		return n.rest[:at] == "function"
	}
	return false
}

// declaration reads the beginning of a declaration.
func (n *namer) declaration() (kind, name string) {
	last := ""
	for range 60 {
		switch token := n.next(); token {
		case identifier:
			word := n.text
			switch {
			case strings.HasPrefix(word, "@") && !strings.Contains(n.grammar.keywords, " "+word+":"):
				n.rest = skipBrackets(n.rest) // a decorator
			case strings.Contains(n.grammar.modifiers, " "+word+" ") && n.isModifier():
				if strings.HasPrefix(n.rest, "(") {
					n.rest = skipBrackets(n.rest)
				}
			case word == "template":
				n.rest = skipBrackets(strings.TrimSpace(n.rest))
			case last == "" && strings.Contains(n.grammar.keywords, " "+word+":"):
				kind := n.kindOf(word)
				return n.afterKeyword(word, kind)
			case isControl(word) && last == "":
				return "", ""
			case strings.HasPrefix(word, "__"): // __attribute__((…)), __declspec(…)
				n.rest = skipBrackets(strings.TrimSpace(n.rest))
			case last != "" && n.grammar.hasPreprocessor && strings.HasPrefix(strings.TrimSpace(n.rest), "(("):
				return plainKind, last // OF((…)), PARAMS((…))
			case last == "" || n.grammar.name != "haskell":
				last = word
			}
		case literal:
			if last == "" && n.text == "C" && n.grammar.hasPreprocessor {
				if strings.HasPrefix(strings.TrimSpace(n.rest), "{") {
					return namespaceKind, "" // extern "C"
				}
				continue
			}
			if last != "" && !n.grammar.hasStatements && len(n.text) < 100 {
				return plainKind, last + " " + n.text
			}
			return "", last
		case '(':
			return n.call(last)
		case '<':
			if strings.HasPrefix(n.rest, "-") {
				return plainKind, last // R
			}
			n.rest = skipBrackets("<" + n.rest)
		case '[':
			n.rest = skipBrackets("[" + n.rest)
		case ':':
			if n.grammar.name == "haskell" || !strings.HasPrefix(n.rest, ":") || n.next() != ':' {
				return plainKind, last
			}
			for n.next() == lineBreak {
			}
			last += "::" + n.text // the name follows on the next line
		case '=', '{', ';':
			if last == "" && token != '=' {
				return "", ""
			}
			return plainKind, last
		case lineBreak:
			if !n.grammar.hasStatements && last != "" {
				if n.grammar.name == "haskell" {
					return plainKind, last
				}
				return "", ""
			}
		case endOfWords:
			return "", ""
		case '#':
			return n.directive()
		}
	}
	return "", last
}

// call reads on after the parenthesis that follows a word, which is the name of a function or a call.
func (n *namer) call(last string) (kind, name string) {
	if last == "" || last == "(" {
		if strings.HasPrefix(n.rest, "*") && n.next() == '*' && n.next() == identifier {
			return plainKind, n.text
		}
		return "", ""
	}
	if strings.HasPrefix(n.rest, "*") && n.grammar.isLastName {
		n.next()
		if n.next() == identifier {
			return plainKind, n.text // a pointer to a function
		}
	}
	if !n.grammar.hasStatements && n.next() == literal && len(n.text) < 100 {
		return plainKind, last + " " + n.text
	}
	return plainKind, last
}

// isModifier reports whether a word may be a modifier: another word follows, or a bracket.
func (n *namer) isModifier() bool {
	rest := strings.TrimLeft(n.rest, " \t\n")
	return rest != "" && (isNameByte(rest[0]) || strings.IndexByte("([<@~*&\"#", rest[0]) >= 0)
}

func isControl(word string) bool {
	switch word {
	case "if", "for", "while", "switch", "case", "return", "do", "try", "until", "unless", "begin", "with", "match", "elif", "else", "end", "throw", "raise", "yield":
		return true
	}
	return false
}

func (n *namer) kindOf(word string) string {
	_, kind, _ := strings.Cut(n.grammar.keywords, " "+word+":")
	kind, _, _ = strings.Cut(kind, " ")
	return ":" + kind
}

// afterKeyword reads the name after a keyword.
func (n *namer) afterKeyword(word, kind string) (string, string) {
	switch {
	case kind == unnamedKind:
		return kind, ""
	case word == "impl" || word == "instance":
		rest := strings.TrimSpace(n.rest)
		if strings.HasPrefix(rest, "<") {
			rest = skipBrackets(rest)
		}
		if end := strings.IndexAny(rest, "{\n"); end >= 0 {
			rest = rest[:end]
		}
		rest, _, _ = strings.Cut(rest, " where")
		if len(rest) > 120 {
			rest = rest[:120]
		}
		return kind, word + " " + strings.TrimSpace(rest)
	case n.grammar.name == "go" && word == "func" && strings.HasPrefix(strings.TrimSpace(n.rest), "("):
		return kind, n.method()
	}
	name := ""
	for range 12 {
		switch token := n.next(); token {
		case identifier:
			switch {
			case n.text == "final" && name != "" || n.text == "sealed":
			case strings.HasPrefix(n.text, "__"):
				n.rest = skipBrackets(strings.TrimSpace(n.rest))
			case strings.Contains(n.grammar.keywords, " "+n.text+":") && name == "":
				// enum class, case class, const fn, export default function
				if inner := n.kindOf(n.text); inner != plainKind || kind == plainKind {
					kind = inner
				}
			case n.text == "extends" || n.text == "implements" || n.text == "as" && name == "" || n.text == "where":
				return kind, name
			default:
				if name = n.text; !n.grammar.isLastName {
					return kind, name
				}
			}
		case literal:
			if name == "" {
				return kind, n.text
			}
			return kind, name
		case '<':
			if name != "" {
				return kind, name
			}
			n.rest = skipBrackets("<" + n.rest) // fun <T> name
		case '(':
			switch {
			case strings.HasPrefix(strings.TrimSpace(n.rest), "*") && n.grammar.isLastName:
				for token := n.next(); token != identifier && token != endOfWords; token = n.next() {
				}
				return kind, n.text // a pointer to a function
			case n.grammar.name == "go":
				return kind, n.groupNames()
			case name == "" && (word == "init" || word == "constructor" || word == "subscript"):
				return kind, word
			}
			return kind, name
		case '*', '&', lineBreak:
		default:
			if name == "" && (word == "init" || word == "deinit" || word == "constructor") {
				return kind, word
			}
			return kind, name
		}
	}
	return kind, name
}

// method reads the receiver and the name of a method in Go.
func (n *namer) method() string {
	receiver, rest, found := strings.Cut(strings.TrimSpace(n.rest)[1:], ")")
	if !found {
		return ""
	}
	receiver, _, _ = strings.Cut(receiver, "[")
	receiver = strings.TrimLeft(receiver[strings.LastIndexByte(receiver, ' ')+1:], "*")
	n.rest = rest
	if n.next() != identifier {
		return receiver
	}
	return receiver + "." + n.text
}

// groupNames returns the first names that a group in Go declares.
func (n *namer) groupNames() string {
	var names []string
	for line := range strings.Lines(n.rest) {
		word := firstWord(strings.TrimSpace(line))
		if word != "" && !strings.HasPrefix(strings.TrimSpace(line), "//") && isNameByte(line[len(line)-len(strings.TrimLeft(line, " \t"))]) && len(names) < 3 &&
			strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "\t\t") {
			names = append(names, word)
		}
	}
	return strings.Join(names, ", ")
}

// directive returns the name that #define defines.
func (n *namer) directive() (string, string) {
	if n.next() == identifier && n.text == "define" && n.next() == identifier {
		if line, _, _ := strings.Cut(n.rest, "\n"); strings.TrimSpace(line) != "" {
			return plainKind, n.text
		} // otherwise it is an include guard
	}
	return unnamedKind, ""
}

// lastIdentifier returns the name at the end of "typedef struct { … } name;".
func lastIdentifier(text string) string {
	text = strings.TrimRight(text, " \t\n;")
	start := len(text)
	for start > 0 && isNameByte(text[start-1]) {
		start--
	}
	return text[start:]
}
