package slack

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// speaks says whether a message is of a kind that says something: the others tell
// of somebody joining, a topic being set and the like.
func speaks(m *message) bool {
	switch m.Subtype {
	case "", "bot_message", "me_message", "file_share", "thread_broadcast", "file_comment", "file_mention":
		return true
	}
	return false
}

// byBot says whether an app or a bot wrote the message.
func byBot(m *message) bool { return m.BotID != "" || m.Subtype == "bot_message" }

// isRoot says whether a thread hangs on the message, isReply whether it hangs on one.
func isRoot(m *message) bool {
	return m.Replies > 0 && (m.ThreadTS == "" || m.ThreadTS == m.TS)
}

func isReply(m *message) bool { return m.ThreadTS != "" && m.ThreadTS != m.TS }

// body is what a message says, in Markdown; "" for nothing.
func body(m *message, n names) string {
	text, rich := blocksOf(m.blocks, n)
	if !rich && (text == "" || !byBot(m)) {
		// Bots repeat their blocks in the text; what people write stands there alone.
		text = markdownOf(m.Text, n)
	}
	parts := []string{text}
	for _, a := range m.attached {
		parts = append(parts, attachedText(a, n))
	}
	for _, f := range m.files {
		if f.Mode == "tombstone" || f.Mode == "hidden_by_limit" {
			continue
		}
		if name := or(oneLine(f.Title), oneLine(f.Name)); name != "" && text != "" {
			parts = append(parts, "File: "+fileLink(f, name))
		} else if name != "" && f.External {
			parts = append(parts, "File: "+fileLink(f, name))
		}
	}
	return paragraphs(parts)
}

func fileLink(f file, name string) string {
	if f.Permalink == "" {
		return escaped(name)
	}
	return link(f.Permalink, name)
}

// attachedText is an attachment. Of a link that Slack has looked at, only the
// title is taken: the text is another page's. Of another message that was quoted,
// nothing is: those who read this one need not be allowed to read that one.
func attachedText(a attachment, n names) string {
	if a.Unfurl || a.IsShare {
		if a.FromURL == "" {
			return ""
		}
		return link(a.FromURL, "")
	}
	title := ""
	if name := oneLine(entities.Replace(a.Title)); name != "" {
		title = link(or(a.TitleLink, a.FromURL), name)
	}
	if a.FromURL != "" {
		return title
	}
	if text, _ := blocksOf(a.Blocks, n); text != "" {
		return paragraphs([]string{title, text})
	}
	parts := []string{markdownOf(a.Pretext, n), title, markdownOf(a.Text, n)}
	for _, f := range a.Fields {
		value := strings.ReplaceAll(markdownOf(f.Value, n), "\n", " ")
		if f.Title != "" {
			value = bold(escaped(oneLine(f.Title))+":") + " " + value
		}
		parts = append(parts, value)
	}
	if text := paragraphs(parts); text != "" {
		return text
	}
	return markdownOf(a.Fallback, n)
}

// author is who wrote a message.
func author(m *message, n names) string {
	switch {
	case m.User != "" && !byBot(m):
		return n.person(m.User)
	case oneLine(m.Username) != "":
		return oneLine(m.Username)
	case oneLine(m.Profile.Name) != "":
		return oneLine(m.Profile.Name)
	case m.User != "":
		return n.person(m.User)
	default:
		return "Bot"
	}
}

// spoken is a message as it stands in a document. The time is in UTC.
func spoken(m *message, n names, layout string) string {
	text := body(m, n)
	if text == "" {
		return ""
	}
	head := bold(escaped(author(m, n))) + " " + m.at.Format(layout)
	if m.Edited.TS != "" {
		head += " (edited)"
	}
	if strings.Contains(text, "\n") {
		return head + "\n\n" + text
	}
	return head + ": " + text
}

const (
	clock    = "15:04"
	dayClock = "2006-01-02 15:04"
	maxTitle = 80
)

// titleOf is the first line of what a message says, without markup.
func titleOf(m *message, n names) string {
	text := m.Text
	if m.Subtype == "tombstone" {
		return "Thread" // the text tells of the deletion
	}
	if text == "" || (byBot(m) && len(m.blocks) > 0) {
		if made, _ := blocksOf(m.blocks, n); made != "" {
			text = strings.NewReplacer("**", "", "~~", "", "`", "", `\`, "").Replace(made)
		}
	} else {
		text = strings.NewReplacer("*", "", "`", "").Replace(unmarked(text, n))
	}
	for line := range strings.Lines(text) {
		if line = oneLine(strings.TrimLeft(line, "># •-")); line != "" {
			return shortened(line, maxTitle)
		}
	}
	for _, f := range m.files {
		if name := oneLine(or(f.Title, f.Name)); name != "" {
			return shortened(name, maxTitle)
		}
	}
	for _, a := range m.attached {
		if name := oneLine(or(a.Title, a.Fallback)); name != "" {
			return shortened(entities.Replace(name), maxTitle)
		}
	}
	return "Thread"
}

// shortened is a line of at most so many characters, cut between words.
func shortened(line string, most int) string {
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	runes := []rune(line)[:most-1]
	cut := string(runes)
	if at := strings.LastIndexByte(cut, ' '); at > most/2 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:.-") + "…"
}

// lull is the silence after which another conversation begins.
const lull = 45 * time.Minute

// dayText is the document of a channel's day: its conversations, each under a
// heading of its own. Of a thread only what it is about is said here. It is ""
// for a day on which nothing was said.
func dayText(c channel, day time.Time, messages []*message, n names) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# #%s, %s\n", escaped(c.Name), day.Format("2 January 2006"))
	var last time.Time
	said := false
	for _, m := range messages {
		line := ""
		if isRoot(m) {
			line = bold(escaped(author(m, n))) + " " + m.at.Format(clock) + " began a thread: " + escaped(titleOf(m, n))
		} else {
			line = spoken(m, n, clock)
		}
		if line == "" {
			continue
		}
		if !said || m.at.Sub(last) > lull {
			fmt.Fprintf(&out, "\n## %s\n", m.at.Format("15:04 MST"))
		}
		last, said = m.at, true
		out.WriteString("\n" + line + "\n")
	}
	if !said {
		return ""
	}
	return out.String()
}

// threadText is the document of a thread.
func threadText(c channel, title string, messages []*message, n names) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\nIn #%s\n", escaped(title), escaped(c.Name))
	for _, m := range messages {
		if line := spoken(m, n, dayClock); line != "" {
			out.WriteString("\n" + line + "\n")
		}
	}
	return out.String()
}
