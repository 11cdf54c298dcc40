package notionserver

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// minute returns a time in the resolution of the API.
func minute(t time.Time) time.Time { return t.Truncate(time.Minute) }

func format(t time.Time) string { return minute(t).Format("2006-01-02T15:04:05.000Z") }

func rich(text string) []any {
	return []any{object{"type": "text", "text": object{"content": text, "link": nil}, "plain_text": text, "href": nil,
		"annotations": object{"bold": false, "italic": false, "strikethrough": false, "underline": false, "code": false, "color": "default"}}}
}

func (c *call) parentRow(id string) object {
	switch {
	case id == "":
		return object{"type": "workspace", "workspace": true}
	case c.sources[id] != nil:
		return object{"type": "data_source_id", "data_source_id": id, "database_id": c.sources[id].Database}
	case c.blocks[id] != "":
		return object{"type": "block_id", "block_id": id}
	}
	return object{"type": "page_id", "page_id": id}
}

func (c *call) pageRow(p *Page) object {
	properties := object{"title": object{"id": "title", "type": "title", "title": rich(p.Title)}}
	for name, value := range p.Properties {
		properties[name] = value
	}
	return object{
		"object": "page", "id": p.ID, "created_time": format(p.Created), "last_edited_time": format(p.Edited), "in_trash": c.isTrashed(p.ID), "is_locked": false,
		"created_by": object{"object": "user", "id": "u"}, "last_edited_by": object{"object": "user", "id": "u"}, "cover": nil, "icon": nil,
		"parent": c.parentRow(p.Parent), "properties": properties, "url": "https://www.notion.so/" + strings.ReplaceAll(p.ID, "-", ""), "public_url": nil,
	}
}

func (c *call) sourceRow(source *Source) object {
	return object{
		"object": "data_source", "id": source.ID, "created_time": format(source.Edited), "last_edited_time": format(source.Edited), "in_trash": c.isTrashed(source.ID),
		"title": rich(source.Title), "description": []any{}, "properties": object{"Name": object{"id": "title", "name": "Name", "type": "title", "title": object{}}},
		"parent": object{"type": "database_id", "database_id": source.Database}, "database_parent": c.parentRow(source.Parent), "url": "https://www.notion.so/" + strings.ReplaceAll(source.ID, "-", ""),
	}
}

func (c *call) database() {
	list := []any{}
	var first *Source
	for _, id := range slices.Sorted(maps.Keys(c.sources)) {
		if source := c.sources[id]; source.Database == c.path[1] && !source.Unshared {
			if list = append(list, object{"id": id, "name": source.Title}); first == nil {
				first = source
			}
		}
	}
	if len(list) == 0 {
		c.notFound(c.path[1])
		return
	}
	c.json(http.StatusOK, object{"object": "database", "id": c.path[1], "in_trash": c.isTrashed(first.ID), "data_sources": list, "title": rich(first.Title), "parent": c.parentRow(first.Parent),
		"created_time": format(first.Edited), "last_edited_time": format(first.Edited), "url": "https://www.notion.so/" + strings.ReplaceAll(c.path[1], "-", "")})
}

// markdown answers with a page or, for a page of more than MaxLines lines, with the
// part from a block on.
func (c *call) markdown() {
	id := c.path[1]
	p, from := c.pages[id], 0
	if part := c.parts()[id]; p == nil && part.page != nil {
		p, from = part.page, part.line
	}
	switch {
	case c.NoMarkdown:
		c.refuse(http.StatusNotFound, "object_not_found", "Could not find the endpoint.")
		return
	case p == nil || !c.isVisible(p.ID):
		c.notFound(id)
		return
	}
	lines := p.paragraphs()
	unknown := []any{}
	var b strings.Builder
	for n := from; n < len(lines); n++ {
		if n-from == c.MaxLines {
			block := partID(p, n)
			unknown = append(unknown, block)
			b.WriteString(`<unknown url="https://www.notion.so/` + strings.ReplaceAll(p.ID, "-", "") + `#` + strings.ReplaceAll(block, "-", "") + `" alt="paragraph"/>` + "\n")
			break
		}
		b.WriteString(lines[n] + "\n")
	}
	if from == 0 {
		for i := range p.Files {
			f := &p.Files[i]
			b.WriteString(`<file src="` + strings.ReplaceAll(c.address(f), "&", "&amp;") + `">` + "</file>\n")
		}
		for _, child := range c.sortedPages(func(child *Page) bool { return child.Parent == p.ID }) {
			b.WriteString(`<page url="https://www.notion.so/` + strings.ReplaceAll(child.ID, "-", "") + `">` + child.Title + "</page>\n")
		}
	}
	c.json(http.StatusOK, object{"object": "page_markdown", "id": id, "markdown": b.String(), "truncated": len(unknown) > 0, "unknown_block_ids": unknown})
}

