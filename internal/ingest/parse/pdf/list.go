package pdf

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	bullet = regexp.MustCompile(`^[•◦▪▫‣⁃∙●○■□◆◇➢➤►▶▸✓✔❖➔→–*\-·]\s+`)
	number = regexp.MustCompile(`^(?:(?:\d{1,3}|[a-z]|[ivx]{2,5})[.)]|\((?:\d{1,3}|[a-z]|[ivx]{2,5}|[A-Z])\)|[A-Z]\))\s+`)
	// glued is a bullet of a kind that starts nothing else, without a blank after it.
	glued = regexp.MustCompile(`^[•◦▪‣●■➢➤❖]`)
)

// listMarker returns the mark with which an item of a list begins, and the text after it, or two empty texts where there
// is no item. Marks that Markdown knows are as it writes them: "-", "3.".
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

// listWriter puts items of a list together.
type listWriter struct {
	text    strings.Builder
	indents []float64 // where the markers of the levels stand
	items   int
}

// item adds an item whose marker stands at a distance from the left.
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
	// Markdown knows neither letters nor numbers in parentheses.
	w.text.WriteString(indent + "- " + marker + " " + text)
}

// more adds a further paragraph to the last item.
func (w *listWriter) more(text string) {
	w.text.WriteString("\n" + strings.Repeat("  ", len(w.indents)) + text)
}
