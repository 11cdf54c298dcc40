package sheet

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// Limits of what sheets share. A file may list more than its cells use.
const (
	maxStrings = 2 * maxCells
	maxStyles  = 1 << 17
	maxFormats = 1000
)

// styles are the number formats of cell styles.
type styles struct {
	ids      []int
	codes    map[int]string
	compiled map[int]*numberFormat
	formats  []*numberFormat // by style, if isKnown is set; nil shows numbers in their shortest form
	isKnown  []bool
}

// of returns the number format of a style, nil for the shortest form of numbers.
func (st *styles) of(style int) *numberFormat {
	if style < 0 || style >= len(st.ids) {
		return nil
	}
	if st.isKnown == nil {
		st.isKnown = make([]bool, len(st.ids))
		st.formats = make([]*numberFormat, len(st.ids))
		st.compiled = make(map[int]*numberFormat)
	}
	if !st.isKnown[style] {
		st.isKnown[style] = true
		st.formats[style] = st.compile(st.ids[style])
	}
	return st.formats[style]
}

func (st *styles) compile(id int) *numberFormat {
	if format, known := st.compiled[id]; known {
		return format
	}
	code, custom := st.codes[id]
	if !custom {
		code = builtinFormat(id)
	}
	var format *numberFormat
	if len(st.compiled) < maxFormats {
		if format = compileFormat(code); format.isGeneral() {
			format = nil
		}
		st.compiled[id] = format
	}
	return format
}

// readStyles reads the number formats of the styles.
func (w *xlsx) readStyles(part string) error {
	w.styles.codes = make(map[int]string)
	return w.each(part, func(s *xmlscan.Scanner) error {
		switch s.Name() {
		case "numFmt":
			id, err := strconv.Atoi(s.Attr("numFmtId"))
			if code := s.Attr("formatCode"); err == nil && len(w.styles.codes) < maxFormats && len(code) <= maxFormat {
				w.styles.codes[id] = code
			}
		case "cellXfs":
			return w.readCellFormats(s)
		case "dxfs", "cellStyleXfs":
			return s.Skip()
		}
		return nil
	})
}

func (w *xlsx) readCellFormats(s *xmlscan.Scanner) error {
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return err
		}
		if kind == xmlscan.Start && s.Name() == "xf" && len(w.styles.ids) < maxStyles {
			id, _ := strconv.Atoi(s.Attr("numFmtId")) // 0 if it is missing
			w.styles.ids = append(w.styles.ids, id)
		}
	}
	return nil
}

// readStrings reads the shared texts of cells.
func (w *xlsx) readStrings(part string) error {
	size := 0
	return w.each(part, func(s *xmlscan.Scanner) error {
		if s.Name() != "si" {
			return nil
		}
		var err error
		if w.buffer, err = appendRichText(w.buffer[:0], s); err != nil {
			return err
		}
		text := w.buffer
		if size += len(text); size > w.limits.MaxText {
			return &document.LimitError{Detail: fmt.Sprintf("the text has more than %d MiB", w.limits.MaxText>>20)}
		}
		if len(w.strings) >= maxStrings {
			return &document.LimitError{Detail: fmt.Sprintf("the file has more than %d texts", maxStrings)}
		}
		w.strings = append(w.strings, w.tables.texts.storeClean(text))
		return nil
	})
}

// appendRichText appends the text inside the element of the last Start, and skips its End. It leaves out phonetic
// readings of East Asian text.
func appendRichText(to []byte, s *xmlscan.Scanner) ([]byte, error) {
	inText := false
	begin := len(to)
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return to, err
		}
		switch kind {
		case xmlscan.Start:
			switch s.Name() {
			case "t":
				inText = true
			case "rPh":
				if err := s.Skip(); err != nil {
					return to, err
				}
			}
		case xmlscan.End:
			inText = false
		case xmlscan.Text:
			if inText {
				to = append(to, s.Bytes()...)
			}
		}
	}
	return append(to[:begin], unescapeCodes(to[begin:])...), nil
}

// unescapeCodes replaces _xHHHH_, which stands for a character that XML cannot contain, in place.
func unescapeCodes(text []byte) []byte {
	at := bytes.Index(text, []byte("_x"))
	if at < 0 {
		return text
	}
	to := text[:at]
	for at < len(text) {
		if r, ok := escapedCode(text[at:]); ok {
			to = utf8.AppendRune(to, r) // never longer than the code
			at += len("_x0000_")
			continue
		}
		to = append(to, text[at])
		at++
	}
	return to
}

func escapedCode(text []byte) (rune, bool) {
	if len(text) < len("_x0000_") || text[0] != '_' || text[1] != 'x' || text[6] != '_' {
		return 0, false
	}
	code, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil || 0xD800 <= code && code < 0xE000 {
		return 0, false
	}
	return rune(code), true
}
