package synth

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
)

// WriteWorkbook writes a workbook (ECMA-376) of one sheet: a header and rows of
// texts and numbers.
func WriteWorkbook(w io.Writer, rows int) error {
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
					_, _ = fmt.Fprintf(w, `<c r="%s" t="inlineStr"><is><t>%s</t></is></c>`, name, Words(row+column, 2))
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

// writePart writes a part of the archive. write may ignore errors, which Flush returns.
func writePart(archive *zip.Writer, name string, write func(*bufio.Writer)) error {
	part, err := archive.Create(name)
	if err != nil {
		return err // the caller names the file
	}
	buffered := bufio.NewWriter(part)
	write(buffered)
	return buffered.Flush() // the caller names the file
}
