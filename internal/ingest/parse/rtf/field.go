package rtf

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// maxInstruction is the longest field instruction that is kept.
const maxInstruction = 4000

// field is a field with the instruction that computes it.
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

// isPageNumber reports whether the field is a page number.
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

// description returns the description of a picture, "" if there is none.
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

// describe adds the description of a picture to the text.
func (r *reader) describe() {
	text := r.shape.description()
	s := &r.state
	if text == "" || text == r.described || s.isHidden || s.isDeleted || r.html != nil {
		return
	}
	r.described = text // the parts of a drawing have the same description
	r.flush()
	if !s.flow.hasText {
		r.startParagraph(s.flow)
	}
	s.flow.line.add(" "+text+" ", wordmodel.Look{})
	s.flow.line.other += len(text)
	r.Cost += len(text)
}
