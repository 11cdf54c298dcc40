package adf

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
)

type renderer struct {
	nodes int // that may still be rendered
}

// enter reports whether another node at a depth may be rendered.
func (r *renderer) enter(depth int) bool {
	r.nodes--
	return depth <= maxDepth && r.nodes >= 0
}

// blocks renders nodes as blocks of lines without blank lines at their ends. Inline
// nodes next to each other are one paragraph.
func (r *renderer) blocks(nodes []node, depth int) []string {
	var blocks []string
	add := func(text string) {
		if text = strings.Trim(text, "\n"); strings.TrimSpace(text) != "" {
			blocks = append(blocks, text)
		}
	}
	var inline strings.Builder
	for _, n := range nodes {
		if isInline(n) {
			inline.WriteString(r.inline(n, depth+1))
			continue
		}
		add(paragraph(inline.String()))
		inline.Reset()
		add(r.block(n, depth+1))
	}
	add(paragraph(inline.String()))
	return blocks
}

func isInline(n node) bool {
	switch n.Type {
	case "text", "hardBreak", "mention", "emoji", "date", "status", "inlineCard", "mediaInline", "placeholder", "inlineExtension":
		return true
	}
	return n.Type == "" && n.Text != ""
}

// paragraph protects the start of a line that would be another block in Markdown.
func paragraph(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		line = strings.TrimLeft(line, " \t")
		digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
		switch {
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, ">"), strings.HasPrefix(line, "- "), strings.HasPrefix(line, "+ "), strings.HasPrefix(line, "* "),
			strings.HasPrefix(line, "```"), strings.HasPrefix(line, "|"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "==="):
			line = `\` + line
		case digits > 0 && digits < 10 && (strings.HasPrefix(line[digits:], ". ") || strings.HasPrefix(line[digits:], ") ")):
			line = line[:digits] + `\` + line[digits:]
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

func (r *renderer) block(n node, depth int) string {
	if !r.enter(depth) {
		return ""
	}
	inner := func() string { return strings.Join(r.blocks(n.Content, depth), "\n\n") }
	switch n.Type {
	case "heading":
		level := max(1, min(n.Attrs.number("level"), 6))
		return strings.Repeat("#", level) + " " + strings.ReplaceAll(strings.TrimSpace(r.inlines(n.Content, depth)), "\n", " ")
	case "codeBlock":
		return fence(n.Attrs.text("language"), plain(n, 0))
	case "blockquote":
		return prefixed("> ", "> ", inner())
	case "panel":
		return prefixed("> ", "> ", "**"+panelTitle(n.Attrs.text("panelType"))+":** "+inner())
	case "rule":
		return "---"
	case "bulletList":
		return r.list(n, depth, func(int) string { return "- " })
	case "orderedList":
		start := 1
		if _, ok := n.Attrs["order"]; ok {
			start = max(n.Attrs.number("order"), 0)
		}
		return r.list(n, depth, func(i int) string { return strconv.Itoa(start+i) + ". " })
	case "taskList", "decisionList":
		return r.tasks(n, depth)
	case "table":
		return r.table(n, depth)
	case "expand", "nestedExpand":
		if title := strings.TrimSpace(n.Attrs.text("title")); title != "" {
			return "**" + escape(title) + "**\n\n" + inner()
		}
		return inner()
	case "media", "mediaSingle", "mediaGroup":
		return r.media(n, depth)
	case "blockCard", "embedCard":
		return card(n)
	case "extension", "bodiedExtension":
		return cmp.Or(inner(), escape(n.Attrs.text("text")))
	}
	return inner()
}

func panelTitle(kind string) string {
	switch kind {
	case "note", "warning", "error", "success", "tip":
		return strings.ToUpper(kind[:1]) + kind[1:]
	}
	return "Info"
}

// prefixed adds a prefix to the first line and another one to the others.
func prefixed(first, other, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		prefix := other
		if i == 0 {
			prefix = first
		}
		lines[i] = strings.TrimRight(prefix+line, " ")
	}
	return strings.Join(lines, "\n")
}

// fence returns a code block, whose fence is longer than any in the code.
func fence(language, code string) string {
	marks := "```"
	for strings.Contains(code, marks) {
		marks += "`"
	}
	if strings.ContainsAny(language, "` \n") {
		language = ""
	}
	return marks + language + "\n" + strings.Trim(code, "\n") + "\n" + marks
}

func (r *renderer) list(n node, depth int, bullet func(i int) string) string {
	var items []string
	for _, item := range n.Content {
		if !r.enter(depth + 1) {
			break
		}
		text := strings.Join(r.blocks([]node{item}, depth+1), "\n\n")
		mark := bullet(len(items))
		items = append(items, prefixed(mark, strings.Repeat(" ", len(mark)), text))
	}
	return strings.Join(items, "\n")
}

func (r *renderer) tasks(n node, depth int) string {
	var items []string
	for _, item := range n.Content {
		if !r.enter(depth + 1) {
			break
		}
		switch item.Type {
		case "taskList", "decisionList":
			items = append(items, prefixed("  ", "  ", r.tasks(item, depth+1)))
			continue
		}
		mark := "- [ ] "
		switch {
		case item.Attrs.text("state") == "DONE":
			mark = "- [x] "
		case item.Type == "decisionItem":
			mark = "- "
		}
		items = append(items, prefixed(mark, "  ", strings.Join(r.blocks(item.Content, depth+1), "\n\n")))
	}
	return strings.Join(items, "\n")
}

