package command

import (
	"archive/zip"
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// words fills the pages and rows of files that are made to be measured.
func words(seed, n int) string {
	list := [...]string{"harbour", "lens", "keeper", "night", "signal", "cable", "storm", "ledger", "barrel", "channel", "pilot", "tide", "anchor"}
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(list[(seed*31+i*i+7*i)%len(list)])
	}
	return b.String()
}

// writePDF writes a PDF (ISO 32000) of pages with a heading and forty lines each.
func writePDF(w io.Writer, pages int) error {
	var b bytes.Buffer
	var offsets []int
	object := func(body string) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), body)
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids bytes.Buffer
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", pages, kids.String()))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i := range pages {
		var text bytes.Buffer
		fmt.Fprintf(&text, "BT /F1 18 Tf 72 760 Td (Chapter %d) Tj /F1 10 Tf 0 -30 Td\n", i+1)
		for line := range 40 {
			fmt.Fprintf(&text, "(%s) Tj 0 -16 Td\n", words(i*40+line, 11))
		}
		text.WriteString("ET")
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i))
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String()))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	_, err := w.Write(b.Bytes())
	return err // the caller names the file
}

// writeWorkbook writes a workbook (ECMA-376) of one sheet with a header and rows of texts and numbers.
func writeWorkbook(w io.Writer, rows int) error {
	archive := zip.NewWriter(w)
	for _, part := range []struct{ name, body string }{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Log" sheetId="1" r:id="r1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`},
	} {
		if err := writePart(archive, part.name, func(w *bufio.Writer) { _, _ = w.WriteString(part.body) }); err != nil {
			return err
		}
	}
	err := writePart(archive, "xl/worksheets/sheet1.xml", func(w *bufio.Writer) {
		_, _ = w.WriteString(`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`)
		for row := range rows + 1 {
			_, _ = fmt.Fprintf(w, `<row r="%d">`, row+1)
			for column := range 10 {
				name := fmt.Sprintf("%c%d", 'A'+column, row+1)
				switch {
				case row == 0:
					_, _ = fmt.Fprintf(w, `<c r="%s" t="inlineStr"><is><t>Column %d</t></is></c>`, name, column+1)
				case column < 3:
					_, _ = fmt.Fprintf(w, `<c r="%s" t="inlineStr"><is><t>%s</t></is></c>`, name, words(row+column, 2))
				default:
					_, _ = fmt.Fprintf(w, `<c r="%s"><v>%d.5</v></c>`, name, row*column%9973)
				}
			}
			_, _ = w.WriteString("</row>")
		}
		_, _ = w.WriteString("</sheetData></worksheet>")
	})
	if err != nil {
		return err
	}
	return archive.Close() // the caller names the file
}

// writePart writes a part; the writer keeps its error until it is flushed.
func writePart(archive *zip.Writer, name string, write func(*bufio.Writer)) error {
	part, err := archive.Create(name)
	if err != nil {
		return err // the caller names the file
	}
	buffered := bufio.NewWriter(part)
	write(buffered)
	return buffered.Flush() // the caller names the file
}
