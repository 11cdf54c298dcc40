package mail_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb/cfbtest"
	"github.com/magpie-search/magpie/internal/ingest/parse/mail"
)

// soon fails where a file takes longer than a file of its size may. Its error must be one of the document's.
func soon(t *testing.T, content []byte, read func() (*document.Draft, error)) {
	t.Helper()
	started := time.Now()
	_, err := read()
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("%d bytes took %s", len(content), took)
	}
	_, limit := errors.AsType[*document.LimitError](err)
	_, damaged := errors.AsType[*document.DamagedError](err)
	if _, encrypted := errors.AsType[*document.EncryptedError](err); err != nil && !limit && !damaged && !encrypted {
		t.Error(err)
	}
	t.Logf("%d bytes, %v", len(content), err)
}

func TestHostileMailsEndSoon(t *testing.T) {
	t.Parallel()
	nested := func(levels int, same bool) string {
		var b strings.Builder
		b.WriteString(head + "Content-Type: multipart/mixed; boundary=b0\n\n")
		for i := range levels {
			n, m := i, i+1
			if same {
				n, m = 0, 0
			}
			fmt.Fprintf(&b, "--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n", n, m)
		}
		return b.String() + "text\n"
	}
	mails := strings.Repeat("Content-Type: message/rfc822\n\n", 100_000)
	var fields strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&fields, "X-%d: a\n", i)
	}
	for name, content := range map[string]string{
		"nested parts":       nested(100_000, false),
		"parts in the same":  nested(100_000, true),
		"parts":              head + "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\na\n", 19_000),
		"too many parts":     head + "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\na\n", 500_000),
		"alternatives":       head + "Content-Type: multipart/alternative; boundary=b\n\n" + strings.Repeat("--b\nContent-Type: text/html\n\n<p>a\n", 19_000),
		"dashes":             nested(49, false) + strings.Repeat("--\n", 3_000_000),
		"header":             fields.String() + head + "\na",
		"one field":          head + "To: " + strings.Repeat("a@example.org, ", 500_000) + "\n\na",
		"fields of one name": head + strings.Repeat("To: a@example.org\n", 300_000) + "\na",
		"folded":             head + "Subject: a\n" + strings.Repeat(" \tb\n", 1_000_000) + "\na",
		"unfolded":           head + strings.Repeat("b\nTo: c\n", 500_000) + "\na",
		"words":              "Subject: " + strings.Repeat("=?utf-8?Q?a?=", 100_000) + "\n\na",
		"half words":         "Subject: " + strings.Repeat("=?a?b?", 100_000) + "\n\na",
		"brackets":           "From: " + strings.Repeat("<(", 100_000) + "\n\na",
		"comments":           "From: " + strings.Repeat("((((((((", 8_000) + "\n\na",
		"domains":            "From: " + strings.Repeat("a@[[[[[[,", 8_000) + "\n\na",
		"parameters":         head + "Content-Type: text/plain; " + strings.Repeat("a*1*=b; ", 8_000) + "\n\na",
		"quotation":          head + "\n" + strings.Repeat(">", 5_000_000),
		"quotations":         head + "\n" + strings.Repeat(">a\n\n", 1_000_000),
		"flowed":             head + "Content-Type: text/plain; format=flowed\n\n" + strings.Repeat("a \n", 1_000_000),
		"escapes":            head + "Content-Transfer-Encoding: quoted-printable\n\n" + strings.Repeat("=  ", 2_000_000),
		"blanks":             head + "Content-Transfer-Encoding: quoted-printable\n\n" + strings.Repeat(" ", 5_000_000) + "\n",
		"equals":             head + "Content-Transfer-Encoding: quoted-printable\n\n=" + strings.Repeat(" =", 1_000_000),
		"equals and blanks":  head + "Content-Transfer-Encoding: quoted-printable\n\n" + strings.Repeat("="+strings.Repeat(" ", 1000), 3_000),
		"files in text":      head + "\n" + strings.Repeat("begin 644 a.txt\n#0V%T\n`\nend\n", 200_000),
		"UTF-7":              head + "Content-Type: text/plain; charset=utf-7\n\n" + strings.Repeat("+", 5_000_000),
		"mails in mails":     head + mails + "\na",
		"armour":             head + "\n" + strings.Repeat("-----BEGIN PGP SIGNED MESSAGE-----\n\n", 200_000),
		"references":         head + "Content-Type: text/html\n\n" + strings.Repeat("cid:a", 1_000_000),
		"mark of the end":    head + "Content-Type: application/pkcs7-mime\n\n" + strings.Repeat("\x30\x80", 1_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			soon(t, []byte(content), func() (*document.Draft, error) { return mail.ReadEML(t.Context(), source("a.eml", []byte(content))) })
		})
	}
	const from = "From a@x Mon Jan  6 08:00:00 2025\n"
	for name, content := range map[string]string{
		"mailbox":        strings.Repeat(from+"Subject: A\n\nb\n\n", 15_000),
		"too many mails": strings.Repeat(from+"\n", 500_000),
		"no mails":       from + "Subject: A\n\n" + strings.Repeat("\nFrom a b c\n", 1_000_000),
		"escaped":        from + "Subject: A\n\n" + strings.Repeat(">>>>From a\n", 500_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			soon(t, []byte(content), func() (*document.Draft, error) { return mail.ReadMbox(t.Context(), source("a.mbox", []byte(content))) })
		})
	}
}

