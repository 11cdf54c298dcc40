package slack

import (
	"cmp"
	"regexp"
	"strings"
)

// A nameResolver returns the names of the ids in a text.
type nameResolver interface {
	personName(id string) string
	channelName(id string) string
}

// rawIDs is a nameResolver that returns the ids. Versions are hashes of such
// texts, so that they do not change with names.
type rawIDs struct{}

func (rawIDs) personName(id string) string  { return id }
func (rawIDs) channelName(id string) string { return id }

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// toMarkdown converts Slack's markup (mrkdwn) to Markdown: *bold*, _italic_,
// ~struck~, `code`, <links|with text>, <@users>, <#channels> and <!groups>.
func toMarkdown(text string, n nameResolver) string {
	var out strings.Builder
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for part := 0; text != ""; part++ {
		plain, rest, found := strings.Cut(text, "```")
		code, after, closed := strings.Cut(rest, "```")
		if !found || !closed {
			out.WriteString(inlineMarkdown(text, n))
			break
		}
		out.WriteString(strings.TrimRight(inlineMarkdown(plain, n), " \t\n"))
		if out.Len() > 0 {
			out.WriteString("\n\n")
		}
		out.WriteString(codeBlock(plainText(code, n)))
		if text = strings.TrimLeft(after, " \t\n"); text != "" {
			out.WriteString("\n\n")
		}
	}
	return strings.Trim(out.String(), "\n")
}

// codeBlock returns a fenced code block. The fence does not occur in the code.
func codeBlock(code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.Trim(code, "\n") + "\n" + fence
}

// inlineMarkdown converts lines without code blocks.
func inlineMarkdown(text string, n nameResolver) string {
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
				spans[i] = codeSpan(plainText(spans[i], n))
				continue
			}
			spans[i] = convertMarks(spans[i], n)
			if i%2 == 1 { // a tick without its other half
				spans[i] = "\\`" + spans[i]
			}
		}
		out = append(out, quote+escapeLineStart(strings.Join(spans, "")))
	}
	return joinLines(out)
}

// joinLines joins lines so that each stays a line in Markdown, with a hard line
// break within a paragraph.
func joinLines(lines []string) string {
	var out strings.Builder
	for i, line := range lines {
		out.WriteString(line)
		if i == len(lines)-1 {
			break
		}
		next := lines[i+1]
		switch {
		case line == "" || next == "":
		case isBlockLine(line) && !isBlockLine(next), !isBlockLine(line) && isBlockLine(next):
			out.WriteString("\n")
		case !isBlockLine(line):
			out.WriteString("\\")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func isBlockLine(line string) bool {
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "> ") || orderedPattern.MatchString(line)
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
	markPattern    = regexp.MustCompile(`<([^<>\n]*)>`)
	boldPattern    = regexp.MustCompile(`(^|[\s(\[{"'.,;:!?_~-])\*([^\s*](?:[^*\n]*[^\s*])?)\*($|[\s)\]}"'.,;:!?_~-])`)
	strikePattern  = regexp.MustCompile(`(^|[\s(\[{"'.,;:!?_*-])~([^\s~](?:[^~\n]*[^\s~])?)~($|[\s)\]}"'.,;:!?_*-])`)
	blockPattern   = regexp.MustCompile(`^(?:#{1,6}(?:\s|$)|[-+](?:\s|$)|-{2,}|={2,}|>|\||~~~)`)
	orderedPattern = regexp.MustCompile(`^[0-9]{1,9}[.)] `)
)

// convertMarks converts a text without code: it converts marks in angle
// brackets and escapes Markdown.
func convertMarks(text string, n nameResolver) string {
	var out strings.Builder
	for {
		at := markPattern.FindStringSubmatchIndex(text)
		if at == nil {
			out.WriteString(convertStyles(text))
			return out.String()
		}
		out.WriteString(convertStyles(text[:at[0]]))
		out.WriteString(convertMark(text[at[2]:at[3]], n))
		text = text[at[1]:]
	}
}

// convertStyles converts Slack's bold and strikethrough. Italic is the same in
// Markdown.
func convertStyles(text string) string {
	const bold, struck = "\x01", "\x02"
	text = strings.NewReplacer(bold, "", struck, "").Replace(text)
	for range 2 { // neighbours share the character between them
		text = boldPattern.ReplaceAllString(text, "${1}"+bold+"${2}"+bold+"${3}")
		text = strikePattern.ReplaceAllString(text, "${1}"+struck+"${2}"+struck+"${3}")
	}
	text = escape(entities.Replace(text))
	return strings.NewReplacer(bold, "**", struck, "~~").Replace(text)
}

var escapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "[", `\[`, "]", `\]`, "<", `\<`, "`", "\\`")

// escape escapes a text for Markdown, except for underscores.
func escape(text string) string { return escapes.Replace(text) }

// escapeLineStart escapes a line that would be a heading, list, quote or rule.
func escapeLineStart(line string) string {
	trimmed := strings.TrimLeft(line, " \t")
	switch {
	case trimmed == "":
		return ""
	case blockPattern.MatchString(trimmed):
		return `\` + trimmed
	}
	return trimmed
}

// plainText converts marks to plain text and entities to characters, for code.
func plainText(text string, n nameResolver) string {
	return entities.Replace(markPattern.ReplaceAllStringFunc(text, func(mark string) string {
		target, label, labelled := strings.Cut(mark[1:len(mark)-1], "|")
		switch {
		case strings.HasPrefix(target, "@") || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "!"):
			return mentionText(target, label, n)
		case labelled:
			return label
		default:
			return target
		}
	}))
}

func codeSpan(code string) string {
	if strings.TrimSpace(code) == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(code, "\n", " ") + "`"
}

// convertMark converts a mark without its brackets.
func convertMark(mark string, n nameResolver) string {
	target, label, _ := strings.Cut(mark, "|")
	if strings.HasPrefix(target, "@") || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "!") {
		return escape(mentionText(target, label, n))
	}
	return markdownLink(entities.Replace(target), entities.Replace(label))
}

// mentionText returns the name of a mentioned user, channel or group.
func mentionText(target, label string, n nameResolver) string {
	label = entities.Replace(label)
	switch id := target[1:]; target[0] {
	case '@':
		return "@" + n.personName(id)
	case '#':
		return "#" + cmp.Or(n.channelName(id), cmp.Or(label, id))
	default:
		name, _, _ := strings.Cut(id, "^")
		switch name {
		case "here", "channel", "everyone":
			return "@" + name
		case "date":
			return label
		}
		return cmp.Or(label, "@"+name)
	}
}

// markdownLink returns a link. Without a label, it shows the address.
func markdownLink(address, label string) string {
	label = strings.Join(strings.Fields(label), " ")
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "mailto:") {
		return escape(cmp.Or(label, address)) // no other scheme is of use to a reader
	}
	if strings.ContainsAny(address, " <>\"\n") || strings.Count(address, "(") != strings.Count(address, ")") {
		address = strings.NewReplacer(" ", "%20", "<", "%3C", ">", "%3E", `"`, "%22", "\n", "", "(", "%28", ")", "%29").Replace(address)
	}
	if label == "" || label == address {
		if shown, mail := strings.CutPrefix(address, "mailto:"); mail {
			return "[" + escape(shown) + "](" + address + ")"
		}
		return "<" + address + ">"
	}
	return "[" + escape(label) + "](" + address + ")"
}
