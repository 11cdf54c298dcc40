package slack

import (
	"regexp"
	"strings"
)

// names are what the ids in a text stand for.
type names interface {
	person(id string) string
	channel(id string) string
}

// ids leave the ids as they are: what a text is like for its version, whatever
// people and channels are called by now.
type ids struct{}

func (ids) person(id string) string  { return id }
func (ids) channel(id string) string { return id }

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// markdownOf makes Markdown of Slack's own markup (mrkdwn): *bold*, _italic_,
// ~struck~, `code`, <links|with text>, <@people>, <#channels>, <!groups>.
func markdownOf(text string, n names) string {
	var out strings.Builder
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for part := 0; text != ""; part++ {
		plain, rest, found := strings.Cut(text, "```")
		code, after, closed := strings.Cut(rest, "```")
		if !found || !closed {
			out.WriteString(inline(text, n))
			break
		}
		out.WriteString(strings.TrimRight(inline(plain, n), " \t\n"))
		if out.Len() > 0 {
			out.WriteString("\n\n")
		}
		out.WriteString(fenced(unmarked(code, n)))
		if text = strings.TrimLeft(after, " \t\n"); text != "" {
			out.WriteString("\n\n")
		}
	}
	return strings.Trim(out.String(), "\n")
}

// fenced is a code block whose fence does not occur in it.
func fenced(code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.Trim(code, "\n") + "\n" + fence
}

// inline makes Markdown of lines without code blocks.
func inline(text string, n names) string {
	lines := strings.Split(text, "\n")
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		quote := ""
		for _, mark := range []string{"&gt;&gt;&gt;", "&gt;"} {
			if rest, quoted := strings.CutPrefix(strings.TrimLeft(line, " "), mark); quoted {
				quote, line = "> ", strings.TrimLeft(rest, " ")
				break
			}
		}
		if rest, listed := cutBullet(line); listed {
			quote, line = quote+"- ", rest
		}
		spans := strings.Split(line, "`")
		for i := range spans {
			if i%2 == 1 && i < len(spans)-1 {
				spans[i] = codeSpan(unmarked(spans[i], n))
				continue
			}
			spans[i] = emphasised(spans[i], n)
			if i%2 == 1 { // a tick without its other half
				spans[i] = "\\`" + spans[i]
			}
		}
		out = append(out, quote+guarded(strings.Join(spans, "")))
	}
	return join(out)
}

