package rtf

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// maxInstruction is how much of the instruction of a field is kept.
const maxInstruction = 4000

// field is a field: what it should show, and the instruction that it was made by.
type field struct{ instruction []byte }

// link returns the address of a link, "" for other fields.
func (f *field) link() string {
	addresses, place := wordmodel.ParseFieldCode(string(f.instruction)).Hyperlink()
	if len(addresses) == 0 {
		return ""
	}
	address := addresses[0]
	if place != "" && !strings.Contains(address, "#") {
		address += "#" + place
	}
	return wordmodel.WebLink(address)
}

// isPageNumber reports whether the field is the number of a page.
func (f *field) isPageNumber() bool {
	return wordmodel.ParseFieldCode(string(f.instruction)).IsPageNumber()
}

// shape is a property of a picture or drawing.
type shape struct{ name, value []byte }

func (s *shape) add(dest destination, text string) {
	switch {
	case dest == destShapeName && len(s.name) < maxMarker:
		s.name = append(s.name, text...)
	case dest == destShapeValue && len(s.value) < maxInfo:
		s.value = append(s.value, text...)
	}
}

// description returns what stands for a picture in the text, "" where there is nothing that a person wrote.
func (s *shape) description() string {
	if strings.TrimSpace(string(s.name)) != "wzDescription" {
		return ""
	}
	text := oneLine(string(s.value))
	lower := strings.ToLower(text)
	for _, ending := range []string{".png", ".jpg", ".jpeg", ".gif", ".emf", ".wmf", ".bmp", ".tif", ".tiff", ".svg"} {
		if strings.HasSuffix(lower, ending) {
			return "" // the name of a file
		}
	}
	return text
}

// describe puts the description of a picture in its place.
func (r *reader) describe() {
	text := r.shape.description()
	s := &r.state
	if text == "" || text == r.described || s.hidden || s.deleted || r.html != nil {
		return
	}
	r.described = text // the parts of one drawing have the same
	r.flush()
	if !s.flow.started {
		r.startParagraph(s.flow)
	}
	s.flow.line.add(" "+text+" ", wordmodel.Look{})
	s.flow.line.other += len(text)
	r.cost += len(text)
}
