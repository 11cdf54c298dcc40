package synth

import (
	"bytes"
	"fmt"
	"io"
)

// Words returns n words. The same seed gives the same words.
func Words(seed, n int) string {
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

// WritePDF writes a PDF (ISO 32000) of pages with a heading and forty lines each.
func WritePDF(w io.Writer, pages int) error {
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
			fmt.Fprintf(&text, "(%s) Tj 0 -16 Td\n", Words(i*40+line, 11))
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
