package mail_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/mail"
)

func bench(b *testing.B, content []byte, read func(context.Context, document.Source) (*document.Draft, error)) {
	b.Helper()
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := read(b.Context(), source("a", content)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEML(b *testing.B) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "On day %d the caf=C3=A9 at the pier opened at nine, and =\nthe tide stood at %d centimetres.\n> as it did before\n\n", i, i%300)
	}
	body := "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n" + text.String()
	bench(b, []byte(head+"Content-Type: multipart/mixed; boundary=b\n\n--b\n"+body+"\n--b\nContent-Disposition: attachment; filename=a.txt\nContent-Transfer-Encoding: base64\n\n"+
		strings.Repeat(strings.Repeat("QUJD", 19)+"\n", 5000)+"--b--\n"), mail.ReadEML)
}

func BenchmarkMSG(b *testing.B) {
	m := newMessage("IPM.Note", "S")
	m.binary("", 0x1009, compress(`{\rtf1\ansi\fromhtml1{\*\htmltag <p>}`+strings.Repeat(`The tide stood high at the pier.{\*\htmltag </p><p>}`, 500)+"}"))
	m.attachment("", 0, 1, "a.txt", "", strings.Repeat("x", 1<<20))
	bench(b, m.build(), mail.ReadMSG)
}

func BenchmarkMbox(b *testing.B) {
	bench(b, []byte(strings.Repeat("From a@x Mon Jan  6 08:00:00 2025\nFrom: Ann <a@x>\nTo: b@x\nSubject: =?utf-8?q?caf=C3=A9?=\nDate: Mon, 6 Jan 2025 08:00:00 +0100\n\nThe pier is open.\n\n> Is it?\n\n", 1000)), mail.ReadMbox)
}
