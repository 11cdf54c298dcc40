package sheet

import (
	"bytes"
	"hash/maphash"
	"strings"
)

// Sizes of allocations for the texts of cells and for the cells of rows, and of the cache of texts.
const (
	textChunk   = 64 << 10
	cellChunk   = 4096
	recentTexts = 4096
)

// texts stores the texts of cells: many in one allocation, and recently repeated ones once.
type texts struct {
	chunk  strings.Builder
	recent [recentTexts]string
	seed   maphash.Seed
}

// newTexts returns an empty store.
func newTexts() *texts { return &texts{seed: maphash.MakeSeed()} }

// keep returns the bytes as a string.
func (t *texts) keep(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	slot := &t.recent[maphash.Bytes(t.seed, text)%recentTexts]
	if *slot != string(text) {
		*slot = t.store(text)
	}
	return *slot
}

// keepString is keep for a string, which it may return.
func (t *texts) keepString(text string) string {
	if text == "" {
		return ""
	}
	slot := &t.recent[maphash.String(t.seed, text)%recentTexts]
	if *slot != text {
		*slot = text
	}
	return *slot
}

// keepFormatted is keep for a formatted number, which may contain any characters.
func (t *texts) keepFormatted(text []byte) string {
	text = bytes.TrimSpace(text)
	for _, c := range text {
		if c < ' ' || c == '|' || c == 0x7F {
			return t.keepString(clean(string(text)))
		}
	}
	return t.keep(text)
}

// storeClean returns clean text of bytes that probably do not repeat.
func (t *texts) storeClean(text []byte) string {
	text = bytes.TrimSpace(text)
	for _, c := range text {
		if c < ' ' || c == '|' || c == 0x7F {
			return t.store([]byte(clean(string(text))))
		}
	}
	return t.store(text)
}

func (t *texts) store(text []byte) string {
	if t.chunk.Cap()-t.chunk.Len() < len(text) {
		if len(text) > textChunk/8 {
			return string(text)
		}
		t.chunk = strings.Builder{}
		t.chunk.Grow(textChunk)
	}
	start := t.chunk.Len()
	t.chunk.Write(text)
	return t.chunk.String()[start:]
}

// A cellStore allocates the cells of many rows at once.
type cellStore struct{ rest []string }

func (c *cellStore) take(n int) []string {
	if n > len(c.rest) {
		if n > cellChunk/8 {
			return make([]string, n)
		}
		c.rest = make([]string, cellChunk)
	}
	taken := c.rest[:n:n]
	c.rest = c.rest[n:]
	return taken
}

// isClean reports whether a text may be a cell as it is.
func isClean(text string) bool {
	if text == "" {
		return true
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '|' || c == 0x7F {
			return false
		}
	}
	first, last := text[0], text[len(text)-1]
	if first == ' ' || last == ' ' {
		return false
	}
	return first < 0x80 && last < 0x80 || strings.TrimSpace(text) == text
}

// clean puts the text of a cell on one line, trims it and escapes its bars.
func clean(text string) string {
	if isClean(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 2)
	written, gap := byte(0), false
	for _, c := range []byte(strings.TrimSpace(text)) {
		switch {
		case c == '\n' || c == '\r' || c == '\t':
			gap = true
		case c < ' ' || c == 0x7F:
		case c == ' ' && gap:
		default:
			if gap && written != ' ' {
				b.WriteByte(' ')
			}
			gap = false
			if c == '|' && written != '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
			written = c
		}
	}
	return strings.TrimSpace(b.String())
}

// lines returns the lines of a text, trimmed and without control characters.
func lines(text string) []string {
	var found []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\v' }) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			switch {
			case r == '\t':
				return ' '
			case r < ' ' || r == 0x7F:
				return -1
			}
			return r
		}, line))
		if line != "" {
			found = append(found, line)
		}
	}
	return found
}
