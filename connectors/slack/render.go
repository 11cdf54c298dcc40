package slack

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// hasContent reports whether a message has content. Other messages announce
// that somebody joined, a topic was set and the like.
func hasContent(m *message) bool {
	switch m.Subtype {
	case "", "bot_message", "me_message", "file_share", "thread_broadcast", "file_comment", "file_mention":
		return true
	}
	return false
}

// isFromBot reports whether an app or bot wrote the message.
func isFromBot(m *message) bool { return m.BotID != "" || m.Subtype == "bot_message" }

// isRoot reports whether the message is the root of a thread, isReply whether
// it is a reply.
func isRoot(m *message) bool {
	return m.Replies > 0 && (m.ThreadTS == "" || m.ThreadTS == m.TS)
}

func isReply(m *message) bool { return m.ThreadTS != "" && m.ThreadTS != m.TS }

// bodyMarkdown returns a message's text, attachments and files as Markdown.
func bodyMarkdown(m *message, n nameResolver) string {
	text, rich := blocksMarkdown(m.blocks, n)
	if !rich && (text == "" || !isFromBot(m)) {
		// Bots repeat their blocks in the text. A message without rich text is all in it.
		text = toMarkdown(m.Text, n)
	}
	parts := []string{text}
	for _, a := range m.attachments {
		parts = append(parts, attachmentMarkdown(a, n))
	}
	for _, f := range m.files {
		if f.Mode == "tombstone" || f.Mode == "hidden_by_limit" {
			continue
		}
		if name := cmp.Or(strings.Join(strings.Fields(f.Title), " "), strings.Join(strings.Fields(f.Name), " ")); name != "" && text != "" {
			parts = append(parts, "File: "+fileLink(f, name))
		} else if name != "" && f.External {
			parts = append(parts, "File: "+fileLink(f, name))
		}
	}
	return joinParagraphs(parts)
}

func fileLink(f file, name string) string {
	if f.Permalink == "" {
		return escape(name)
	}
	return markdownLink(f.Permalink, name)
}

// attachmentMarkdown returns an attachment as Markdown. An unfurled link has
// only its title, since the text is another page's. A quoted message is left
// out, since the readers of this message may not be allowed to read it.
func attachmentMarkdown(a attachment, n nameResolver) string {
	if a.Unfurl || a.IsShare {
		if a.FromURL == "" {
			return ""
		}
		return markdownLink(a.FromURL, "")
	}
	title := ""
	if name := strings.Join(strings.Fields(entities.Replace(a.Title)), " "); name != "" {
		title = markdownLink(cmp.Or(a.TitleLink, a.FromURL), name)
	}
	if a.FromURL != "" {
		return title
	}
	if text, _ := blocksMarkdown(a.Blocks, n); text != "" {
		return joinParagraphs([]string{title, text})
	}
	parts := []string{toMarkdown(a.Pretext, n), title, toMarkdown(a.Text, n)}
	for _, f := range a.Fields {
		value := strings.ReplaceAll(toMarkdown(f.Value, n), "\n", " ")
		if f.Title != "" {
			value = bold(escape(strings.Join(strings.Fields(f.Title), " "))+":") + " " + value
		}
		parts = append(parts, value)
	}
	if text := joinParagraphs(parts); text != "" {
		return text
	}
	return toMarkdown(a.Fallback, n)
}

// authorName returns the name of a message's author.
func authorName(m *message, n nameResolver) string {
	switch {
	case m.User != "" && !isFromBot(m):
		return n.personName(m.User)
	case strings.Join(strings.Fields(m.Username), " ") != "":
		return strings.Join(strings.Fields(m.Username), " ")
	case strings.Join(strings.Fields(m.Profile.Name), " ") != "":
		return strings.Join(strings.Fields(m.Profile.Name), " ")
	case m.User != "":
		return n.personName(m.User)
	default:
		return "Bot"
	}
}

// formatMessage returns a message as a paragraph of a document, with the time
// in UTC.
func formatMessage(m *message, n nameResolver, layout string) string {
	text := bodyMarkdown(m, n)
	if text == "" {
		return ""
	}
	head := bold(escape(authorName(m, n))) + " " + m.sentAt.Format(layout)
	if m.Edited.TS != "" {
		head += " (edited)"
	}
	if strings.Contains(text, "\n") {
		return head + "\n\n" + text
	}
	return head + ": " + text
}

const (
	timeLayout     = "15:04"
	dateTimeLayout = "2006-01-02 15:04"
	maxTitle       = 80
)

// messageTitle returns the first line of a message without markup.
func messageTitle(m *message, n nameResolver) string {
	text := m.Text
	if m.Subtype == "tombstone" {
		return "Thread" // the text announces the deletion
	}
	if text == "" || (isFromBot(m) && len(m.blocks) > 0) {
		if markdown, _ := blocksMarkdown(m.blocks, n); markdown != "" {
			text = strings.NewReplacer("**", "", "~~", "", "`", "", `\`, "").Replace(markdown)
		}
	} else {
		text = strings.NewReplacer("*", "", "`", "").Replace(plainText(text, n))
	}
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(strings.TrimLeft(line, "># •-")), " "); line != "" {
			return truncateTitle(line, maxTitle)
		}
	}
	for _, f := range m.files {
		if name := strings.Join(strings.Fields(cmp.Or(f.Title, f.Name)), " "); name != "" {
			return truncateTitle(name, maxTitle)
		}
	}
	for _, a := range m.attachments {
		if name := strings.Join(strings.Fields(cmp.Or(a.Title, a.Fallback)), " "); name != "" {
			return truncateTitle(entities.Replace(name), maxTitle)
		}
	}
	return "Thread"
}

// truncateTitle truncates a line to a number of characters, between words.
func truncateTitle(line string, limit int) string {
	if utf8.RuneCountInString(line) <= limit {
		return line
	}
	runes := []rune(line)[:limit-1]
	cut := string(runes)
	if at := strings.LastIndexByte(cut, ' '); at > limit/2 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:.-") + "…"
}

// conversationGap is the silence after which a new conversation begins.
const conversationGap = 45 * time.Minute

// renderDay returns the document of a channel's day, with a heading for each
// conversation and only the title of each thread. It is "" if there is no
// content.
func renderDay(c channel, day time.Time, messages []*message, n nameResolver) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# #%s, %s\n", escape(c.Name), day.Format("2 January 2006"))
	var last time.Time
	hasText := false
	for _, m := range messages {
		line := ""
		if isRoot(m) {
			line = bold(escape(authorName(m, n))) + " " + m.sentAt.Format(timeLayout) + " began a thread: " + escape(messageTitle(m, n))
		} else {
			line = formatMessage(m, n, timeLayout)
		}
		if line == "" {
			continue
		}
		if !hasText || m.sentAt.Sub(last) > conversationGap {
			fmt.Fprintf(&out, "\n## %s\n", m.sentAt.Format("15:04 MST"))
		}
		last, hasText = m.sentAt, true
		out.WriteString("\n" + line + "\n")
	}
	if !hasText {
		return ""
	}
	return out.String()
}

// renderThread returns the document of a thread.
func renderThread(c channel, title string, messages []*message, n nameResolver) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\nIn #%s\n", escape(title), escape(c.Name))
	for _, m := range messages {
		if line := formatMessage(m, n, dateTimeLayout); line != "" {
			out.WriteString("\n" + line + "\n")
		}
	}
	return out.String()
}
