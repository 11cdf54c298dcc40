package jira

import (
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors/atlassian/adf"
)

// render returns an issue as Markdown: its summary as the first heading, its fields
// as a list, its description, and the comments.
func (s *source) render(i *issue, list []comment) []byte {
	var b strings.Builder
	b.WriteString("# " + i.Key + ": " + strings.Join(strings.Fields(i.Fields.Summary), " ") + "\n\n")
	names := func(list []named) string {
		var all []string
		for _, n := range list {
			all = append(all, n.Name)
		}
		return strings.Join(all, ", ")
	}
	parent := ""
	if i.Fields.Parent != nil {
		parent = strings.TrimSpace(i.Fields.Parent.Key + " " + i.Fields.Parent.Fields.Summary)
	}
	for _, field := range []struct{ name, value string }{
		{"Type", i.Fields.IssueType.name()}, {"Status", i.Fields.Status.name()}, {"Resolution", i.Fields.Resolution.name()},
		{"Priority", i.Fields.Priority.name()}, {"Assignee", i.Fields.Assignee.displayName()}, {"Reporter", i.Fields.Reporter.displayName()},
		{"Parent", parent}, {"Labels", strings.Join(i.Fields.Labels, ", ")}, {"Components", names(i.Fields.Components)},
		{"Fix versions", names(i.Fields.FixVersions)}, {"Due", i.Fields.DueDate},
	} {
		if value := strings.Join(strings.Fields(field.value), " "); value != "" {
			b.WriteString("- " + field.name + ": " + value + "\n")
		}
	}
	if text := s.text(i.Fields.Description); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	shown := slices.DeleteFunc(slices.Clone(list), s.isHidden)
	slices.SortStableFunc(shown, func(a, b comment) int {
		if order := a.Created.Compare(b.Created.Time); order != 0 {
			return order
		}
		return compareIDs(string(a.ID), string(b.ID))
	})
	if len(shown) > 0 {
		b.WriteString("\n## Comments\n")
	}
	for _, c := range shown {
		author := c.Author.displayName()
		if author == "" {
			author = "Somebody"
		}
		b.WriteString("\n**" + author + "**")
		if !c.Created.IsZero() {
			b.WriteString(", " + c.Created.Format(time.DateOnly))
		}
		b.WriteString(":\n\n" + s.text(c.Body) + "\n")
	}
	return []byte(b.String())
}

// text renders a description or comment, in the format of the deployment.
func (s *source) text(raw []byte) string {
	text := adf.Markdown(raw)
	if len(raw) > 0 && raw[0] == '"' && !s.api.Site.Cloud {
		return wikiMarkdown(text)
	}
	return strings.TrimSpace(text)
}

// isHidden reports whether a comment is left out: it is for a group or role only,
// who may be fewer than the readers of the issue, or its author is excluded.
func (s *source) isHidden(c comment) bool {
	if c.Visibility != nil && (c.Visibility.Type != "" || c.Visibility.Value != "") {
		return true
	}
	if c.Author == nil {
		return false
	}
	for _, name := range []string{c.Author.AccountID, c.Author.Key, c.Author.Name, c.Author.DisplayName, c.Author.EmailAddress} {
		if name != "" && s.excluded[strings.ToLower(strings.TrimSpace(name))] {
			return true
		}
	}
	return false
}
