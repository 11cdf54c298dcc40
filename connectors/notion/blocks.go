package notion

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const (
	maxBlockDepth = 12
	maxBlocks     = 20_000 // of one page
)

// A block is a block of a page. Value is that of its type.
type block struct {
	ID, Type    string
	HasChildren bool
	InTrash     bool
	Parent      *parent
	Edited      stamp
	Value       blockValue
}

type blockValue struct {
	RichText   []richText `json:"rich_text"`
	Caption    []richText
	Language   string
	Checked    bool
	Title      string
	URL        string
	Expression string
	Icon       struct{ Emoji string }
	Cells      [][]richText
	Header     bool `json:"has_column_header"`
	hosted
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *block) UnmarshalJSON(text []byte) error {
	var head struct {
		ID, Type    string
		HasChildren bool `json:"has_children"`
		InTrash     bool `json:"in_trash"`
		Archived    bool
		Parent      *parent
		Edited      stamp `json:"last_edited_time"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	b.ID, b.Type, b.HasChildren, b.InTrash, b.Parent, b.Edited = head.ID, head.Type, head.HasChildren, head.InTrash || head.Archived, head.Parent, head.Edited
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) == nil && fields[b.Type] != nil {
		_ = json.Unmarshal(fields[b.Type], &b.Value)
		var file hosted
		if json.Unmarshal(fields[b.Type], &file) == nil {
			b.Value.hosted = file
		}
	}
	return nil
}

// isFile reports whether a block is a file that Notion serves.
func (b *block) isFile() bool {
	switch b.Type {
	case "file", "image", "pdf", "video", "audio":
		return b.Value.File != nil && b.Value.File.URL != ""
	}
	return false
}

// A blockReader reads the blocks of a page.
type blockReader struct {
	*client
	left  int
	files []block
}

// readBlocks returns a page as Markdown, and its files.
func (c *client) readBlocks(ctx context.Context, page string) (string, []block, error) {
	r := &blockReader{client: c, left: maxBlocks}
	text, err := r.render(ctx, page, 0)
	return text, r.files, err
}

// render returns the blocks below a block.
func (r *blockReader) render(ctx context.Context, id string, depth int) (string, error) {
	var blocks []block
	err := r.children(ctx, id, func(b block) error {
		if r.left--; r.left < 0 {
			return nil
		}
		blocks = append(blocks, b)
		return nil
	})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	number := 0
	previous := ""
	for i := range blocks {
		one := &blocks[i]
		if one.isFile() {
			r.files = append(r.files, *one)
		}
		if one.Type != "numbered_list_item" {
			number = 0
		} else {
			number++
		}
		inner := ""
		if one.HasChildren && depth < maxBlockDepth && one.Type != "child_page" && one.Type != "child_database" {
			if inner, err = r.render(ctx, one.ID, depth+1); err != nil {
				if !errors.Is(err, connectors.ErrNotFound) {
					return "", err
				}
				inner = "" // a synced block of a page that is not shared
			}
		}
		text := one.render(inner, number)
		if one.Type == "table_row" {
			text = one.row(i == 0)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		if b.Len() > 0 && (!isListItem(one.Type) || previous != one.Type) && one.Type != "table_row" {
			b.WriteString("\n")
		}
		b.WriteString(text + "\n")
		previous = one.Type
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

func isListItem(kind string) bool {
	return kind == "bulleted_list_item" || kind == "numbered_list_item" || kind == "to_do"
}

// render returns a block with what is inside of it.
func (b *block) render(inner string, number int) string {
	text := richMarkdown(b.Value.RichText)
	under := func(first string) string {
		if inner == "" {
			return first
		}
		return first + "\n" + indented(inner, "  ")
	}
	switch b.Type {
	case "heading_1", "heading_2", "heading_3", "heading_4":
		return joinBlocks(strings.Repeat("#", int(b.Type[8]-'0'))+" "+text, inner)
	case "bulleted_list_item":
		return under("- " + text)
	case "numbered_list_item":
		return under(fmt.Sprintf("%d. %s", number, text))
	case "to_do":
		if b.Value.Checked {
			return under("- [x] " + text)
		}
		return under("- [ ] " + text)
	case "quote", "callout":
		return indented(joinBlocks(strings.TrimSpace(b.Value.Icon.Emoji+" "+text), inner), "> ")
	case "code":
		return fenced(b.Value.Language, plainText(b.Value.RichText))
	case "equation":
		return "$$" + b.Value.Expression + "$$"
	case "divider":
		return "---"
	case "child_page", "child_database":
		return b.Value.Title
	case "bookmark", "embed", "link_preview":
		return joinBlocks(cmp.Or(richMarkdown(b.Value.Caption)), b.Value.URL)
	case "file", "image", "pdf", "video", "audio":
		if b.Value.External != nil && b.Value.External.URL != "" {
			return joinBlocks(richMarkdown(b.Value.Caption), b.Value.External.URL)
		}
		return "[" + cmp.Or(plainText(b.Value.Caption), b.Value.name()) + "]"
	}
	return joinBlocks(text, inner)
}

// row returns a row of a table.
func (b *block) row(first bool) string {
	cells := make([]string, len(b.Value.Cells))
	for i, cell := range b.Value.Cells {
		cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(richMarkdown(cell)), " "), "|", `\|`)
	}
	line := "| " + strings.Join(cells, " | ") + " |"
	if first {
		line += "\n|" + strings.Repeat(" --- |", len(cells))
	}
	return line
}

func joinBlocks(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "\n\n" + second
}

func indented(text, prefix string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(prefix+lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// fenced returns a code block, whose fence is longer than any in the code.
func fenced(language, code string) string {
	marks := "```"
	for strings.Contains(code, marks) {
		marks += "`"
	}
	if strings.ContainsAny(language, "`\n") {
		language = ""
	}
	return marks + language + "\n" + code + "\n" + marks
}

// richMarkdown returns a rich text as Markdown.
func richMarkdown(list []richText) string {
	var b strings.Builder
	for _, r := range list {
		core := strings.TrimSpace(r.PlainText)
		if core == "" {
			b.WriteString(r.PlainText)
			continue
		}
		at := strings.Index(r.PlainText, core)
		before, after := r.PlainText[:at], r.PlainText[at+len(core):]
		text := core
		switch {
		case r.Type == "equation":
			text = "$" + text + "$"
		case r.Annotations.Code && !strings.Contains(text, "`"):
			text = "`" + text + "`"
		}
		if r.Annotations.Bold {
			text = "**" + text + "**"
		}
		if r.Annotations.Italic {
			text = "*" + text + "*"
		}
		if r.Annotations.Strikethrough {
			text = "~~" + text + "~~"
		}
		if strings.HasPrefix(r.Href, "http") && r.Href != core {
			text = "[" + text + "](" + strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(r.Href) + ")"
		}
		b.WriteString(before + text + after)
	}
	return b.String()
}
