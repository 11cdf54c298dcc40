package github

import (
	"fmt"
	"strings"
	"time"
)

// A comment is a comment or review.
type comment struct {
	label, author, text string
	file                string // of a review comment
	at                  time.Time
	isReply             bool
}

func threadState(t thread) string {
	merged := t.MergedAt != "" || t.PullRequest != nil && t.PullRequest.MergedAt != ""
	switch {
	case merged:
		return "merged"
	case t.State == "open" && t.Draft:
		return "draft"
	case t.State == "closed" && t.StateReason == "not_planned":
		return "closed as not planned"
	default:
		return t.State
	}
}

// renderThread returns the document of an issue or pull request.
func renderThread(r repo, t thread, pull bool, comments []comment, truncated bool) []byte {
	kindName := "Issue"
	if pull || t.PullRequest != nil {
		kindName = "Pull request"
	}
	facts := []string{kindName + " in " + r.FullName, threadState(t), "by @" + t.User.login(), "opened " + t.CreatedAt.UTC().Format(time.DateOnly)}
	var labels []string
	for _, label := range t.Labels {
		labels = append(labels, label.Name)
	}
	if len(labels) > 0 {
		facts = append(facts, "labels: "+strings.Join(labels, ", "))
	}
	if t.Milestone != nil && t.Milestone.Title != "" {
		facts = append(facts, "milestone: "+t.Milestone.Title)
	}
	return renderConversation(t.Title, t.Number, facts, t.Body, comments, truncated)
}

// renderConversation returns a conversation as Markdown. Headings of texts are
// below those of the document.
func renderConversation(title string, number int, facts []string, body string, comments []comment, truncated bool) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s #%d\n\n%s\n", strings.Join(strings.Fields(title), " "), number, strings.Join(strings.Fields(strings.Join(facts, " · ")), " "))
	if body = shiftHeadings(body, 1); body != "" {
		b.WriteString("\n" + body + "\n")
	}
	for _, c := range comments {
		level := "##"
		if c.isReply {
			level = "###"
		}
		place := ""
		if c.file != "" {
			place = " on " + strings.Join(strings.Fields(c.file), " ")
		}
		fmt.Fprintf(&b, "\n%s %s by @%s%s, %s\n\n%s\n", level, c.label, strings.Join(strings.Fields(c.author), " "), place, c.at.UTC().Format(time.DateOnly), shiftHeadings(c.text, len(level)))
	}
	if truncated {
		b.WriteString("\nThere are more comments, which this document leaves out.\n")
	}
	return []byte(strings.ToValidUTF8(b.String(), "?"))
}

// shiftHeadings returns a text with Unix line ends and headings that are levels
// deeper, except in code blocks.
func shiftHeadings(text string, deeper int) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	fence := ""
	for i, line := range lines {
		trimmed := strings.TrimLeft(line, " ")
		indent := len(line) - len(trimmed)
		switch {
		case indent > 3:
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]+" \t") == "" {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
		case strings.HasPrefix(trimmed, "#"):
			level := len(trimmed) - len(strings.TrimLeft(trimmed, "#"))
			if rest := trimmed[level:]; level <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
				lines[i] = strings.Repeat("#", min(level+deeper, 6)) + rest
			}
		}
	}
	if fence != "" {
		lines = append(lines, fence) // close the block, which would include the text that follows
	}
	return strings.Join(lines, "\n")
}
