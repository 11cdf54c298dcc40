package notion

import "encoding/json"

// CleanMarkdown converts Notion's Markdown to Markdown.
func CleanMarkdown(text string) string { return cleanMarkdown(text) }

// RenderPage returns a page in JSON as Markdown.
func RenderPage(page []byte) string {
	var o object
	if json.Unmarshal(page, &o) != nil {
		return ""
	}
	return string(render(&o, "", nil))
}

// RenderBlock returns a block in JSON as Markdown.
func RenderBlock(text []byte) string {
	var b block
	if json.Unmarshal(text, &b) != nil {
		return ""
	}
	return b.render("inside", 1) + b.row(true)
}