// table renders a table of pipes. A cell that spans several columns is followed by
// empty ones; a table without a header gets an empty one.
func (r *renderer) table(n node, depth int) string {
	var rows [][]string
	columns, hasHeader := 0, false
	for _, row := range n.Content {
		if !r.enter(depth + 1) {
			break
		}
		var cells []string
		headers := 0
		for _, cell := range row.Content {
			if len(cells) >= maxCells || !r.enter(depth+2) {
				break
			}
			if cell.Type == "tableHeader" {
				headers++
			}
			cells = append(cells, cellText(r.blocks(cell.Content, depth+2)))
			for range min(cell.Attrs.number("colspan")-1, maxCells-len(cells)) {
				cells = append(cells, "")
			}
		}
		if len(rows) == 0 {
			hasHeader = headers > 0 && headers == len(row.Content)
		}
		columns = max(columns, len(cells))
		rows = append(rows, cells)
	}
	if columns == 0 {
		return ""
	}
	if !hasHeader {
		rows = append([][]string{nil}, rows...)
	}
	var lines []string
	for i, cells := range rows {
		for len(cells) < columns {
			cells = append(cells, "")
		}
		lines = append(lines, "| "+strings.Join(cells, " | ")+" |")
		if i == 0 {
			lines = append(lines, "|"+strings.Repeat(" --- |", columns))
		}
	}
	return strings.Join(lines, "\n")
}

// cellText returns blocks as one line.
func cellText(blocks []string) string {
	text := strings.Join(blocks, "<br>")
	text = strings.ReplaceAll(text, "\n", "<br>")
	return strings.ReplaceAll(strings.ReplaceAll(text, `\|`, "|"), "|", `\|`)
}

// media renders files by their names or descriptions.
func (r *renderer) media(n node, depth int) string {
	if n.Type == "media" {
		return mediaName(n)
	}
	var names []string
	for _, child := range n.Content {
		if !r.enter(depth + 1) {
			break
		}
		if child.Type == "media" {
			names = append(names, mediaName(child))
			continue
		}
		names = append(names, strings.Join(r.blocks([]node{child}, depth+1), "\n"))
	}
	return strings.Join(names, "\n")
}

func mediaName(n node) string {
	name := cmp.Or(n.Attrs.text("alt"), n.Attrs.text("title"), n.Attrs.text("__fileName"), n.Attrs.text("fileName"))
	if address := n.Attrs.text("url"); address != "" {
		return "![" + escape(cmp.Or(name, path.Base(address))) + "](" + target(address) + ")"
	}
	if name == "" {
		return ""
	}
	return "[" + escape(name) + "]"
}

// card renders a link that is shown as a card.
func card(n node) string {
	if address := n.Attrs.text("url"); address != "" {
		return "<" + target(address) + ">"
	}
	if data, ok := n.Attrs["data"].(map[string]any); ok {
		card := attributes(data)
		if address := card.text("url"); address != "" {
			return "[" + escape(cmp.Or(card.text("name"), address)) + "](" + target(address) + ")"
		}
		return escape(card.text("name"))
	}
	return ""
}

func (r *renderer) inlines(nodes []node, depth int) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(r.inline(n, depth+1))
	}
	return b.String()
}

func (r *renderer) inline(n node, depth int) string {
	if !r.enter(depth) {
		return ""
	}
	switch n.Type {
	case "text", "":
		return marked(n)
	case "hardBreak":
		return "\n"
	case "mention":
		name := strings.TrimPrefix(cmp.Or(n.Attrs.text("text"), "user"), "@")
		return "@" + escape(name)
	case "emoji":
		return cmp.Or(n.Attrs.text("text"), escape(n.Attrs.text("shortName")))
	case "date":
		return date(n.Attrs)
	case "status":
		return "**" + escape(strings.TrimSpace(n.Attrs.text("text"))) + "**"
	case "inlineCard":
		return card(n)
	case "mediaInline":
		return mediaName(n)
	case "placeholder":
		return escape(n.Attrs.text("text"))
	}
	if len(n.Content) > 0 {
		return r.inlines(n.Content, depth)
	}
	return escape(cmp.Or(n.Text, n.Attrs.text("text")))
}

// marked renders a text with its marks. Spaces at the ends stay outside of them.
func marked(n node) string {
	for _, m := range n.Marks {
		if m.Type == "code" {
			return linked(n.Marks, code(n.Text))
		}
	}
	core := strings.TrimSpace(n.Text)
	if core == "" {
		return n.Text
	}
	at := strings.Index(n.Text, core)
	before, after := n.Text[:at], n.Text[at+len(core):]
	text := escape(core)
	for _, m := range n.Marks {
		switch m.Type {
		case "strong":
			text = "**" + text + "**"
		case "em":
			text = "*" + text + "*"
		case "strike":
			text = "~~" + text + "~~"
		}
	}
	return before + linked(n.Marks, text) + after
}

func linked(marks []mark, text string) string {
	for _, m := range marks {
		if address := m.Attrs.text("href"); m.Type == "link" && address != "" {
			return fmt.Sprintf("[%s](%s)", text, target(address))
		}
	}
	return text
}

// code renders a text as code, with more backticks around it than in it.
func code(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	marks := "`"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return marks + text + marks
}

// target returns an address that does not end a link.
func target(address string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\n", "", "\r", "").Replace(strings.TrimSpace(address))
}

// escape protects characters that are marks in Markdown.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "<", `\<`).Replace(text)
}

// plain returns the text below a node.
func plain(n node, depth int) string {
	if depth > maxDepth {
		return ""
	}
	if n.Type == "hardBreak" {
		return "\n"
	}
	var b strings.Builder
	b.WriteString(n.Text)
	for _, child := range n.Content {
		b.WriteString(plain(child, depth+1))
	}
	return b.String()
}
