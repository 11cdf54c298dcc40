package mail_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/mail"
)

func TestMailboxes(t *testing.T) {
	t.Parallel()
	const from = "From a@x Mon Jan  6 08:00:00 2025\n"
	for name, c := range map[string]struct{ content, want string }{
		"two": {from + "From: a@x\nSubject: A\n\n> From b\n>From c\n\nFrom Monday on.\n\n" + from + "From: b@x\n\nB\n",
			"# A\n\nFrom: a@x\n\n> From b\n\nFrom c\n\nFrom Monday on.\n\n# Mail 2\n\nFrom: b@x\n\nB"},
		"same subjects":   {from + "Subject: A\n\na\n\n" + from + "Subject: A\n\nb\n", "# A\n\na\n\n# A\n\nb"},
		"with a file":     {from + mixed([3]string{"a.md", "text/markdown", "x"}), "# S\n\nFrom: Ann <ann@example.org>\n\nbody\n\n## a.md\n\n### Notes\n\nx"},
		"no line before":  {"From: a@x\nSubject: A\n\na\n", "# A\n\nFrom: a@x\n\na"},
		"Windows":         {strings.ReplaceAll(from+"Subject: A\n\na\n\n"+from+"Subject: B\n\nb\n", "\n", "\r\n"), "# A\n\na\n\n# B\n\nb"},
		"one without":     {from + "lost\n\n" + from + "Subject: B\n\nb\n", "# B\n\nb"},
		"one encrypted":   {from + "Subject: A\n\n-----BEGIN PGP MESSAGE-----\nx\n\n" + from + "Subject: B\n\nb\n", "# A\n\n# B\n\nb"},
		"empty":           {"\n\n", ""},
		"nothing between": {from + "\n" + from + "Subject: B\n\nb\n", "# B\n\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := mail.ReadMbox(t.Context(), source("a.mbox", []byte(c.content)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, markdown(found.Blocks)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			taken := make(map[string]bool)
			for _, block := range found.Blocks {
				if block.Kind == document.Heading && taken[block.Anchor] {
					t.Errorf("two headings have the anchor %q", block.Anchor)
				}
				taken[block.Anchor] = true
			}
		})
	}
}

func TestMailboxesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, err := mail.ReadMbox(t.Context(), source("a.mbox", []byte("no mail\n")))
	if _, damaged := errors.AsType[*document.DamagedError](err); !damaged {
		t.Errorf("error is %v", err)
	}
	in := source("a.mbox", []byte(strings.Repeat("From a@x Mon Jan  6 08:00:00 2025\nSubject: A\n\nb\n\n", 200)))
	in.Limits.MaxEntries = 100
	_, err = mail.ReadMbox(t.Context(), in)
	if _, limit := errors.AsType[*document.LimitError](err); !limit {
		t.Errorf("error is %v", err)
	}
}
