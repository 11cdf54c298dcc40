package rtf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/parse/rtf"
)

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	text.WriteString(head)
	for i := range 1000 {
		fmt.Fprintf(&text, `\pard\plain\s2 Part %d\par\pard\plain\f0\fs24 {\rtlch\fcs1 \af0 \ltrch\fcs0 \insrsid1 The caf\'e9 at the pier opened at nine, and }{\b\insrsid2 the tide}`+
			`{\insrsid1  stood at \u8364? %d.}\par{\listtext\f2\'b7\tab}\ls1 one\par\trowd\cellx100\cellx200\pard\intbl a\cell b\cell\row`+"\n", i, i)
	}
	text.WriteByte('}')
	content := text.String()
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rtf.Read(b.Context(), source(content)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncapsulated(b *testing.B) {
	content := []byte(`{\rtf1\ansi\fromhtml1` + strings.Repeat(`{\*\htmltag64 <p>}\htmlrtf {\b\htmlrtf0 The caf\'e9 at the pier opened at nine.\htmlrtf\par}\htmlrtf0 {\*\htmltag72 </p>}`+"\n", 2000) + "}")
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := rtf.Encapsulated(content); !ok {
			b.Fatal("no HTML")
		}
	}
}
