package texttosql

import (
	"regexp"
	"strings"
)

// maxChoices bounds the columns of a choice, whose subsets are all tried.
const maxChoices = 6

var choice = regexp.MustCompile(`\{([^{}]*)\}`)

// alternatives returns the statements of a gold entry. In it, a semicolon separates equally
// right statements, {a, b} stands for any columns of a and b but not for none, and {} repeats
// the choice before it.
func alternatives(gold string) []string {
	var all []string
	for _, statement := range split(gold) {
		all = append(all, expand(statement)...)
	}
	return all
}

// split cuts a text at the semicolons outside quotes.
func split(text string) []string {
	var parts []string
	begin, quote := 0, byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ';':
			parts = append(parts, text[begin:i])
			begin = i + 1
		}
	}
	parts = append(parts, text[begin:])
	var out []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// expand replaces the first choice of a statement in all ways, and then the others.
func expand(statement string) []string {
	at := choice.FindStringSubmatchIndex(statement)
	if at == nil {
		return []string{statement}
	}
	var columns []string
	for column := range strings.SplitSeq(statement[at[2]:at[3]], ",") {
		if column = strings.TrimSpace(column); column != "" && len(columns) < maxChoices {
			columns = append(columns, column)
		}
	}
	var out []string
	for subset := 1; subset < 1<<len(columns); subset++ {
		var chosen []string
		for i, column := range columns {
			if subset&(1<<i) != 0 {
				chosen = append(chosen, column)
			}
		}
		list := strings.Join(chosen, ", ")
		rest := strings.ReplaceAll(statement[at[1]:], "{}", list)
		for _, ending := range expand(rest) {
			out = append(out, statement[:at[0]]+list+ending)
		}
	}
	return out
}

var token = regexp.MustCompile("'(?:[^']|'')*'|--[^\n]*|\"[^\"]+\"|`[^`]+`|\\[[^\\]]+\\]|[\\p{L}_][\\p{L}\\p{N}_$]*|[0-9.]+|\\S")

// Tables returns the names that follow FROM and JOIN in a statement, in lower case and
// without their schemas: those of tables, and of the common table expressions of the
// statement.
func Tables(statement string) []string {
	tokens := token.FindAllString(statement, -1)
	seen := map[string]bool{}
	var names []string
	for i := 0; i < len(tokens); i++ {
		word := strings.ToLower(tokens[i])
		if word != "from" && word != "join" {
			continue
		}
		for i+1 < len(tokens) {
			name, next := nameAt(tokens, i+1)
			if name != "" && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
			next = afterAlias(tokens, next)
			i = next - 1
			if name == "" || next >= len(tokens) || tokens[next] != "," {
				break
			}
			i = next
		}
	}
	return names
}

// nameAt returns the last part of the name at an index of tokens, "" if there is none, and
// the index behind the name.
func nameAt(tokens []string, at int) (name string, next int) {
	for next = at; next < len(tokens); next += 2 {
		part := strings.Trim(tokens[next], "\"`[]")
		if !isName(tokens[next]) {
			return "", next
		}
		name = strings.ToLower(part)
		if next+1 >= len(tokens) || tokens[next+1] != "." {
			return name, next + 1
		}
	}
	return name, next
}

func isName(token string) bool {
	first := token[0]
	return first == '_' || first == '"' || first == '`' || first == '[' && len(token) > 1 || first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z' || first >= 0x80
}

// afterAlias skips the alias of a table in a list, which a comma follows.
func afterAlias(tokens []string, at int) int {
	next := at
	if next < len(tokens) && strings.EqualFold(tokens[next], "as") {
		next++
	}
	if next+1 < len(tokens) && isName(tokens[next]) && tokens[next+1] == "," {
		return next + 1
	}
	return at
}