func TestHostileOutlookMessagesEndSoon(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	with := func(fill func(*message)) []byte {
		m := newMessage("IPM.Note", "S")
		fill(m)
		return m.build()
	}
	for name, content := range map[string][]byte{
		"length of RTF": with(func(m *message) {
			m.binary("", 0x1009, compressedHead(1<<31, 1<<31, 0x75465A4C)+strings.Repeat("\xff\x00\x0f", 100))
		}),
		"RTF of nothing": with(func(m *message) { m.binary("", 0x1009, compressedHead(0, 0, 0x75465A4C)) }),
		"references": with(func(m *message) {
			m.binary("", 0x1009, compressedHead(1<<20, 1<<30, 0x75465A4C)+strings.Repeat("\xff"+strings.Repeat("\x12\x3f", 8), 50_000))
		}),
		"recipients": with(func(m *message) {
			for i := range 3_000 {
				m.recipient(i, 1, "", "a@x")
			}
		}),
		"attachments": with(func(m *message) {
			for i := range 3_000 {
				m.attachment("", i, 1, "a.txt", "", "x")
			}
		}),
		"names": with(func(m *message) { m.names(strings.Repeat("\x00", 16*1000), make([]uint32, 100_000)...) }),
		"properties": cfbtest.Build(false, cfbtest.Stream{Path: "__properties_version1.0", Content: bytes.Repeat([]byte("\x1f\x00\x37\x00abcdefghijkl"), 100_000)},
			cfbtest.Stream{Path: "__substg1.0_0037001F", Content: le.AppendUint16(nil, 'a')}),
		"deep": cfbtest.Build(false, cfbtest.Stream{Path: "__properties_version1.0", Content: make([]byte, 32)},
			cfbtest.Stream{Path: strings.Repeat("__attach_version1.0_#00000000/__substg1.0_3701000D/", 2_000) + "__properties_version1.0", Content: []byte("x")}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			soon(t, content, func() (*document.Draft, error) { return mail.ReadMSG(t.Context(), source("a.msg", content)) })
		})
	}
}

func TestCompressedTextIsReadWhole(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{\rtf1\ansi `)
	for i := range 900 {
		fmt.Fprintf(&b, `line %d of the log, %s\par `, i*i, strings.Repeat("ab", i%23))
	}
	whole := b.String() + "}"
	m := newMessage("IPM.Note", "S")
	m.binary("", 0x1009, compress(whole))
	plain := newMessage("IPM.Note", "S")
	plain.binary("", 0x1009, uncompressed(whole))
	got, want := markdown(mustReadMSG(t, m.build()).Blocks), markdown(mustReadMSG(t, plain.build()).Blocks)
	if got != want || !strings.Contains(got, "line 808201 of the log") {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	cut := newMessage("IPM.Note", "S")
	packed := compress(whole)
	cut.binary("", 0x1009, packed[:len(packed)/2])
	if half := markdown(mustReadMSG(t, cut.build()).Blocks); !strings.HasPrefix(want, half[:len(half)-40]) || len(half) < len(want)/4 {
		t.Errorf("%d of %d bytes", len(half), len(want))
	}
}
