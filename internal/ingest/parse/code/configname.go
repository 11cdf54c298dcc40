package code

import "strings"

// blockName joins the words before the brace of a block, such as "resource aws_instance web".
func blockName(signature string) string {
	line, _, _ := strings.Cut(signature, "\n")
	end := strings.IndexAny(line, "{=")
	if end < 0 {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(line[:end], `"`, ""))
}

// stageName returns the name of a stage of a Dockerfile, or its image.
func stageName(signature string) string {
	line, _, _ := strings.Cut(signature, "\n")
	words := strings.Fields(line)
	for len(words) > 1 && strings.HasPrefix(words[1], "--") {
		words = append(words[:1], words[2:]...)
	}
	switch {
	case len(words) < 2 || !strings.EqualFold(words[0], "from"):
		return ""
	case len(words) >= 4 && strings.EqualFold(words[2], "as"):
		return words[3]
	}
	return words[1]
}

// targetName returns the targets of a makefile rule, or the name of a variable.
func targetName(signature string) string {
	line, _, _ := strings.Cut(signature, "\n")
	if rest, found := strings.CutPrefix(line, "define "); found {
		return strings.TrimSpace(rest)
	}
	end := strings.IndexAny(line, ":=?+")
	if end <= 0 || strings.HasPrefix(line, "include") || strings.HasPrefix(line, ".") || strings.HasPrefix(line, "if") {
		return ""
	}
	name := strings.TrimSpace(line[:end])
	if len(name) > 80 || strings.HasPrefix(name, "export ") {
		return strings.TrimPrefix(name[:min(len(name), 80)], "export ")
	}
	return name
}

// jsonName returns the key of a member.
func jsonName(signature string) string {
	n := namer{grammar: &grammar{}, rest: strings.TrimSpace(signature)}
	if token := n.next(); token == identifier || token == literal {
		return n.text
	}
	return ""
}

// yamlName returns the key of a mapping, or the name that a list element gives itself.
func yamlName(signature string) string {
	line, rest, _ := strings.Cut(signature, "\n")
	line = strings.TrimSpace(line)
	element := strings.HasPrefix(line, "-")
	line = strings.TrimSpace(strings.TrimLeft(line, "- "))
	if element {
		for other := range strings.SplitSeq(line+"\n"+rest, "\n") {
			key, value, found := strings.Cut(strings.TrimSpace(other), ":")
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			if found && value != "" && len(value) <= 100 && (key == "name" || key == "title" || key == "id") {
				return value
			}
		}
	}
	key, value, found := strings.Cut(line, ": ")
	if !found {
		if key, found = strings.CutSuffix(line, ":"); !found {
			return line[:min(len(line), 60)]
		}
	}
	key = strings.Trim(strings.TrimSpace(key), `"'`)
	if value = strings.Trim(strings.TrimSpace(value), `"'`); element && value != "" && len(value) <= 60 {
		return key + ": " + value
	}
	return key[:min(len(key), 100)]
}

// sqlName returns the object that a statement creates or changes.
func sqlName(signature string) (kind, name string) {
	words := strings.FieldsFunc(signature, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '(' || r == ';' })
	if len(words) < 2 {
		return "", ""
	}
	at := 1
	switch strings.ToLower(words[0]) {
	case "create", "alter", "drop", "comment":
	case "insert", "merge", "copy":
		if strings.EqualFold(words[1], "into") && len(words) > 2 {
			at = 2
		}
		return plainKind, strings.Trim(words[at], "`\"[]")
	default:
		return "", ""
	}
	for at < len(words) {
		switch strings.ToLower(words[at]) {
		case "or", "replace", "temp", "temporary", "unique", "global", "local", "unlogged", "materialized", "recursive", "if", "not", "exists", "only", "on",
			"concurrently", "external", "foreign", "definer", "table", "view", "index", "function", "procedure", "trigger", "type", "schema", "sequence",
			"database", "extension", "role", "user", "policy", "domain", "package", "body", "event", "clustered", "nonclustered", "column", "aggregate", "constraint":
			at++
			continue
		}
		break
	}
	if at >= len(words) {
		return plainKind, ""
	}
	return plainKind, strings.NewReplacer("`", "", `"`, "", "[", "", "]", "").Replace(words[at])
}
