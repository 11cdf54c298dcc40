package sheet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/ooxml"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// Limits of the related parts of a sheet.
const (
	maxDefined = 1000
	maxNames   = 1 << 14
	maxAuthors = 20_000
)

// comment is a comment on a cell.
type comment struct {
	row, column  int
	author, text string
}

// readRelated reads the defined tables, comments and drawings of a sheet.
func (w *xlsx) readRelated(relations map[string]ooxml.Relationship) error {
	parts := map[string][]string{}
	for _, relation := range relations {
		if !relation.External {
			parts[relation.Type] = append(parts[relation.Type], relation.Target)
		}
	}
	var threaded, notes []comment
	for _, step := range []struct {
		kind string
		read func(part string) error
	}{
		{"table", w.readDefined},
		{"threadedComment", func(part string) error { return w.readThreads(part, &threaded) }},
		{"comments", func(part string) error { return w.readComments(part, &notes) }},
	} {
		slices.Sort(parts[step.kind])
		for _, part := range slices.Compact(parts[step.kind]) {
			if err := step.read(part); err != nil {
				return err
			}
		}
	}
	w.tables.comments(threaded, notes)
	slices.Sort(parts["drawing"])
	for _, part := range parts["drawing"] {
		if err := w.readDrawing(part); err != nil {
			return err
		}
	}
	return nil
}

// comments adds the comments of a sheet in the order of their cells. For older programs, the file also contains
// threaded comments as notes.
func (t *Tables) comments(threaded, notes []comment) {
	type cell struct{ row, column int }
	inThread := make(map[cell]bool)
	for _, c := range threaded {
		inThread[cell{c.row, c.column}] = true
	}
	all := threaded
	for _, c := range notes {
		if !inThread[cell{c.row, c.column}] {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b comment) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.column, b.column)) })
	for _, c := range all {
		text, author := strings.TrimSpace(c.text), strings.TrimSpace(c.author)
		if rest, found := strings.CutPrefix(text, author+":"); found && author != "" {
			text = strings.TrimSpace(rest) // programs repeat the author in the text
		}
		if text == "" {
			continue
		}
		place := fmt.Sprintf("%s%d", columnLetters(c.column), c.row+1)
		if author != "" {
			place += " (" + author + ")"
		}
		t.Note(place + ": " + text)
	}
}

// readDefined reads a defined table: its area and the names of its columns.
func (w *xlsx) readDefined(part string) error {
	var d definedArea
	valid := false
	err := w.each(part, func(s *xmlscan.Scanner) error {
		switch s.Name() {
		case "table":
			d.area, valid = parseArea(s.Attr("ref"))
			d.headers = 1
			if s.Attr("headerRowCount") == "0" {
				d.headers = 0
			}
		case "tableColumn":
			if len(d.names) < maxNames {
				d.names = append(d.names, string(unescapeCodes([]byte(s.Attr("name")))))
			}
		}
		return nil
	})
	if valid && len(w.tables.defined) < maxDefined {
		w.tables.define(d)
	}
	return err
}

// readComments reads the comments of a sheet.
func (w *xlsx) readComments(part string, found *[]comment) error {
	var authors []string
	author := ""
	var at comment
	valid := false
	return w.each(part, func(s *xmlscan.Scanner) error {
		switch s.Name() {
		case "author":
			name, err := s.InnerText()
			if len(authors) < maxAuthors {
				authors = append(authors, name)
			}
			return err
		case "comment":
			at.row, at.column, valid = parseCell(s.Attr("ref"))
			author = ""
			if id := smallNumber([]byte(s.Attr("authorId"))); id >= 0 && id < len(authors) {
				author = authors[id]
			}
		case "text":
			text, err := appendRichText(nil, s)
			if valid && len(*found) <= maxNotes {
				*found = append(*found, comment{at.row, at.column, author, string(text)})
			}
			return err
		}
		return nil
	})
}

// readThreads reads the threaded comments of a sheet.
func (w *xlsx) readThreads(part string, found *[]comment) error {
	var at comment
	valid := false
	return w.each(part, func(s *xmlscan.Scanner) error {
		switch s.Name() {
		case "threadedComment":
			at.row, at.column, valid = parseCell(s.Attr("ref"))
			at.author = w.persons[s.Attr("personId")]
		case "text":
			text, err := s.InnerText()
			if valid && len(*found) <= maxNotes {
				*found = append(*found, comment{at.row, at.column, at.author, text})
			}
			return err
		}
		return nil
	})
}

// readPersons reads the authors of threaded comments.
func (w *xlsx) readPersons(part string) error {
	w.persons = make(map[string]string)
	return w.each(part, func(s *xmlscan.Scanner) error {
		if s.Name() == "person" && len(w.persons) < maxAuthors {
			w.persons[s.Attr("id")] = s.Attr("displayName")
		}
		return nil
	})
}

// readDrawing reads the texts of shapes, each as a paragraph, and the descriptions of pictures.
func (w *xlsx) readDrawing(part string) error {
	return w.each(part, func(s *xmlscan.Scanner) error {
		switch s.Name() {
		case "Fallback":
			return s.Skip()
		case "cNvPr":
			w.tables.Paragraph(s.Attr("descr"))
		case "txBody":
			text, err := appendParagraphs(nil, s)
			w.tables.Paragraph(string(text))
			return err
		}
		return nil
	})
}

// appendParagraphs appends the text of a shape, with a line for each paragraph.
func appendParagraphs(to []byte, s *xmlscan.Scanner) ([]byte, error) {
	inText := false
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return to, err
		}
		switch name := s.Name(); {
		case kind == xmlscan.Text && inText:
			to = append(to, s.Bytes()...)
		case kind == xmlscan.Start:
			inText = name == "t"
		case kind == xmlscan.End:
			inText = false
			if name == "p" || name == "br" {
				to = append(to, '\n')
			}
		}
	}
	return to, nil
}
