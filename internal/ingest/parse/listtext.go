package parse

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// listText collects the items of a list as Markdown. Code, tables and headings inside an item become blocks of their own in
// their place, so that they are never cut in the middle; the list goes on after them.
type listText struct {
	emit func(document.Block)
	text strings.Builder
}

// flush emits the items so far.
func (l *listText) flush() {
	if l.text.Len() > 0 {
		text := dedent(strings.TrimRight(l.text.String(), "\n"))
		l.text.Reset()
		l.emit(document.Block{Kind: document.List, Text: text})
	}
}

// item writes what one item holds: the first text after the marker, further text indented below it.
func (l *listText) item(marker string, indent int, blocks []document.Block) {
	lead, inner := strings.Repeat(" ", indent)+marker, indent+len(marker)
	for i := range blocks {
		switch block := &blocks[i]; block.Kind {
		case document.Paragraph, document.List, document.Quote:
			l.lines(lead, inner, block.Text)
		case document.Heading, document.Code, document.Table:
			l.flush()
			l.emit(*block)
		}
		lead = strings.Repeat(" ", inner)
	}
}

// lines writes a text after a lead, its further lines indented by inner blanks.
func (l *listText) lines(lead string, inner int, text string) {
	if text == "" {
		return
	}
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			l.text.WriteString(lead)
		} else if line != "" {
			l.text.WriteString(strings.Repeat(" ", inner))
		}
		l.text.WriteString(line)
		l.text.WriteByte('\n')
	}
}

// quoted parts what stands in a quotation into Quote blocks and the code, tables and headings between them.
func quoted(blocks []document.Block, emit func(document.Block)) {
	var parts []string
	flush := func() {
		if len(parts) > 0 {
			emit(document.Block{Kind: document.Quote, Text: strings.Join(parts, "\n\n")})
			parts = nil
		}
	}
	for i := range blocks {
		switch block := &blocks[i]; block.Kind {
		case document.Paragraph, document.List, document.Quote:
			parts = append(parts, block.Markdown())
		case document.Heading, document.Code, document.Table:
			flush()
			emit(*block)
		}
	}
	flush()
}

// cellOf puts what stands in a table cell on one line.
func cellOf(blocks []document.Block) string {
	var parts []string
	for i := range blocks {
		switch block := &blocks[i]; block.Kind {
		case document.Paragraph, document.Quote, document.Heading:
			parts = append(parts, oneLine(block.Text))
		case document.List:
			parts = append(parts, listOnOneLine(block.Text))
		case document.Code:
			parts = append(parts, codeSpan(oneLine(block.Text)))
		case document.Table:
			rows := make([]string, 0, len(block.Rows)+1)
			for _, row := range append([][]string{block.Header}, block.Rows...) {
				rows = append(rows, strings.ReplaceAll(strings.Join(row, ", "), "\\|", "|"))
			}
			parts = append(parts, strings.Join(rows, "; "))
		}
	}
	return strings.Join(parts, " ")
}

// listOnOneLine joins the items of a list by semicolons; numbers stay.
func listOnOneLine(text string) string {
	items := make([]string, 0, 8)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		item, isNew := strings.CutPrefix(line, "- ")
		number := strings.IndexAny(line, ".)")
		isNew = isNew || number > 0 && strings.Trim(line[:number], "0123456789") == ""
		switch {
		case item == "":
		case isNew || len(items) == 0:
			items = append(items, item)
		default:
			items[len(items)-1] += " " + item
		}
	}
	return strings.Join(items, "; ")
}

// codeSpan makes a Markdown code span of a text on one line.
func codeSpan(text string) string {
	switch {
	case text == "":
		return ""
	case !strings.Contains(text, "`"):
		return "`" + text + "`"
	case strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`"):
		text = " " + text + " "
	}
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	return fence + text + fence
}

// linkTo makes a Markdown link. A target that is none (a place on the same page, a script, too long) leaves the label.
func linkTo(label, target string) string {
	label = strings.TrimSpace(label)
	target = strings.TrimSpace(target)
	if target == "" || label == "" || target[0] == '#' || len(target) > maxTarget || isScript(target) {
		return label
	}
	return "[" + label + "](" + escapeTarget(target) + ")"
}

// maxTarget is the longest link target that is kept.
const maxTarget = 1000

func isScript(target string) bool {
	scheme, _, found := strings.Cut(target, ":")
	if !found || len(scheme) > 12 {
		return false
	}
	switch strings.ToLower(scheme) {
	case "javascript", "data", "vbscript", "blob", "about":
		return true
	}
	return false
}

// escapeTarget escapes what would end a link target.
func escapeTarget(target string) string {
	if !strings.ContainsAny(target, " ()\n\t<>") {
		return target
	}
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "\n", "", "\t", "", "<", "%3C", ">", "%3E").Replace(target)
}
