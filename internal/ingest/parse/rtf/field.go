package rtf

import (
	"strings"
)

// maxInstruction is how much of the instruction of a field is kept.
const maxInstruction = 4000

// field is a field: what it should show, and the instruction that it was made by.
type field struct{ instruction []byte }

// parse returns the address of a link, and whether the field is the number of a page.
func (f *field) parse() (link string, page bool) {
	words := instructionWords(string(f.instruction))
	if len(words) == 0 {
		return "", false
	}
	switch strings.ToUpper(words[0]) {
	case "PAGE", "NUMPAGES", "SECTIONPAGES":
		return "", true
	case "HYPERLINK":
	default:
		return "", false
	}
	address, place := "", ""
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == `\l` && i+1 < len(words):
			i++
			place = words[i]
		case (word == `\o` || word == `\t`) && i+1 < len(words):
			i++
		case strings.HasPrefix(word, `\`):
		case address == "":
			address = word
		}
	}
	if address != "" && place != "" && !strings.Contains(address, "#") {
		address += "#" + place
	}
	return webLink(address), false
}

// instructionWords parts an instruction at its blanks, save for those between quotation marks.
func instructionWords(text string) []string {
	var words []string
	for len(words) < 20 {
		text = strings.TrimLeft(text, " \t\n\u00A0")
		if text == "" {
			break
		}
		if rest, quoted := strings.CutPrefix(text, `"`); quoted {
			word, after, _ := strings.Cut(rest, `"`)
			words, text = append(words, word), after
			continue
		}
		end := strings.IndexAny(text, " \t\n\"")
		if end < 0 {
			end = len(text)
		}
		words, text = append(words, text[:end]), text[end:]
	}
	return words
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
	text := words(string(s.value))
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
	s.flow.line.add(" "+text+" ", look{})
	s.flow.line.other += len(text)
	r.cost += len(text)
}
