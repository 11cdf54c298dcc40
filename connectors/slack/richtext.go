package slack

import (
	"strconv"
	"strings"
)

// maxDepth is how deep blocks may nest.
const maxDepth = 6

// blocksOf makes Markdown of blocks; rich says whether rich text, which is what
// people write, was among them.
func blocksOf(blocks []block, n names) (text string, rich bool) {
	var parts []string
	for _, b := range blocks {
		part := ""
		switch b.Type {
		case "rich_text":
			rich = true
			part = richText(b.Elements, n)
		case "header":
			part = bold(escaped(oneLine(b.Text.Text)))
		case "section":
			lines := []string{textOf(b.Text, n)}
			for _, f := range b.Fields {
				lines = append(lines, textOf(f, n))
			}
			part = paragraphs(lines)
		case "context":
			var words []string
			for _, e := range b.Elements {
				if e.Text.Text != "" {
					e.Text.Plain = e.Type == "plain_text"
					words = append(words, textOf(e.Text, n))
				}
			}
			part = strings.Join(words, " ")
		case "image", "video":
			part = escaped(oneLine(or(b.Title.Text, b.Alternate)))
		case "markdown":
			part = b.Text.Text
		}
		parts = append(parts, part)
	}
	return paragraphs(parts), rich
}

// textOf is a text object.
func textOf(w words, n names) string {
	if w.Plain {
		return inline(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "~", "∼").Replace(w.Text), n)
	}
	return markdownOf(w.Text, n)
}

func bold(text string) string {
	if text == "" {
		return ""
	}
	return "**" + text + "**"
}

// paragraphs joins what is not empty.
func paragraphs(parts []string) string {
	var kept []string
	for _, part := range parts {
		if part = strings.Trim(part, "\n"); strings.TrimSpace(part) != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n\n")
}

// richText is the elements of a rich text block: sections, lists, code and quotes.
func richText(elements []block, n names) string {
	var out strings.Builder
	var last block
	for i, e := range elements {
		text := ""
		switch e.Type {
		case "rich_text_section":
			text = section(e.Elements, n)
		case "rich_text_preformatted":
			text = fenced(rawText(e.Elements, n))
		case "rich_text_quote":
			text = "> " + strings.ReplaceAll(strings.ReplaceAll(section(e.Elements, n), "\\\n", "\n"), "\n", "\n> ")
		case "rich_text_list":
			text = listed(e, n)
		}
		if text = strings.Trim(text, "\n"); text == "" {
			continue
		}
		if i > 0 && out.Len() > 0 {
			out.WriteString("\n")
			if last.Type != "rich_text_list" || e.Type != "rich_text_list" {
				out.WriteString("\n")
			}
		}
		out.WriteString(text)
		last = e
	}
	return out.String()
}

// listed is one level of a list; Slack gives each run of a level as one list.
func listed(list block, n names) string {
	var out strings.Builder
	indent := strings.Repeat("    ", min(max(list.Indent, 0), maxDepth))
	for i, e := range list.Elements {
		mark := "- "
		if list.Style.List == "ordered" {
			mark = strconv.Itoa(i+1) + ". "
		}
		text := strings.ReplaceAll(strings.ReplaceAll(section(e.Elements, n), "\\\n", "\n"), "\n", " ")
		out.WriteString(indent + mark + text + "\n")
	}
	return out.String()
}

// section is a run of styled texts, links and mentions.
func section(elements []block, n names) string {
	var out strings.Builder
	for _, e := range elements {
		out.WriteString(leaf(e, n))
	}
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = guarded(lines[i])
	}
	return join(lines)
}

func leaf(e block, n names) string {
	text := ""
	switch e.Type {
	case "text":
		if e.Style.Code {
			return codeSpan(e.Text.Text)
		}
		text = escaped(e.Text.Text)
	case "link":
		text = link(e.URL, e.Text.Text)
	case "user":
		text = escaped("@" + n.person(e.User))
	case "usergroup":
		text = escaped("@" + e.Group)
	case "channel":
		text = escaped("#" + or(n.channel(e.Channel), e.Channel))
	case "broadcast":
		text = "@" + escaped(e.Range)
	case "emoji":
		text = emoji(e)
	case "date":
		text = escaped(e.Fallback)
	default:
		text = escaped(or(e.Text.Text, e.Fallback))
	}
	return wrapped(text, e.Style)
}

// wrapped puts a style around a text, inside of the blanks at its ends.
func wrapped(text string, s style) string {
	inner := strings.TrimSpace(text)
	if inner == "" || strings.Contains(inner, "\n") {
		return text
	}
	start := strings.Index(text, inner)
	before, after := text[:start], text[start+len(inner):]
	if s.Gone {
		inner = "~~" + inner + "~~"
	}
	if s.Italic {
		inner = "_" + inner + "_"
	}
	if s.Bold {
		inner = "**" + inner + "**"
	}
	return before + inner + after
}

// emoji is the character of an emoji, or its name.
func emoji(e block) string {
	var out strings.Builder
	for code := range strings.SplitSeq(e.Unicode, "-") {
		if r, err := strconv.ParseInt(code, 16, 32); err == nil && r > 0x7f && r <= 0x10ffff {
			out.WriteRune(rune(r))
		}
	}
	if out.Len() > 0 {
		return out.String()
	}
	return ":" + e.Name + ":"
}

// rawText is what stands in a code block.
func rawText(elements []block, n names) string {
	var out strings.Builder
	for _, e := range elements {
		switch e.Type {
		case "link":
			out.WriteString(or(e.Text.Text, e.URL))
		case "user":
			out.WriteString("@" + n.person(e.User))
		case "channel":
			out.WriteString("#" + or(n.channel(e.Channel), e.Channel))
		default:
			out.WriteString(e.Text.Text)
		}
	}
	return out.String()
}
