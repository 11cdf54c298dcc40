package mail_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

var update = flag.Bool("update", false, "rewrite the files of testdata/formats/msg")

const formats = "../../../../testdata/formats"

// outlookFiles are the files of testdata/formats/msg, which no program at hand makes.
func outlookFiles(t *testing.T) map[string][]byte {
	t.Helper()
	whole := richMessage()
	return map[string][]byte{
		"quay.msg": whole, "buoys-ja.msg": codePageMessage(t), "handover.msg": formattedMessage(), "tug.msg": windowsMessage(t),
		"inspection.msg": appointmentMessage(), "encrypted-smime.msg": sealedMessage(t), "broken-cut.msg": whole[:len(whole)*3/5],
		"broken-empty.msg": whole[:700],
	}
}

func TestOutlookFilesAreAsGenerated(t *testing.T) {
	t.Parallel()
	for name, content := range outlookFiles(t) {
		path := filepath.Join(formats, "msg", name)
		if *update {
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if found, err := os.ReadFile(path); err != nil || !bytes.Equal(found, content) {
			t.Errorf("%s is not as generated (%v): run the test with -update", name, err)
		}
	}
}

var written = time.Date(2025, 4, 7, 8, 30, 0, 0, time.UTC)

const page = `<html><head><meta charset="utf-8"><style>p {color: navy}</style></head><body><h1>Quay wall</h1>` +
	`<p>The <b>southern</b> quay wall – Kaimauer Süd – is closed; see the <a href="https://harbour.example.org/notices/12">notice</a>.</p>` +
	`<ul><li>berths 1 to 4<ul><li>no cranes</li></ul></li><li>berth 9 stays open</li></ul>` +
	`<table><tr><th>Berth</th><th>Until</th></tr><tr><td>1</td><td>May</td></tr></table>` +
	`<p>係留は禁止です。</p><p><img src="cid:logo@quay" alt="Harbour logo"></p></body></html>`

// richMessage is a mail in Unicode: a page, a table, a picture in the page, and in it a mail with a file of its own.
func richMessage() []byte {
	m := newMessage("IPM.Note", "Quay wall closed – Kaimauer gesperrt")
	m.time("", 0x0039, written)
	m.long("", 0x3FDE, 65001)
	m.unicode("", 0x0042, "Mara Lindqvist")
	m.unicode("", 0x5D02, "mara@harbour.example.org")
	m.unicode("", 0x1035, "<quay-12@harbour.example.org>")
	m.unicode("", 0x1042, "<question-9@yard.example.net>")
	m.unicode("", 0x1000, "The southern quay wall is closed.\r\n")
	m.binary("", 0x1013, page)
	m.recipient(0, 1, "Jürgen Öztürk", "juergen@yard.example.net")
	m.recipient(1, 2, "René Dupré", "rene@pilots.example.fr")
	m.recipient(2, 3, "Hidden", "hidden@harbour.example.org")
	m.attachment("", 0, 1, "berths.csv", "text/csv", "Berth;Length\n1;90\n9;140\n")
	logo := m.attachment("", 1, 1, "image001.png", "image/png", "\x89PNG\r\n\x1a\n")
	m.unicode(logo, 0x3712, "logo@quay")
	inner := m.attachment("", 2, 5, "", "", "") + "/__substg1.0_3701000D"
	m.unicode(inner[:strings.LastIndexByte(inner, '/')], 0x3001, "Question about berth 9")
	m.unicode(inner, 0x001A, "IPM.Note")
	m.unicode(inner, 0x0037, "Question about berth 9")
	m.unicode(inner, 0x0042, "Jürgen Öztürk")
	m.unicode(inner, 0x1000, "Can the barge lie at berth 9?\r\n\r\n> Which barge?\r\n")
	m.attachment(inner, 0, 1, "barge.md", "", "# Barge\n\nDraught 3.4 m.\n")
	m.attachment("", 3, 6, "sketch.bmp", "", "")
	return m.build()
}

// codePageMessage is a mail in Shift-JIS whose page stands in compressed RTF.
func codePageMessage(t *testing.T) []byte {
	t.Helper()
	encode := func(text string) string {
		encoded, err := japanese.ShiftJIS.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	m := newMessage("IPM.Note", "")
	m.text("", 0x0037, encode("灯浮標の移設"))
	m.long("", 0x3FFD, 932)
	m.text("", 0x0C1A, encode("港湾管理局"))
	m.text("", 0x0C1F, "office@minato.example.jp")
	m.text("", 0x0E04, encode("水先人会"))
	m.text("", 0x007D, "Microsoft Mail Internet Headers Version 2.0\r\nFrom: office@minato.example.jp\r\nDate: Thu, 1 May 2025 08:00:00 +0900\r\nMessage-ID: <buoy-1@minato.example.jp>\r\n\r\n")
	m.text("", 0x1000, encode("灯浮標を移設します。\r\n"))
	var b strings.Builder
	for _, c := range []byte(encode("第三号灯浮標は六月に移設します。")) {
		if c < 0x80 {
			b.WriteByte(c)
		} else {
			b.WriteString(`\'` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
		}
	}
	m.binary("", 0x1009, compress(`{\rtf1\ansi\ansicpg932\fromhtml1 \deff0{\fonttbl{\f0\fmodern\fcharset128 MS Gothic;}}`+"\r\n"+`\uc1\pard\plain\deftab360 \f0\fs24 `+
		`{\*\htmltag19 <html>}{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 `+b.String()+`\htmlrtf\par}\htmlrtf0 {\*\htmltag72 </p>}`+
		`{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Buoy No. 3 {\*\htmltag84 &amp;}\htmlrtf &\htmlrtf0  its {\*\htmltag84 <b>}\htmlrtf {\b \htmlrtf0 light{\*\htmltag84 </b>}\htmlrtf }\htmlrtf0 .`+
		`\htmlrtf\par}\htmlrtf0 {\*\htmltag72 </p>}{\*\htmltag27 </html>}}`))
	return m.build()
}

// formattedMessage is a mail that Outlook wrote as RTF.
func formattedMessage() []byte {
	m := newMessage("IPM.Note", "Handover of the night watch")
	m.time("", 0x0E06, written)
	m.unicode("", 0x0C1A, "Night Watch")
	m.unicode("", 0x0C1F, "/O=HARBOUR/OU=FIRST/CN=RECIPIENTS/CN=WATCH")
	m.unicode("", 0x0E04, "Day Watch; Mara Lindqvist")
	m.unicode("", 0x1000, "Nothing to report.\r\n")
	m.binary("", 0x1009, uncompressed(`{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss\fcharset0 Arial;}}\pard\b Handover\b0\par Wind from the north-west, the dredger held.\par`+
		`{\pntext\'b7\tab}\pard{\*\pn\pnlvlblt}barometer 989 hPa\par{\pntext\'b7\tab}lamp at pier nine replaced\par\pard The caf\'e9 stays closed.\par}`))
	return m.build()
}

// windowsMessage is a mail whose page and texts are in Windows-1251.
func windowsMessage(t *testing.T) []byte {
	t.Helper()
	encode := func(text string) string {
		encoded, err := charmap.Windows1251.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	m := newMessage("IPM.Note", "")
	m.text("", 0x003D, "RE: ")
	m.text("", 0x0E1D, encode("Расписание буксиров"))
	m.long("", 0x3FDE, 1251)
	m.long("", 0x3FF1, 0x0419)
	m.time("", 0x0039, written)
	m.text("", 0x0C1A, encode("Олег Петров"))
	m.text("", 0x0C1F, "oleg@port.example.ru")
	m.binary("", 0x1013, encode(`<html><body><p>Буксир «Буран» выходит в шесть утра.</p></body></html>`))
	m.attachment("", 0, 1, "winmail.dat", "application/ms-tnef", "\x78\x9f\x3e\x22")
	return m.build()
}

// appointmentMessage is an appointment with its place and time, which are named properties.
func appointmentMessage() []byte {
	m := newMessage("IPM.Appointment", "Inspection of pier nine")
	m.names("\x02\x20\x06\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46", 0x8208, 0x820D, 0x820E)
	m.unicode("", 0x8000, "Pier nine, gate B")
	m.time("", 0x8001, written)
	m.time("", 0x8002, written.Add(90*time.Minute))
	m.unicode("", 0x0042, "Mara Lindqvist")
	m.unicode("", 0x1000, "Divers need the key of the pump house.\r\n")
	return m.build()
}

// sealedMessage is a mail that only its reader can open.
func sealedMessage(t *testing.T) []byte {
	t.Helper()
	m := newMessage("IPM.Note.SMIME", "Sealed")
	m.time("", 0x0039, written)
	m.unicode("", 0x0042, "Mara Lindqvist")
	// ContentInfo with the id of enveloped data, and nothing of it.
	m.attachment("", 0, 1, "smime.p7m", "application/pkcs7-mime", "\x30\x0F\x06\x09\x2A\x86\x48\x86\xF7\x0D\x01\x07\x03\xA0\x02\x30\x00")
	return m.build()
}
