package mail_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/mail"
)

const head = "From: Ann <ann@example.org>\nSubject: S\n"

func TestTextsOfMails(t *testing.T) {
	t.Parallel()
	const above = "# S\n\nFrom: Ann <ann@example.org>\n\n"
	multipart := func(kind string, parts ...string) string {
		return "Content-Type: " + kind + "; boundary=b\n\npreamble\n--b\n" + strings.Join(parts, "\n--b\n") + "\n--b--\nepilogue\n"
	}
	const plain, page = "Content-Type: text/plain\n\nplain text", "Content-Type: text/html\n\n<p>rich <b>text</b>"
	for name, c := range map[string]struct{ rest, want string }{
		"plain":             {"\nA\nb.\n\nC\n", "A\nb.\n\nC"},
		"carriage returns":  {"\r\nA\r\nb\r\n", "A\nb"},
		"page":              {"Content-Type: text/html\n\n<p>a<p>b\n", "a\n\nb"},
		"page, upper case":  {"CONTENT-TYPE: Text/HTML; Charset=\"UTF-8\"\n\n<p>ä\n", "ä"},
		"quoted-printable":  {"Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: Quoted-Printable\n\ncaf=E9 a=\nb =3D =zz \nc=20\nd =", "café ab = =zz\nc\nd"},
		"base64":            {"Content-Transfer-Encoding: base64\n\nw6R\n iYw=\n=\nZA==\n", "äbcd"},
		"said to be base64": {"Content-Transfer-Encoding: base64\n\nIt is not, as one can see.\n", "It is not, as one can see."},
		"unknown encoding":  {"Content-Transfer-Encoding: x-own\n\nabc\n", "abc"},
		"no charset":        {"\ncaf\xe9\n", "café"},
		"wrong charset":     {"Content-Type: text/plain; charset=utf-8\n\ncaf\xe9\n", "café"},
		"unknown charset":   {"Content-Type: text/plain; charset=own\n\nä\n", "ä"},
		"Japanese":          {"Content-Type: text/plain; charset=ISO-2022-JP\n\n\x1b$BF|K\\\x1b(B\n", "日本"},
		"Japanese, unsaid":  {"\n\x1b$BF|K\\\x1b(B\n", "日本"},
		"UTF-7":             {"Content-Type: text/plain; charset=utf-7\n\na+AOQ-b +- c +ZeVnLA.\n", "aäb + c 日本."},
		"code page 850":     {"Content-Type: text/plain; charset=cp850\n\n\x84\n", "ä"},
		"control signs":     {"\na\x00b\x07c\x0bd\n", "abc\nd"},
		"alternative":       {multipart("multipart/alternative", plain, page), "rich text"},
		"plain says more":   {multipart("multipart/alternative", plain+strings.Repeat(" and more", 40), page), "plain text" + strings.Repeat(" and more", 40)},
		"plain has links":   {multipart("multipart/alternative", plain+strings.Repeat(" <https://example.org/a/long/address>", 40), page), "rich text"},
		"page is empty":     {multipart("multipart/alternative", plain, "Content-Type: text/html\n\n<p>"), "plain text"},
		"page comes first":  {multipart("multipart/alternative", page, plain), "rich text"},
		"one after another": {multipart("multipart/mixed", plain, page, "\nlast"), "plain text\n\nrich text\n\nlast"},
		"related": {multipart("multipart/related", page+` <img src="cid:i@x">`, "Content-Type: image/png\nContent-ID: <i@x>\n\n\x89", "Content-Type: text/css\n\np {}"),
			"rich text"},
		"signed":               {multipart("multipart/signed", plain, "Content-Type: application/pgp-signature\n\nabc"), "plain text"},
		"signed, misnamed":     {multipart("multipart/signed", plain, "Content-Type: application/octet-stream; name=a.txt\n\nabc"), "plain text"},
		"digest":               {multipart("multipart/digest", "\nFrom: b@example.org\nSubject: B\n\nInner"), "## B\n\nFrom: b@example.org\n\nInner"},
		"report":               {multipart("multipart/report", plain, "Content-Type: message/delivery-status\n\nStatus: 5.1.1"), "plain text\n\nStatus: 5.1.1"},
		"not closed":           {strings.TrimSuffix(multipart("multipart/mixed", plain), "\n--b--\nepilogue\n"), "plain text"},
		"closed too early":     {multipart("multipart/mixed", plain) + "--b\n\nlate\n--b--\n", "plain text\n\nlate"},
		"inner not closed":     {multipart("multipart/mixed", "Content-Type: multipart/mixed; boundary=c\n\n--c\n\nx", plain), "x\n\nplain text"},
		"no boundary":          {"Content-Type: multipart/mixed\n\n--zz\n\na\n--zz\n\nb\n--zz--\n", "a\n\nb"},
		"no parts":             {"Content-Type: multipart/mixed; boundary=b\n\nOnly text.\n", "Only text."},
		"boundary with blanks": {"Content-Type: multipart/mixed; boundary=\"a b \"\n\n--a b\t \n\nx\n--a b--\n", "x"},
		"alike boundaries": {"Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/mixed; boundary=ab\n\n--ab\n\nx\n--ab--\n--a\n\ny\n--a--\n",
			"x\n\ny"},
		"no empty line":     {multipart("multipart/mixed", "Just text"), "Just text"},
		"enriched":          {"Content-Type: text/enriched\n\n<bold>a</bold> b &lt;\n", "a b <"},
		"formatted":         {"Content-Type: text/rtf\n\n{\\rtf1 a{\\b  b}\\par}\n", "a **b**"},
		"quotation":         {"\nAnn wrote:\n> a\n> > b\n>\n>c\nd\n", "Ann wrote:\n\n> a\n> > b\n> \n> c\n\nd"},
		"original":          {"\na\n\n-----Ursprüngliche Nachricht-----\nVon: B\n\nb\n", "a\n\n> Von: B\n> \n> b"},
		"signature":         {"\na\n-- \nAnn\nExample\n", "a\n\nAnn\nExample"},
		"rulers":            {"\nTitle\n=====\n\na\n_____________\nb\n", "Title\n\na\n\nb"},
		"list":              {"\n- a\n- b\n", "- a\n- b"},
		"flowed":            {"Content-Type: text/plain; format=flowed\n\na \nb\n c\n> d \n> e\n>> f\n-- \ng\n", "a b\nc\n\n> d e\n> > f\n\ng"},
		"flowed, deleted":   {"Content-Type: text/plain; format=flowed; delsp=yes\n\na \nb\n", "ab"},
		"clear signature":   {"\n-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n- - a\nb\n-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n", "- a\nb"},
		"file in the text":  {"\na\nbegin 644 b.txt\n#0V%T\n`\nend\nc\n", "a\nc\n\n## b.txt\n\nCat"},
		"begin in the text": {"\na\nbegin 644 b.txt\nor not.\n", "a\nbegin 644 b.txt\nor not."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(above+c.want, markdown(mustRead(t, head+c.rest).Blocks)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeadersOfMails(t *testing.T) {
	t.Parallel()
	type want struct{ subject, from, to, date string }
	for name, c := range map[string]struct {
		header string
		want   want
	}{
		"plain":             {"Subject: a\nFrom: b@c\nTo: d <d@e>, f@g\nDate: Tue, 4 Mar 2025 09:15:00 +0100\n", want{"a", "b@c", "d <d@e>, f@g", "Tue, 4 Mar 2025 09:15 +0100"}},
		"folded":            {"Subject: a\n b\r\n\tc\nFrom: \"B,\n C\" <b@c>\n", want{subject: "a b c", from: "B, C <b@c>"}},
		"not folded":        {"Subject: a long\nsubject\nFrom: b@c\n", want{subject: "a long subject", from: "b@c"}},
		"words":             {"Subject: =?utf-8?Q?caf=C3=A9_?= =?UTF-8?b?w6Q=?= b =?x?=\n", want{subject: "café ä b =?x?="}},
		"cut character":     {"Subject: =?UTF-8?B?ww==?= =?UTF-8?B?pA==?=\n =?utf-8?q?=C3?= =?utf-8?q?=A4?=\n", want{subject: "ää"}},
		"blanks in words":   {"Subject: =?iso-8859-1?Q?a b=E9?=c\n", want{subject: "a béc"}},
		"language":          {"Subject: =?iso-8859-1*de?Q?=E4?=\n", want{subject: "ä"}},
		"raw bytes":         {"Subject: caf\xe9\nFrom: Ren\xe9 <r@x>\n", want{subject: "café", from: "René <r@x>"}},
		"raw UTF-8":         {"Subject: café\nFrom: René <r@x>\n", want{subject: "café", from: "René <r@x>"}},
		"encoded name":      {"From: =?utf-8?q?Ren=C3=A9=2C_D=2E?= <r@x>, =?utf-8?q?B?= <b@x>\n", want{from: "René, D. <r@x>, B <b@x>"}},
		"name in quotes":    {"From: \"'Ann'\" <a@x>\nTo: a@x <a@x>, (Bob) b@x\n", want{from: "Ann <a@x>", to: "a@x, Bob <b@x>"}},
		"comment":           {"From: a@x (Ann =?utf-8?q?B?=)\n", want{from: "Ann B <a@x>"}},
		"semicolons":        {"From: a@x\nTo: b@x; C <c@x>\n", want{from: "a@x", to: "b@x, C <c@x>"}},
		"group":             {"From: a@x\nTo: undisclosed-recipients:;\n", want{from: "a@x"}},
		"twice":             {"From: a@x\nFrom: b@x\nTo: c@x\nTo: d@x\n", want{from: "a@x", to: "c@x, d@x"}},
		"sender":            {"Sender: a@x\nSubject: s\n", want{subject: "s", from: "a@x"}},
		"blank before":      {"Subject : a\nFrom\t: b@x\n", want{subject: "a", from: "b@x"}},
		"zone in words":     {"From: a@x\nDate: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)\n", want{from: "a@x", date: "Fri, 11 Jul 2003 21:00 -0700"}},
		"old date":          {"From: a@x\nDate: 11 Jul 03 21:00 GMT\n", want{from: "a@x", date: "Fri, 11 Jul 2003 21:00 +0000"}},
		"date of Unix":      {"From: a@x\nDate: Fri Jul 11 21:00:37 2003\n", want{from: "a@x", date: "Fri, 11 Jul 2003 21:00 +0000"}},
		"wrong day":         {"From: a@x\nDate: Mon, 11 July 2003 21:00:37 +0200\n", want{from: "a@x", date: "Fri, 11 Jul 2003 21:00 +0200"}},
		"no date":           {"From: a@x\nReceived: by x;\n Fri, 11 Jul 2003 21:00:37 +0000\n", want{from: "a@x", date: "Fri, 11 Jul 2003 21:00 +0000"}},
		"odd date":          {"From: a@x\nDate: yesterday\n", want{from: "a@x", date: "yesterday"}},
		"mailbox line":      {"From a@x Fri Jul 11 21:00:37 2003\nFrom: a@x\n", want{from: "a@x"}},
		"escaped line":      {">From a@x Fri Jul 11 21:00:37 2003\r\nFrom: a@x\n", want{from: "a@x"}},
		"blank lines":       {"\r\n\n  \nFrom: a@x\n", want{from: "a@x"}},
		"byte order mark":   {"\xef\xbb\xbfFrom: a@x\n", want{from: "a@x"}},
		"colon at the side": {"From: a@x\n: b\nSubject: s\n", want{from: "a@x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got want
			for line := range strings.Lines(markdown(mustRead(t, c.header+"\nbody\n").Blocks)) {
				line = strings.TrimSuffix(line, "\n")
				for label, field := range map[string]*string{"# ": &got.subject, "From: ": &got.from, "To: ": &got.to, "Date: ": &got.date} {
					if value, found := strings.CutPrefix(line, label); found && *field == "" {
						*field = value
					}
				}
			}
			if name == "colon at the side" {
				return // the header ends there, and the rest is text
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFactsOfMails(t *testing.T) {
	t.Parallel()
	got := mustRead(t, "From: Ann B <a@x>\nTo: C <c@x>\nCc: d@x\nSubject: S\nDate: Tue, 4 Mar 2025 09:15:00 +0100\nMessage-ID: <1@x>\nIn-Reply-To: <0@x> (earlier)\n\nbody\n")
	at := time.Date(2025, 3, 4, 8, 15, 0, 0, time.UTC)
	if created, _ := got.Meta["created"].(time.Time); !created.Equal(at) || got.Meta["title"] != "S" || got.Meta["author"] != "Ann B" {
		t.Errorf("meta is %v", got.Meta)
	}
	want := map[string]any{"from": "Ann B <a@x>", "to": []string{"C <c@x>"}, "cc": []string{"d@x"}, "message_id": "1@x", "in_reply_to": "0@x"}
	if diff := cmp.Diff(want, got.Extra); diff != "" || !got.Prose || got.DocType != "email" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// mixed is a mail with files: name, media type and content each.
func mixed(files ...[3]string) string {
	var b strings.Builder
	b.WriteString(head + "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nbody\n")
	for _, f := range files {
		fmt.Fprintf(&b, "--b\nContent-Type: %s\nContent-Disposition: attachment; filename=%q\n\n%s\n", f[1], f[0], f[2])
	}
	return b.String() + "--b--\n"
}

func TestAttachmentsStandUnderTheirNames(t *testing.T) {
	t.Parallel()
	got := mustRead(t, mixed([3]string{"a.md", "text/markdown; charset=latin1", "a"}, [3]string{`C:\dir\b.md`, "text/markdown", "b"}, [3]string{"c.exe", "application/x-msdownload", "c"},
		[3]string{"d.broken", "x/y", "d"}, [3]string{"e.large", "x/y", "e"}, [3]string{"f.blank", "x/y", "f"}, [3]string{"winmail.dat", "application/octet-stream", "g"},
		[3]string{"h.asc", "application/octet-stream", "-----BEGIN PGP MESSAGE-----\nabc"}, [3]string{"", "message/rfc822", "From: i@x\nSubject: Inner\n\ni\n"},
		[3]string{"Fwd: j.exe", "message/rfc822", "From: j@x\n\nj\n"}, [3]string{"", "image/png", "k"}))
	want := "# S\n\nFrom: Ann <ann@example.org>\n\nbody\n\n## a.md\n\n### Notes\n\na\n\n## b.md\n\n### Notes\n\nb\n\n## Inner\n\nFrom: i@x\n\ni\n\n## Fwd: j.exe\n\nFrom: j@x\n\nj"
	if diff := cmp.Diff(want, markdown(got.Blocks)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantExtra := map[string]any{
		"from": "Ann <ann@example.org>", "attachments": []string{"a.md", "b.md", "Inner", "Fwd: j.exe"},
		"attachments_skipped": []string{
			"c.exe: format not supported: application/x-msdownload", "d.broken: file is damaged: it is broken", "e.large: too large: a sheet is too large", "f.blank: no text",
			"winmail.dat: Outlook's container (TNEF) is not read", "h.asc: encrypted", "image.png: format not supported: image/png",
		},
	}
	if diff := cmp.Diff(wantExtra, got.Extra); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	taken := make(map[string]bool)
	for _, block := range got.Blocks {
		if block.Page != 0 || block.Kind == document.Heading && (block.Anchor == "" || taken[block.Anchor]) {
			t.Errorf("block %+v", block)
		}
		taken[block.Anchor] = true
	}
}

func TestNamesOfAttachments(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		`Content-Type: text/plain; name="a b.txt"`:                                                                                          "a b.txt",
		`Content-Type: text/plain; name=a.txt` + "\n" + `Content-Disposition: attachment; filename="b.txt"`:                                 "b.txt",
		`Content-Disposition: attachment; filename*=UTF-8''%E6%97%A5.txt`:                                                                   "日.txt",
		`Content-Disposition: attachment; filename="x.txt"; filename*=UTF-8''%C3%A4.txt`:                                                    "ä.txt",
		`Content-Disposition: attachment; filename*0*=iso-8859-1'de'%E4; filename*1="b"; filename*2*=.%74xt`:                                "äb.txt",
		`Content-Disposition: attachment; filename*1=b.txt; filename*0=a`:                                                                   "ab.txt",
		`Content-Disposition: attachment; filename="=?utf-8?q?=C3=A4=2Etxt?="`:                                                              "ä.txt",
		`Content-Disposition: attachment; filename=a"b;.txt`:                                                                                `a"b`,
		`Content-Disposition: attachment; filename="a\"b.txt"`:                                                                              `a"b.txt`,
		`Content-Disposition: attachment; filename="../../etc/a.txt"`:                                                                       "a.txt",
		`Content-Disposition: attachment; filename="open.txt`:                                                                               "open.txt",
		`Content-Disposition: attachment; size=1; ; =x; FileName = a.txt ; b`:                                                               "a.txt",
		`Content-Type: text/plain; charset=utf-8; charset=utf-8` + "\n" + `Content-Disposition: ATTACHMENT; filename=a.txt`:                 "a.txt",
		`Content-Disposition: attachment` + "\n" + `Content-Type: text/plain`:                                                               "attachment.txt",
		`Content-Disposition: attachment;` + "\n " + `filename*0="a long name that"; ` + "\n\t" + `filename*1=" goes on.txt"; filename*x=y`: "a long name that goes on.txt",
	} {
		content := head + "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + header + "\n\ntext\n--b--\n"
		in := source("a.eml", []byte(content))
		var names []string
		in.Nested = func(_ context.Context, name, _ string, _ []byte) (*document.Draft, error) {
			names = append(names, name)
			return nil, &document.UnsupportedError{Reason: "no"}
		}
		if _, err := mail.ReadEML(t.Context(), in); err != nil || len(names) != 1 || names[0] != want {
			t.Errorf("%s: %q, %v, want %q", header, names, err, want)
		}
	}
}

func TestLimitsOfTheWholeFileEndTheMail(t *testing.T) {
	t.Parallel()
	_, err := mail.ReadEML(t.Context(), source("a.eml", []byte(mixed([3]string{"a.bomb", "x/y", "a"}))))
	if _, limit := errors.AsType[*document.LimitError](err); !limit {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in := source("a.eml", []byte(mixed([3]string{"a.txt", "x/y", "a"})))
	in.Nested = func(context.Context, string, string, []byte) (*document.Draft, error) {
		cancel()
		return nil, errors.New("ended")
	}
	if _, err := mail.ReadEML(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	in = source("a.eml", []byte(head+"\n"+strings.Repeat("text\n", 1000)))
	in.Limits.MaxText = 1000
	_, err = mail.ReadEML(t.Context(), in)
	if _, limit := errors.AsType[*document.LimitError](err); !limit {
		t.Errorf("error is %v", err)
	}
}

func TestMailsInMailsEndAtTheLimit(t *testing.T) {
	t.Parallel()
	content := head + "\ninnermost\n"
	for i := range 8 {
		content = fmt.Sprintf("From: a@x\nSubject: S%d\nContent-Type: multipart/mixed; boundary=b%d\n\n--b%d\nContent-Type: text/html\n\n<p>page %d\n--b%d\nContent-Type: message/rfc822\n\n%s\n--b%d--\n",
			i, i, i, i, i, content, i)
	}
	got := mustRead(t, content)
	text := markdown(got.Blocks)
	// The page of the innermost mail that is read can no longer be handed on, but its text is not lost.
	if !strings.Contains(text, "page 3") || strings.Contains(text, "page 2") {
		t.Errorf("text is %s", text)
	}
}

func TestEncryptedMails(t *testing.T) {
	t.Parallel()
	const sealed = "Content-Type: multipart/encrypted; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b\nContent-Type: application/octet-stream\n\nabc\n--b--\n"
	for name, content := range map[string]string{
		"multipart": head + sealed,
		"S/MIME":    head + "Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\nContent-Transfer-Encoding: base64\n\nMA8GCSqGSIb3DQEHA6ACMAA=\n",
		"inline":    head + "\n-----BEGIN PGP MESSAGE-----\n\nabc\n-----END PGP MESSAGE-----\n",
		"mangled":   head + "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b\nContent-Type: application/octet-stream; name=a.asc\n\n-----BEGIN PGP MESSAGE-----\n\nabc\n--b--\n",
	} {
		_, err := mail.ReadEML(t.Context(), source("a.eml", []byte(content)))
		if _, encrypted := errors.AsType[*document.EncryptedError](err); !encrypted {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := mustRead(t, head+"Content-Type: multipart/mixed; boundary=o\n\n--o\n\nA note.\n--o\n"+sealed+"--o--\n")
	if text := markdown(got.Blocks); !strings.Contains(text, "A note.") {
		t.Errorf("text is %s", text)
	}
}

func TestSignedBlocksAreOpened(t *testing.T) {
	t.Parallel()
	const inner = "Content-Type: text/plain\r\n\r\nSigned text.\r\n"
	wrap := func(tag byte, parts ...string) string {
		content := strings.Join(parts, "")
		return string([]byte{tag, 0x82, byte(len(content) >> 8), byte(len(content))}) + content
	}
	open := func(tag byte, parts ...string) string {
		return string([]byte{tag, 0x80}) + strings.Join(parts, "") + "\x00\x00"
	}
	const signed, data = "\x06\x09\x2A\x86\x48\x86\xF7\x0D\x01\x07\x02", "\x06\x09\x2A\x86\x48\x86\xF7\x0D\x01\x07\x01"
	definite := wrap(0x30, signed, wrap(0xA0, wrap(0x30, "\x02\x01\x01", "\x31\x00", wrap(0x30, data, wrap(0xA0, wrap(0x04, inner))), "\x31\x00")))
	indefinite := open(0x30, signed, open(0xA0, open(0x30, "\x02\x01\x01", "\x31\x00", open(0x30, data, open(0xA0, open(0x24, wrap(0x04, inner[:20]), wrap(0x04, inner[20:])))), "\x31\x00")))
	for name, block := range map[string]string{"definite": definite, "indefinite": indefinite, "cut off": definite[:len(definite)-4]} {
		got := mustRead(t, head+"Content-Type: application/pkcs7-mime; smime-type=signed-data\n\n"+block)
		if text := markdown(got.Blocks); !strings.HasSuffix(text, "Signed text.") {
			t.Errorf("%s: text is %s", name, text)
		}
	}
}

func TestBrokenMails(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\n\n", "no header at all\n", "\x00\x01\x02", "X-A: b\n\nbody\n"} {
		_, err := mail.ReadEML(t.Context(), source("a.eml", []byte(content)))
		if _, damaged := errors.AsType[*document.DamagedError](err); !damaged {
			t.Errorf("%q: %v", content, err)
		}
	}
	got := mustRead(t, strings.TrimSuffix(mixed([3]string{"a.txt", "text/plain", "a"}), "--b--\n"))
	if got.Extra["damaged"] != "the mail ends before its last part does" {
		t.Errorf("extra is %v", got.Extra)
	}
	if got = mustRead(t, "From: a@x\rSubject: S\r\rold line ends\r"); markdown(got.Blocks) != "# S\n\nFrom: a@x\n\nold line ends" {
		t.Errorf("blocks are %+v", got.Blocks)
	}
	if got = mustRead(t, "Subject: S\n\n"); len(got.Blocks) != 1 {
		t.Errorf("blocks are %+v", got.Blocks)
	}
}
