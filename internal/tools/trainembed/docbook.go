package main

import (
	"regexp"
	"strings"
	"sync"
)

var entity = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`&([A-Za-z][-A-Za-z0-9_.]*);`) })

// readDocBook returns the headings and paragraphs of DocBook. An entity that a document declares becomes its name.
func readDocBook(content []byte) []block {
	return readHTML(entity().ReplaceAllFunc(content, func(found []byte) []byte {
		switch name := string(found[1 : len(found)-1]); name {
		case "amp", "lt", "gt", "quot", "apos":
			return found
		default:
			return []byte(name)
		}
	}))
}

// isDocBookBlock reports whether an element of DocBook ends a paragraph.
func isDocBookBlock(name string) bool {
	switch name {
	case "para", "simpara", "sect1", "sect2", "sect3", "sect4", "chapter", "book", "bookinfo", "info", "listitem", "varlistentry",
		"term", "screen", "programlisting", "entry", "row", "note", "tip", "warning", "authorgroup", "author", "date", "copyright",
		"keywordset", "keyword", "mediaobject", "glossentry", "glossdef", "question", "answer":
		return true
	default:
		return false
	}
}

// readStory returns the texts in backticks of the data of a game.
func readStory(content string) []block {
	var blocks []block
	for line := range strings.Lines(content) {
		if _, text, found := strings.Cut(line, "`"); found {
			text, _, _ = strings.Cut(text, "`")
			blocks = append(blocks, block{text: text})
		}
	}
	return blocks
}
