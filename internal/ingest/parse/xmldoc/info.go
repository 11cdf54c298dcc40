package xmldoc

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// info reads the metadata of a document: title and abstract are text, the rest are facts.
func (w *writer) info(node *element) {
	w.flush()
	var authors, keywords []string
	var visit func(node *element)
	visit = func(node *element) {
		for _, child := range node.children {
			if !w.ok() {
				return
			}
			switch child.name {
			case "":
			case "title", "article-title", "booktitle", "mainbooktitle", "title-part":
				w.title(child, "")
			case "subtitle", "shortdesc", "searchtitle":
				w.caption(child)
			case "abstract", "trans-abstract", "legalnotice", "note", "workgroup":
				if child.name != "legalnotice" && child.name != "workgroup" {
					w.level++
					w.children(child)
					w.flush()
					w.level--
				}
			case "author", "contrib", "editor", "othercredit":
				if name := authorName(child); name != "" && len(authors) < compose.MaxListItems && child.attr("contrib-type") != "editor" {
					authors = append(authors, name)
				}
			case "keyword", "kwd", "subjectterm":
				if text := child.line(); text != "" && len(keywords) < compose.MaxListItems {
					keywords = append(keywords, text)
				}
			case "date", "pubdate", "pub-date", "created":
				w.fact("created", dateText(child))
			case "revised":
				w.fact("updated", child.attr("modified"))
			case "edition", "releaseinfo", "productnumber", "vrm":
				text := child.line()
				if text == "" {
					text = child.attr("version")
				}
				w.fact("version", text)
			case "article-id", "journal-meta", "copyright", "permissions", "authorgroup-affiliation", "aff", "revhistory", "history", "notes":
			default:
				visit(child)
			}
		}
	}
	visit(node)
	w.fact("author", strings.Join(authors, ", "))
	w.fact("keywords", strings.Join(keywords, ", "))
}

func (w *writer) fact(key, value string) {
	if value = strings.Join(strings.Fields(value), " "); value != "" && len(value) < 2000 {
		if _, known := w.meta[key]; !known {
			w.meta[key] = value
		}
	}
}

// authorName returns the name of a person from its parts.
func authorName(node *element) string {
	first, last := node.find("given-names"), node.find("surname")
	if first == nil {
		first = node.find("firstname")
	}
	if first == nil {
		first = node.find("forename")
	}
	if last != nil {
		return strings.TrimSpace(first.line() + " " + last.line())
	}
	for _, name := range []string{"personname", "orgname", "collab", "name"} {
		if found := node.find(name); found != nil {
			return found.joinedText()
		}
	}
	if name := node.attr("fullname"); name != "" {
		return name
	}
	return safetext.TruncateBytes(node.joinedText(), compose.MaxNameBytes)
}

// dateText returns a date from its parts, or as it is written.
func dateText(node *element) string {
	if year := node.child("year"); year != nil {
		date := year.line()
		for _, name := range []string{"month", "day"} {
			part := node.child(name).line()
			if part == "" {
				break
			}
			if len(part) == 1 {
				part = "0" + part
			}
			date += "-" + part
		}
		return date
	}
	for _, name := range []string{"when", "iso-8601-date", "date", "year"} {
		if value := node.attr(name); value != "" {
			return value
		}
	}
	return node.line()
}
