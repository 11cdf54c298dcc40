package sitetemplate

import (
	"bytes"
	"strings"
)

// lineWriter builds a text and can remove its current line.
type lineWriter struct {
	buffer []byte
	start  int  // offset of the current line
	isCut  bool // whether markup was removed from the current line
}

func (w *lineWriter) grow(n int) { w.buffer = make([]byte, 0, n) }

func (w *lineWriter) String() string { return string(w.buffer) }

func (w *lineWriter) write(text string) {
	for text != "" {
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			w.buffer = append(w.buffer, text...)
			return
		}
		w.buffer = append(w.buffer, text[:end]...)
		w.endLine()
		text = text[end+1:]
	}
}

func (w *lineWriter) endLine() {
	if w.isCut && strings.TrimSpace(string(w.buffer[w.start:])) == "" {
		w.buffer = w.buffer[:w.start]
	} else {
		w.buffer = append(w.buffer, '\n')
	}
	w.start, w.isCut = len(w.buffer), false
}

// headingID adds the id in attributes such as "#id .class" to the heading on the current or the previous line. It is
// written in braces at the end of the heading, as Markdown extensions do.
func (w *lineWriter) headingID(attributes string) {
	id, _, _ := strings.Cut(attributes[strings.IndexByte(attributes, '#')+1:], " ")
	if !strings.Contains(attributes, "#") || id == "" || strings.ContainsAny(id, "\"'{}") {
		return
	}
	line := w.buffer[w.start:]
	if isHeadingLine(line) {
		w.buffer = append(w.buffer, "{#"+id+"}"...)
		return
	}
	if len(bytes.TrimSpace(line)) > 0 || w.start == 0 {
		return
	}
	before := w.buffer[:w.start-1]
	if before = before[bytes.LastIndexByte(before, '\n')+1:]; isHeadingLine(before) {
		w.buffer = append(w.buffer[:w.start-1], " {#"+id+"}\n"...)
		w.start = len(w.buffer)
	}
}

// isHeadingLine reports whether a line is a heading with number signs.
func isHeadingLine(line []byte) bool {
	level := len(line) - len(bytes.TrimLeft(line, "#"))
	return level > 0 && level <= 6 && len(line) > level && line[level] == ' '
}