// partID returns the ID of the block with a line of a page.
func partID(p *Page, line int) string { return fmt.Sprintf("%s%05x", p.ID[:len(p.ID)-5], 0x50000+line) }

type part struct {
	page *Page
	line int
}

// parts returns the blocks with which parts of long pages begin.
func (c *call) parts() map[string]part {
	all := map[string]part{}
	for _, p := range c.pages {
		for line := c.MaxLines; line < len(p.paragraphs()); line += c.MaxLines {
			all[partID(p, line)] = part{p, line}
		}
	}
	return all
}

// block answers with a block that is a file, or the parent of pages.
func (c *call) block() {
	id := c.path[1]
	if p, f := c.file(id); f != nil && c.isVisible(p.ID) {
		c.json(http.StatusOK, c.fileRow(p, f))
		return
	}
	parent := c.blocks[id]
	if parent == "" || !c.isVisible(id) {
		c.notFound(id)
		return
	}
	c.json(http.StatusOK, object{"object": "block", "id": id, "type": "toggle", "has_children": true, "in_trash": c.isTrashed(id), "parent": c.parentRow(parent), "last_edited_time": format(c.clock), "toggle": object{"rich_text": rich("More")}})
}

func (c *call) fileRow(p *Page, f *File) object {
	return object{"object": "block", "id": f.ID, "type": "file", "has_children": false, "in_trash": c.isTrashed(p.ID), "parent": c.parentRow(p.ID), "last_edited_time": format(p.Edited),
		"file": object{"type": "file", "name": f.Name, "caption": []any{}, "file": object{"url": c.address(f), "expiry_time": format(c.clock.Add(time.Hour))}}}
}

func (c *call) children() {
	p := c.pages[c.path[1]]
	if p == nil || !c.isVisible(p.ID) {
		c.notFound(c.path[1])
		return
	}
	rows := []object{}
	for n, line := range p.paragraphs() {
		kind, text := "paragraph", line
		if heading, found := strings.CutPrefix(line, "# "); found {
			kind, text = "heading_1", heading
		}
		rows = append(rows, object{"object": "block", "id": partID(p, n), "type": kind, "has_children": false, "in_trash": false, "parent": c.parentRow(p.ID), kind: object{"rich_text": rich(text)}})
	}
	for i := range p.Files {
		rows = append(rows, c.fileRow(p, &p.Files[i]))
	}
	for _, child := range c.sortedPages(func(child *Page) bool { return child.Parent == p.ID }) {
		rows = append(rows, object{"object": "block", "id": child.ID, "type": "child_page", "has_children": true, "in_trash": false, "parent": c.parentRow(p.ID), "child_page": object{"title": child.Title}})
	}
	c.list(rows, size(c.r.URL.Query().Get("page_size")), c.r.URL.Query().Get("start_cursor"), true)
}

func size(text string) int {
	n := 0
	_, _ = fmt.Sscan(text, &n)
	return n
}

func (c *call) comments() {
	p := c.pages[c.r.URL.Query().Get("block_id")]
	switch {
	case c.NoComments:
		c.refuse(http.StatusForbidden, "restricted_resource", "Insufficient permissions for this endpoint.")
		return
	case p == nil || !c.isVisible(p.ID):
		c.notFound(c.r.URL.Query().Get("block_id"))
		return
	}
	rows := []object{}
	for n, text := range p.Comments {
		rows = append(rows, object{"object": "comment", "id": partID(p, 0x10000+n), "parent": c.parentRow(p.ID), "discussion_id": "d", "created_time": format(p.Edited),
			"created_by": object{"object": "user", "id": "u"}, "rich_text": rich(text), "display_name": object{"type": "user", "resolved_name": "Ada"}})
	}
	c.list(rows, size(c.r.URL.Query().Get("page_size")), c.r.URL.Query().Get("start_cursor"), true)
}
