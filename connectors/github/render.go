package github

import (
	"fmt"
	"strings"
	"time"
)

// remark is a comment of any sort.
type remark struct {
	word, author, text string
	about              string // the file that a review comment is about
	at                 time.Time
	reply              bool
}

func stateOf(t thread) string {
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

// renderThread is the document of an issue or a pull request.
func renderThread(r repo, t thread, pull bool, remarks []remark, cut bool) []byte {
	what := "Issue"
	if pull || t.PullRequest != nil {
		what = "Pull request"
	}
	facts := []string{what + " in " + r.FullName, stateOf(t), "by @" + t.User.login(), "opened " + t.CreatedAt.UTC().Format(time.DateOnly)}
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
	return render(t.Title, t.Number, facts, t.Body, remarks, cut)
}

// render writes a conversation as Markdown: the headings of what people wrote
// come below those of the document.
func render(title string, number int, facts []string, body string, remarks []remark, cut bool) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s #%d\n\n%s\n", oneLine(title), number, oneLine(strings.Join(facts, " · ")))
	if body = tidy(body, 1); body != "" {
		b.WriteString("\n" + body + "\n")
	}
	for _, c := range remarks {
		level := "##"
		if c.reply {
			level = "###"
		}
		about := ""
		if c.about != "" {
			about = " on " + oneLine(c.about)
		}
		fmt.Fprintf(&b, "\n%s %s by @%s%s, %s\n\n%s\n", level, c.word, oneLine(c.author), about, c.at.UTC().Format(time.DateOnly), tidy(c.text, len(level)))
	}
	if cut {
		b.WriteString("\nThere are more comments, which this document leaves out.\n")
	}
	return []byte(strings.ToValidUTF8(b.String(), "?"))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// tidy makes a body part of a document: unix line ends, and headings that many
// levels deeper, except in blocks of code.
func tidy(text string, deeper int) string {
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
		lines = append(lines, fence) // one that was left open would swallow what follows
	}
	return strings.Join(lines, "\n")
}
