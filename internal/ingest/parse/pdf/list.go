package pdf

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	bullet = regexp.MustCompile(`^[•◦▪▫‣⁃∙●○■□◆◇➢➤►▶▸✓✔❖➔→–*\-·]\s+`)
	number = regexp.MustCompile(`^(?:(?:\d{1,3}|[a-z]|[ivx]{2,5})[.)]|\((?:\d{1,3}|[a-z]|[ivx]{2,5}|[A-Z])\)|[A-Z]\))\s+`)
	// glued matches a bullet without a blank after it. Such bullets start nothing else.
	glued = regexp.MustCompile(`^[•◦▪‣●■➢➤❖]`)
)

// listMarker returns the marker of a list item and the text after it, or "" if there is none. Markers are in the form
// of Markdown if it has one: "-", "3.".
func listMarker(text string) (marker, rest string) {
	if found := bullet.FindString(text); found != "" && len(text) > len(found) {
		return "-", text[len(found):]
	}
	if found := number.FindString(text); found != "" && len(text) > len(found) {
		marker := strings.TrimSpace(found)
		if marker[0] >= '0' && marker[0] <= '9' {
			marker = marker[:len(marker)-1] + "."
		}
		return marker, text[len(found):]
	}
	if found := glued.FindString(text); found != "" && utf8.RuneCountInString(text) > 2 {
		return "-", strings.TrimSpace(text[len(found):])
	}
	return "", ""
}

// A listWriter collects list items.
type listWriter struct {
	text    strings.Builder
	indents []float64 // positions of the markers of each level
	items   int
}

// item adds an item with a marker at a distance from the left.
func (w *listWriter) item(marker string, x, size float64, text string) {
	for len(w.indents) > 0 && x < w.indents[len(w.indents)-1]-0.6*size {
		w.indents = w.indents[:len(w.indents)-1]
	}
	if len(w.indents) == 0 || x > w.indents[len(w.indents)-1]+0.6*size {
		w.indents = append(w.indents, x)
	}
	if w.items > 0 {
		w.text.WriteByte('\n')
	}
	w.items++
	indent := strings.Repeat("  ", len(w.indents)-1)
	if marker == "-" || marker[0] >= '0' && marker[0] <= '9' {
		w.text.WriteString(indent + marker + " " + text)
		return
	}
	// Markdown has no letters and no numbers in parentheses.
	w.text.WriteString(indent + "- " + marker + " " + text)
}

// more adds a paragraph to the last item.
func (w *listWriter) more(text string) {
	w.text.WriteString("\n" + strings.Repeat("  ", len(w.indents)) + text)
}
