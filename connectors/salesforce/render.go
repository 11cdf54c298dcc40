package salesforce

import (
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const shortText = 200 // bytes of a value that is shown in one line

// document returns the text of a record: its fields and its children, as Markdown.
func (r *record) document() []byte {
	var b strings.Builder
	b.WriteString("# " + oneLine(r.title()) + "\n\n")
	var long []string
	for i := range r.object.shown {
		f := &r.object.shown[i]
		value := strings.TrimSpace(r.row.text(f.Name))
		if f.isHTML() {
			value = htmlText(value)
		}
		if f.Type == "multipicklist" {
			value = strings.ReplaceAll(value, ";", ", ")
		}
		switch label := oneLine(f.label()); {
		case value == "" || f.Name == r.object.name || f.Name == "Subject":
		case len(value) > shortText || strings.Contains(value, "\n"):
			long = append(long, "## "+label+"\n\n"+value+"\n\n")
		default:
			b.WriteString("- **" + label + "**: " + value + "\n")
		}
	}
	if !strings.HasSuffix(b.String(), "\n\n") {
		b.WriteString("\n")
	}
	for _, text := range long {
		b.WriteString(text)
	}
	for _, c := range r.children {
		c.write(&b)
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n")
}

func (f *field) label() string {
	if f.Label == "" {
		return f.Name
	}
	return f.Label
}

func (c *child) write(b *strings.Builder) {
	heading := c.kind
	if title := oneLine(c.title); title != "" {
		heading += ": " + title
	}
	b.WriteString("## " + heading + "\n\n")
	var facts []string
	if author := oneLine(c.author); author != "" {
		facts = append(facts, author)
	}
	if !c.created.IsZero() {
		facts = append(facts, c.created.Format(time.DateOnly))
	}
	if len(facts) > 0 {
		b.WriteString(strings.Join(facts, ", ") + "\n\n")
	}
	if text := strings.TrimSpace(c.text); text != "" {
		b.WriteString(text + "\n\n")
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// htmlText returns the text of a fragment of HTML, with a line for each block.
func htmlText(fragment string) string {
	if !strings.ContainsAny(fragment, "<&") {
		return strings.TrimSpace(fragment)
	}
	tokens := html.NewTokenizer(strings.NewReader(fragment))
	var b strings.Builder
	hidden := 0
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return tidy(b.String())
		}
		token := tokens.Token()
		switch {
		case kind == html.TextToken && hidden == 0:
			b.WriteString(token.Data)
		case token.DataAtom == atom.Script || token.DataAtom == atom.Style || token.DataAtom == atom.Head:
			switch kind {
			case html.StartTagToken:
				hidden++
			case html.EndTagToken:
				hidden = max(hidden-1, 0)
			}
		case kind == html.StartTagToken && token.DataAtom == atom.Li:
			b.WriteString("\n- ")
		case isBlock(token.DataAtom):
			b.WriteString("\n")
		case token.DataAtom == atom.Td || token.DataAtom == atom.Th:
			b.WriteString(" ")
		}
	}
}

func isBlock(tag atom.Atom) bool {
	switch tag {
	case atom.P, atom.Div, atom.Br, atom.Tr, atom.Ul, atom.Ol, atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Pre:
		return true
	}
	return false
}

// tidy removes spaces at the ends of lines, and repeated empty lines.
func tidy(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
