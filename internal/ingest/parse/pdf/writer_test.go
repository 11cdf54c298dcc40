package pdf_test

import (
	"bytes"
	"fmt"
	"strings"
)

// writer makes small PDF files: pages of text in the standard fonts, lines, links and an outline.
type writer struct {
	objects  []string
	pages    []sheet
	info     string
	outline  []entry
	language string
	forms    []string // the content of forms X0, X1 and so on
}

// sheet is a page.
type sheet struct {
	content strings.Builder
	extra   string // further entries: /Rotate 90, /Annots […]
	raw     string // the content as it is, in place of what was written
}

// entry is a bookmark on the highest level.
type entry struct {
	title string
	page  int // from 0
	top   float64
}

// page begins a page of 612 by 792 points.
func (w *writer) page() *sheet {
	w.pages = append(w.pages, sheet{})
	return &w.pages[len(w.pages)-1]
}

// text writes a line: font is F1 (Helvetica), F2 (bold) or F3 (Courier); y counts from the lower edge.
func (s *sheet) text(font string, size, x, y float64, text string) {
	fmt.Fprintf(&s.content, "BT /%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n", font, size, x, y, escape(text))
}

// turned writes a line that runs in the direction of a matrix.
func (s *sheet) turned(size float64, matrix, text string) {
	fmt.Fprintf(&s.content, "BT /F1 %g Tf %s Tm (%s) Tj ET\n", size, matrix, escape(text))
}

// line draws a line.
func (s *sheet) line(x0, y0, x1, y1 float64) {
	fmt.Fprintf(&s.content, "0.5 w %g %g m %g %g l S\n", x0, y0, x1, y1)
}

// grid draws the lines of a table.
func (s *sheet) grid(xs, ys []float64) {
	for _, y := range ys {
		s.line(xs[0], y, xs[len(xs)-1], y)
	}
	for _, x := range xs {
		s.line(x, ys[0], x, ys[len(ys)-1])
	}
}

func escape(text string) string {
	text = strings.NewReplacer("\\", "\\\\", "(", "\\(", ")", "\\)").Replace(text)
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '•':
			b.WriteByte(0x95)
		case '–':
			b.WriteByte(0x96)
		default:
			b.WriteByte(byte(r))
		}
	}
	return b.String()
}

func (w *writer) add(object string) int {
	w.objects = append(w.objects, object)
	return len(w.objects)
}

// bytes returns the file.
func (w *writer) bytes() []byte {
	w.objects = nil
	catalog, tree := w.add(""), w.add("")
	fonts := "/Font <<"
	for i, name := range []string{"Helvetica", "Helvetica-Bold", "Courier"} {
		fonts += fmt.Sprintf(" /F%d %d 0 R", i+1, w.add("<< /Type /Font /Subtype /Type1 /BaseFont /"+name+" /Encoding /WinAnsiEncoding >>"))
	}
	fonts += " >>"
	if len(w.forms) > 0 {
		first := len(w.objects) + 1
		named := "/XObject <<"
		for i := range w.forms {
			named += fmt.Sprintf(" /X%d %d 0 R", i, first+i)
		}
		named += " >>"
		for _, content := range w.forms {
			w.add(fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << %s >> /Length %d >>\nstream\n%s\nendstream",
				named, len(content), content))
		}
		fonts += " " + named
	}
	kids := ""
	var numbers []int
	for i := range w.pages {
		s := &w.pages[i]
		text := s.content.String()
		if s.raw != "" {
			text = s.raw
		}
		content := w.add(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(text), text))
		number := w.add(fmt.Sprintf("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Resources << %s >> /Contents %d 0 R %s >>",
			tree, fonts, content, s.extra))
		numbers = append(numbers, number)
		kids += fmt.Sprintf("%d 0 R ", number)
	}
	w.objects[tree-1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids, len(w.pages))
	outlines := ""
	if len(w.outline) > 0 {
		root := w.add("")
		first := len(w.objects) + 1
		for i, e := range w.outline {
			links := ""
			if i > 0 {
				links += fmt.Sprintf(" /Prev %d 0 R", first+i-1)
			}
			if i+1 < len(w.outline) {
				links += fmt.Sprintf(" /Next %d 0 R", first+i+1)
			}
			w.add(fmt.Sprintf("<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /XYZ 0 %g 0]%s >>", escape(e.title), root, numbers[e.page], e.top, links))
		}
		w.objects[root-1] = fmt.Sprintf("<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>", first, len(w.objects), len(w.outline))
		outlines = fmt.Sprintf("/Outlines %d 0 R", root)
	}
	w.objects[catalog-1] = fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R %s /Lang (%s) >>", tree, outlines, w.language)
	trailer := ""
	if w.info != "" {
		trailer = fmt.Sprintf("/Info %d 0 R", w.add("<< "+w.info+" >>"))
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	offsets := make([]int, len(w.objects))
	for i, object := range w.objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(w.objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root %d 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(w.objects)+1, catalog, trailer, start)
	return b.Bytes()
}

// manual makes a file of many pages as manuals have them: a running header, page numbers, headings, paragraphs, a list, a
// table and code on each.
func manual(pages int) []byte {
	w := &writer{info: "/Title (Field Manual) /Author (A. Person)"}
	sentence := strings.Fields("the pump is started by hand when the float stands below the mark and the valve of the upper basin has been opened " +
		"before the first turn of the wheel since water that comes too late lets the packing run dry which shortens its life")
	for number := 1; number <= pages; number++ {
		s := w.page()
		s.text("F1", 8, 72, 760, "Field Manual for Pumps")
		s.text("F1", 8, 520, 30, fmt.Sprint(number))
		heading := fmt.Sprintf("%d Station of the %dth kilometre", number, number)
		s.text("F2", 16, 72, 720, heading)
		w.outline = append(w.outline, entry{heading, number - 1, 740})
		y, word := 690.0, number*7
		for paragraph := range 4 {
			for range 6 + paragraph%2 {
				text := ""
				for len(text) < 84 {
					text += sentence[word%len(sentence)] + " "
					word++
				}
				s.text("F1", 10, 72, y, strings.TrimSpace(text))
				y -= 12
			}
			y -= 8
		}
		for item := range 3 {
			s.text("F1", 10, 80, y, fmt.Sprintf("• item %d of the list on this page", item+1))
			y -= 13
		}
		y -= 10
		for row := range 4 {
			for column := range 4 {
				s.text("F1", 9, 76+110*float64(column), y-11-14*float64(row), fmt.Sprintf("value %d-%d", row, column))
			}
		}
		s.grid([]float64{72, 182, 292, 402, 512}, []float64{y, y - 14, y - 28, y - 42, y - 56})
		y -= 84
		for k := range 5 {
			s.text("F3", 9, 72, y, fmt.Sprintf("pump --station %d --step %d", number, k))
			y -= 11
		}
	}
	return w.bytes()
}
