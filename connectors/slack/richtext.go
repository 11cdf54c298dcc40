package slack

import (
	"cmp"
	"strconv"
	"strings"
)

// maxDepth bounds the indentation of lists.
const maxDepth = 6

// blocksMarkdown converts blocks. rich reports whether there was rich text,
// which people write.
func blocksMarkdown(blocks []block, n nameResolver) (text string, rich bool) {
	var parts []string
	for _, b := range blocks {
		part := ""
		switch b.Type {
		case "rich_text":
			rich = true
			part = richTextMarkdown(b.Elements, n)
		case "header":
			part = bold(escape(strings.Join(strings.Fields(b.Text.Text), " ")))
		case "section":
			lines := []string{textMarkdown(b.Text, n)}
			for _, f := range b.Fields {
				lines = append(lines, textMarkdown(f, n))
			}
			part = joinParagraphs(lines)
		case "context":
			var words []string
			for _, e := range b.Elements {
				if e.Text.Text != "" {
					e.Text.IsPlain = e.Type == "plain_text"
					words = append(words, textMarkdown(e.Text, n))
				}
			}
			part = strings.Join(words, " ")
		case "image", "video":
			part = escape(strings.Join(strings.Fields(cmp.Or(b.Title.Text, b.Alternate)), " "))
		case "markdown":
			part = b.Text.Text
		}
		parts = append(parts, part)
	}
	return joinParagraphs(parts), rich
}

func textMarkdown(w textObject, n nameResolver) string {
	if w.IsPlain {
		return inlineMarkdown(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "~", "∼").Replace(w.Text), n)
	}
	return toMarkdown(w.Text, n)
}

func bold(text string) string {
	if text == "" {
		return ""
	}
	return "**" + text + "**"
}

// joinParagraphs joins the parts that are not empty.
func joinParagraphs(parts []string) string {
	var kept []string
	for _, part := range parts {
		if part = strings.Trim(part, "\n"); strings.TrimSpace(part) != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n\n")
}

// richTextMarkdown converts the elements of a rich text block: sections, lists,
// code and quotes.
func richTextMarkdown(elements []block, n nameResolver) string {
	var out strings.Builder
	var last block
	for i, e := range elements {
		text := ""
		switch e.Type {
		case "rich_text_section":
			text = sectionMarkdown(e.Elements, n)
		case "rich_text_preformatted":
			text = codeBlock(codeText(e.Elements, n))
		case "rich_text_quote":
			text = "> " + strings.ReplaceAll(strings.ReplaceAll(sectionMarkdown(e.Elements, n), "\\\n", "\n"), "\n", "\n> ")
		case "rich_text_list":
			text = listMarkdown(e, n)
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

// listMarkdown converts one list, which has items of one level.
func listMarkdown(list block, n nameResolver) string {
	var out strings.Builder
	indent := strings.Repeat("    ", min(max(list.Indent, 0), maxDepth))
	for i, e := range list.Elements {
		mark := "- "
		if list.Style.List == "ordered" {
			mark = strconv.Itoa(i+1) + ". "
		}
		text := strings.ReplaceAll(strings.ReplaceAll(sectionMarkdown(e.Elements, n), "\\\n", "\n"), "\n", " ")
		out.WriteString(indent + mark + text + "\n")
	}
	return out.String()
}

// sectionMarkdown converts a sequence of texts, links and mentions.
func sectionMarkdown(elements []block, n nameResolver) string {
	var out strings.Builder
	for _, e := range elements {
		out.WriteString(elementMarkdown(e, n))
	}
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = escapeLineStart(lines[i])
	}
	return joinLines(lines)
}

func elementMarkdown(e block, n nameResolver) string {
	text := ""
	switch e.Type {
	case "text":
		if e.Style.Code {
			return codeSpan(e.Text.Text)
		}
		text = escape(e.Text.Text)
	case "link":
		text = markdownLink(e.URL, e.Text.Text)
	case "user":
		text = escape("@" + n.personName(e.User))
	case "usergroup":
		text = escape("@" + e.Group)
	case "channel":
		text = escape("#" + cmp.Or(n.channelName(e.Channel), e.Channel))
	case "broadcast":
		text = "@" + escape(e.Range)
	case "emoji":
		text = emojiText(e)
	case "date":
		text = escape(e.Fallback)
	default:
		text = escape(cmp.Or(e.Text.Text, e.Fallback))
	}
	return applyStyle(text, e.Style)
}

// applyStyle adds a style to a text, inside of the white space at its ends.
func applyStyle(text string, s style) string {
	inner := strings.TrimSpace(text)
	if inner == "" || strings.Contains(inner, "\n") {
		return text
	}
	start := strings.Index(text, inner)
	before, after := text[:start], text[start+len(inner):]
	if s.Strike {
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

// emojiText returns the character of an emoji, or its name.
func emojiText(e block) string {
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

// codeText returns the plain text of a code block's elements.
func codeText(elements []block, n nameResolver) string {
	var out strings.Builder
	for _, e := range elements {
		switch e.Type {
		case "link":
			out.WriteString(cmp.Or(e.Text.Text, e.URL))
		case "user":
			out.WriteString("@" + n.personName(e.User))
		case "channel":
			out.WriteString("#" + cmp.Or(n.channelName(e.Channel), e.Channel))
		default:
			out.WriteString(e.Text.Text)
		}
	}
	return out.String()
}