// join puts lines together so that each stays a line of its own: a line break
// within a paragraph is a hard one, and lists and quotes are lines by themselves.
func join(lines []string) string {
	var out strings.Builder
	for i, line := range lines {
		out.WriteString(line)
		if i == len(lines)-1 {
			break
		}
		next := lines[i+1]
		switch {
		case line == "" || next == "":
		case special(line) && !special(next), !special(line) && special(next):
			out.WriteString("\n")
		case !special(line):
			out.WriteString("\\")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func special(line string) bool {
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "> ") || orderedMark.MatchString(line)
}

func cutBullet(line string) (rest string, found bool) {
	line = strings.TrimLeft(line, " \t")
	for _, mark := range []string{"• ", "◦ ", "▪︎ ", "▪ ", "- ", "* "} {
		if rest, found = strings.CutPrefix(line, mark); found {
			return rest, true
		}
	}
	return "", false
}

var (
	marks       = regexp.MustCompile(`<([^<>\n]*)>`)
	boldMark    = regexp.MustCompile(`(^|[\s(\[{"'.,;:!?_~-])\*([^\s*](?:[^*\n]*[^\s*])?)\*($|[\s)\]}"'.,;:!?_~-])`)
	struckMark  = regexp.MustCompile(`(^|[\s(\[{"'.,;:!?_*-])~([^\s~](?:[^~\n]*[^\s~])?)~($|[\s)\]}"'.,;:!?_*-])`)
	blockMark   = regexp.MustCompile(`^(?:#{1,6}(?:\s|$)|[-+](?:\s|$)|-{2,}|={2,}|>|\||~~~)`)
	orderedMark = regexp.MustCompile(`^[0-9]{1,9}[.)] `)
)

// emphasised makes Markdown of a text without code: marks in angle brackets are
// resolved, and what Markdown would take for its own is escaped.
func emphasised(text string, n names) string {
	var out strings.Builder
	for {
		at := marks.FindStringSubmatchIndex(text)
		if at == nil {
			out.WriteString(styled(text))
			return out.String()
		}
		out.WriteString(styled(text[:at[0]]))
		out.WriteString(resolved(text[at[2]:at[3]], n))
		text = text[at[1]:]
	}
}

// styled turns Slack's bold and struck into Markdown's; italic is the same in both.
func styled(text string) string {
	const bold, struck = "\x01", "\x02"
	text = strings.NewReplacer(bold, "", struck, "").Replace(text)
	for range 2 { // neighbours share the character between them
		text = boldMark.ReplaceAllString(text, "${1}"+bold+"${2}"+bold+"${3}")
		text = struckMark.ReplaceAllString(text, "${1}"+struck+"${2}"+struck+"${3}")
	}
	text = escaped(entities.Replace(text))
	return strings.NewReplacer(bold, "**", struck, "~~").Replace(text)
}

var escapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "[", `\[`, "]", `\]`, "<", `\<`, "`", "\\`")

// escaped is a text that Markdown shows as it is, but for underscores.
func escaped(text string) string { return escapes.Replace(text) }

// guarded keeps the beginning of a line from being taken for a heading, a list,
// a quote or a rule.
func guarded(line string) string {
	trimmed := strings.TrimLeft(line, " \t")
	switch {
	case trimmed == "":
		return ""
	case blockMark.MatchString(trimmed):
		return `\` + trimmed
	}
	return trimmed
}

// unmarked is code: marks are resolved to plain text, entities to characters.
func unmarked(text string, n names) string {
	return entities.Replace(marks.ReplaceAllStringFunc(text, func(mark string) string {
		what, label, labelled := strings.Cut(mark[1:len(mark)-1], "|")
		switch {
		case strings.HasPrefix(what, "@") || strings.HasPrefix(what, "#") || strings.HasPrefix(what, "!"):
			return mentioned(what, label, n)
		case labelled:
			return label
		default:
			return what
		}
	}))
}

func codeSpan(code string) string {
	if strings.TrimSpace(code) == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(code, "\n", " ") + "`"
}

// resolved is a mark without its brackets as Markdown.
func resolved(mark string, n names) string {
	what, label, _ := strings.Cut(mark, "|")
	if strings.HasPrefix(what, "@") || strings.HasPrefix(what, "#") || strings.HasPrefix(what, "!") {
		return escaped(mentioned(what, label, n))
	}
	return link(entities.Replace(what), entities.Replace(label))
}

// mentioned is who or what a mark names, for people.
func mentioned(what, label string, n names) string {
	label = entities.Replace(label)
	switch id := what[1:]; what[0] {
	case '@':
		return "@" + n.person(id)
	case '#':
		return "#" + or(n.channel(id), or(label, id))
	default:
		name, _, _ := strings.Cut(id, "^")
		switch name {
		case "here", "channel", "everyone":
			return "@" + name
		case "date":
			return label
		}
		return or(label, "@"+name)
	}
}

func or(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

// link is a link in Markdown; one without a text of its own shows its address.
func link(address, label string) string {
	label = oneLine(label)
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "mailto:") {
		return escaped(or(label, address)) // no other scheme is of use to a reader
	}
	if strings.ContainsAny(address, " <>\"\n") || strings.Count(address, "(") != strings.Count(address, ")") {
		address = strings.NewReplacer(" ", "%20", "<", "%3C", ">", "%3E", `"`, "%22", "\n", "", "(", "%28", ")", "%29").Replace(address)
	}
	if label == "" || label == address {
		if shown, mail := strings.CutPrefix(address, "mailto:"); mail {
			return "[" + escaped(shown) + "](" + address + ")"
		}
		return "<" + address + ">"
	}
	return "[" + escaped(label) + "](" + address + ")"
}
