package rtf

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// markerOf parses the marker that the file repeats for simple readers: a bullet or a formatted number.
func markerOf(text string) wordmodel.Marker {
	text = oneLine(text)
	if text == "o" || !strings.ContainsFunc(text, wordmodel.IsWordRune) {
		return wordmodel.Marker{} // a circle in Courier
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(text, "("), "."), ")")
	if number, err := strconv.Atoi(bare); err == nil && number >= 0 && number < 1e6 && len(text)-len(bare) <= 1 {
		return wordmodel.Marker{Ordered: true, Number: number}
	}
	return wordmodel.Marker{Ordered: true, Number: -1, Label: text}
}

// typedMarker parses a marker that was typed into the text of a paragraph, with a tab after it. It returns the size of
// both.
func typedMarker(text []byte) (m wordmodel.Marker, size int, found bool) {
	tab := bytes.IndexByte(text, '\t')
	if tab < 0 || tab > maxTypedMarker {
		return wordmodel.Marker{}, 0, false
	}
	switch lead := strings.TrimSpace(string(text[:tab])); lead {
	case "•", "◦", "▪", "‣", "·", "–", "—", "-", "*", "o", "■", "□", "●", "○", "\u2011":
		return wordmodel.Marker{}, tab + 1, true
	default:
		m = markerOf(lead)
		last := lead[max(len(lead)-1, 0):]
		return m, tab + 1, m.Ordered && (last == "." || last == ")")
	}
}

// maxTypedMarker is the longest marker in the text, in bytes.
const maxTypedMarker = 10

// listDefinition is an entry of the list table.
type listDefinition struct {
	levels  [wordmodel.MaxListLevels]listLevel
	defined int // how many levels are defined
	counts  [wordmodel.MaxListLevels]int
}

type listLevel struct {
	format wordmodel.NumberFormat
	start  int
}

// next counts an item of a level, for files without repeated markers. It is false if the level has no marker.
func (d *listDefinition) next(level int) (wordmodel.Marker, bool) {
	level = min(max(level, 0), wordmodel.MaxListLevels-1)
	of := d.levels[level]
	switch {
	case level >= d.defined || of.format == wordmodel.Bullet:
		return wordmodel.Marker{}, true
	case of.format == wordmodel.NoNumber:
		return wordmodel.Marker{}, false
	}
	d.counts[level]++
	for deeper := level + 1; deeper < wordmodel.MaxListLevels; deeper++ {
		d.counts[deeper] = 0
	}
	number := d.counts[level] + max(of.start, 1) - 1
	switch of.format {
	case wordmodel.UpperLetter, wordmodel.LowerLetter:
		if number <= 26 {
			return labelled(of.format, number), true
		}
	case wordmodel.UpperRoman, wordmodel.LowerRoman:
		if number < 40 {
			return labelled(of.format, number), true
		}
	}
	return wordmodel.Marker{Ordered: true, Number: number}, true
}

// labelled returns the marker of a number in a format that Markdown does not have.
func labelled(format wordmodel.NumberFormat, number int) wordmodel.Marker {
	return wordmodel.Marker{Ordered: true, Number: -1, Label: format.Text(number) + "."}
}
