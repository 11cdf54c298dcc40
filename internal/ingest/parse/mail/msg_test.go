package mail_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb/cfbtest"
	"github.com/magpie-search/magpie/internal/ingest/parse/mail"
)

func mustReadMSG(t *testing.T, content []byte) *document.Draft {
	t.Helper()
	found, err := mail.ReadMSG(t.Context(), source("a.msg", content))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOutlookMessages(t *testing.T) {
	t.Parallel()
	files := outlookFiles(t)
	for name, want := range map[string]string{
		"quay.msg": "# Quay wall closed – Kaimauer gesperrt\n\nFrom: Mara Lindqvist <mara@harbour.example.org>\nTo: Jürgen Öztürk <juergen@yard.example.net>\n" +
			"Cc: René Dupré <rene@pilots.example.fr>\nDate: Mon, 7 Apr 2025 08:30 +0000\n\nQuay wall\n\n" +
			"The southern quay wall – Kaimauer Süd – is closed; see the notice.berths 1 to 4no cranesberth 9 stays openBerthUntil1May\n\n係留は禁止です。\n\n" +
			"## berths.csv\n\nBerth;Length\n1;90\n9;140\n\n## Question about berth 9\n\nFrom: Jürgen Öztürk\n\nCan the barge lie at berth 9?\n\n> Which barge?\n\n" +
			"### barge.md\n\n#### Notes\n\n# Barge\n\nDraught 3.4 m.",
		"buoys-ja.msg": "# 灯浮標の移設\n\nFrom: 港湾管理局 <office@minato.example.jp>\nTo: 水先人会\nDate: Thu, 1 May 2025 08:00 +0900\n\n第三号灯浮標は六月に移設します。\n\nBuoy No. 3 &amp; its light.",
		"handover.msg": "# Handover of the night watch\n\nFrom: Night Watch\nTo: Day Watch, Mara Lindqvist\nDate: Mon, 7 Apr 2025 08:30 +0000\n\n**Handover**\n\n" +
			"Wind from the north-west, the dredger held.\n\n- barometer 989 hPa\n- lamp at pier nine replaced\n\nThe café stays closed.",
		"tug.msg": "# RE: Расписание буксиров\n\nFrom: Олег Петров <oleg@port.example.ru>\nDate: Mon, 7 Apr 2025 08:30 +0000\n\nБуксир «Буран» выходит в шесть утра.",
		"inspection.msg": "# Inspection of pier nine\n\nLocation: Pier nine, gate B\nStart: Mon, 7 Apr 2025 08:30 +0000\nEnd: Mon, 7 Apr 2025 10:00 +0000\n\n" +
			"Divers need the key of the pump house.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, markdown(mustReadMSG(t, files[name]).Blocks)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got := mustReadMSG(t, files["quay.msg"]).Extra
	want := map[string]any{
		"from": "Mara Lindqvist <mara@harbour.example.org>", "to": []string{"Jürgen Öztürk <juergen@yard.example.net>"}, "cc": []string{"René Dupré <rene@pilots.example.fr>"},
		"message_id": "quay-12@harbour.example.org", "in_reply_to": "question-9@yard.example.net",
		"attachments": []string{"berths.csv", "Question about berth 9", "barge.md"}, "attachments_skipped": []string{"sketch.bmp: embedded object"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOutlookMessagesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	files := outlookFiles(t)
	_, err := mail.ReadMSG(t.Context(), source("a.msg", files["encrypted-smime.msg"]))
	if _, encrypted := errors.AsType[*document.EncryptedError](err); !encrypted {
		t.Errorf("error is %v", err)
	}
	for name, content := range map[string][]byte{
		"cut": files["broken-cut.msg"], "empty": files["broken-empty.msg"], "nothing": nil, "text": []byte("text"),
		"other": cfbtest.Build(false, cfbtest.Stream{Path: "WordDocument", Content: []byte("x")}),
	} {
		_, err := mail.ReadMSG(t.Context(), source("a.msg", content))
		if _, damaged := errors.AsType[*document.DamagedError](err); !damaged {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFormsOfTheTextOfOutlookMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fill func(*message)
		want string
	}{
		"plain":             {func(m *message) { m.unicode("", 0x1000, "a\r\nb\r\n\r\nc\x00") }, "a\nb\n\nc"},
		"page as text":      {func(m *message) { m.unicode("", 0x1013, "<p>ä日") }, "ä日"},
		"page says less":    {func(m *message) { m.binary("", 0x1013, "<p>"); m.unicode("", 0x1000, "more") }, "more"},
		"page in Japanese":  {func(m *message) { m.long("", 0x3FDE, 50220); m.binary("", 0x1013, "<p>\x1b$BF|K\\\x1b(B") }, "日本"},
		"page and its zero": {func(m *message) { m.binary("", 0x1013, "<p>a\x00") }, "a"},
		"text of a report":  {func(m *message) { m.unicode("", 0x1001, "not delivered") }, "not delivered"},
		"from text": {func(m *message) {
			m.unicode("", 0x1000, "as it was")
			m.binary("", 0x1009, compress(`{\rtf1\ansi\fromtext \deff0 as it\par was}`))
		}, "as it was"},
		"from text alone":   {func(m *message) { m.binary("", 0x1009, compress(`{\rtf1\ansi\fromtext \deff0 as it was}`)) }, "as it was"},
		"broken formatting": {func(m *message) { m.unicode("", 0x1000, "plain"); m.binary("", 0x1009, "LZFu") }, "plain"},
		"other formatting":  {func(m *message) { m.unicode("", 0x1000, "plain"); m.binary("", 0x1009, strings.Repeat("x", 40)) }, "plain"},
		"clear signature": {func(m *message) {
			m.unicode("", 0x001A, "IPM.Note.SMIME.MultipartSigned")
			m.attachment("", 0, 1, "smime.p7m", "multipart/signed", "Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\nsigned text\r\n--b\r\nContent-Type: application/pkcs7-signature\r\n\r\nx\r\n--b--\r\n")
		}, "signed text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMessage("IPM.Note", "S")
			c.fill(m)
			// The class may have been set again: the last stream of a name is not read, so it goes first.
			if name == "clear signature" {
				m.streams = m.streams[1:]
			}
			if diff := cmp.Diff("# S\n\n"+c.want, markdown(mustReadMSG(t, m.build()).Blocks)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestContactsAndTasks(t *testing.T) {
	t.Parallel()
	m := newMessage("IPM.Contact", "")
	m.names("\x04\x20\x06\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46", 0x8083, 0x801B)
	m.unicode("", 0x3001, "Ann Berg")
	m.unicode("", 0x3A16, "Harbour Office")
	m.unicode("", 0x3A08, "+49 431 1")
	m.unicode("", 0x8000, "ann@harbour.example.org")
	m.unicode("", 0x8001, "Pier 9\r\nKiel")
	want := "# Ann Berg\n\nName: Ann Berg\nCompany: Harbour Office\nMail: ann@harbour.example.org\nPhone: +49 431 1\nAddress: Pier 9 Kiel"
	if diff := cmp.Diff(want, markdown(mustReadMSG(t, m.build()).Blocks)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m = newMessage("IPM.Task", "Grease the crane")
	m.names("\x03\x20\x06\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46", 0x8105, 0x8102)
	m.time("", 0x8000, written)
	m.value("", 0x8001, 0x0005, 0x3FE0000000000000)
	want = "# Grease the crane\n\nDue: Mon, 7 Apr 2025 08:30 +0000\nDone: 50 %"
	if diff := cmp.Diff(want, markdown(mustReadMSG(t, m.build()).Blocks)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMessagesInMessagesEndAtTheLimit(t *testing.T) {
	t.Parallel()
	m := newMessage("IPM.Note", "S")
	path := ""
	for i := range 8 {
		path = m.attachment(path, 0, 5, "", "", "") + "/__substg1.0_3701000D"
		m.unicode(path, 0x0037, fmt.Sprintf("S%d", i))
	}
	got := mustReadMSG(t, m.build())
	if want := "# S\n\n## S0\n\n### S1\n\n#### S2\n\n##### S3"; markdown(got.Blocks) != want {
		t.Errorf("text is %s", markdown(got.Blocks))
	}
	if skipped := got.Extra["attachments_skipped"]; !cmp.Equal(skipped, []string{"attachment: messages stand more than 4 deep in messages"}) {
		t.Errorf("skipped are %v", skipped)
	}
}

func TestOfficeCorpus(t *testing.T) {
	t.Parallel()
	const folder = "../../../../../shared/corpora/office/files"
	for file, phrase := range map[string]string{
		"testMSG.msg": "making the type detection code more modular", "testMSG_chinese.msg": "中文測試", "testRFC822_dkim.eml": "We lost the game. Are you hungry yet?",
	} {
		content, err := os.ReadFile(filepath.Join(folder, file))
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("the shared corpora are not beside this checkout")
		}
		if err != nil {
			t.Fatal(err)
		}
		read := mail.ReadMSG
		if filepath.Ext(file) == ".eml" {
			read = mail.ReadEML
		}
		found, err := read(t.Context(), source(file, content))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if text := strings.Join(strings.Fields(markdown(found.Blocks)), " "); !strings.Contains(text, phrase) {
			t.Errorf("%s lacks %q:\n%s", file, phrase, text)
		}
	}
}
