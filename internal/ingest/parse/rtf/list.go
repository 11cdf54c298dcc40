package rtf

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// markerOf reads the text that a word processor left for those that know no lists: a bullet, or a number with what stands
// around it.
func markerOf(text string) wordmodel.Marker {
	text = oneLine(text)
	if text == "o" || !strings.ContainsFunc(text, wordmodel.IsWordRune) {
		return wordmodel.Marker{} // o is how Courier draws a circle
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(text, "("), "."), ")")
	if number, err := strconv.Atoi(bare); err == nil && number >= 0 && number < 1e6 && len(text)-len(bare) <= 1 {
		return wordmodel.Marker{Ordered: true, Number: number}
	}
	return wordmodel.Marker{Ordered: true, Number: -1, Label: text}
}

// typedMarker reads a marker that stands in the text of a paragraph, with a tab behind it, and returns how many bytes they
// take: programs that know no lists write them so.
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

// maxTypedMarker is how long a marker in the text may be, in bytes.
const maxTypedMarker = 10

// listDefinition is an entry of the table of lists.
type listDefinition struct {
	levels [wordmodel.MaxListLevels]listLevel
	known  int // how many levels are defined
	counts [wordmodel.MaxListLevels]int
}

type listLevel struct {
	format wordmodel.NumberFormat
	start  int
}

// next counts an item of a level, for files whose items have no text of their own. It is false where the level has no
// marker.
func (d *listDefinition) next(level int) (wordmodel.Marker, bool) {
	level = min(max(level, 0), wordmodel.MaxListLevels-1)
	of := d.levels[level]
	switch {
	case level >= d.known || of.format == wordmodel.Bullet:
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

// labelled returns the marker of a number that is shown in a format of its own.
func labelled(format wordmodel.NumberFormat, number int) wordmodel.Marker {
	return wordmodel.Marker{Ordered: true, Number: -1, Label: format.Text(number) + "."}
}
