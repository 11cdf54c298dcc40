package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/rtf"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	// maxSkipped is how many read and how many skipped files are named.
	maxSkipped = 50
	// maxLines is how many lines a text may have. Millions of tiny lines need many times their length in memory.
	maxLines = 500_000
	// blockCost is the cost of a block without its text.
	blockCost = 48
)

// A writer makes a document of letters.
type writer struct {
	ctx     context.Context
	in      document.Source
	anchors document.Anchors
	blocks  []document.Block
	size    int
	// hasText is set if a letter or file has a text, encrypted if one needs a key.
	hasText, encrypted bool
	files, skipped     []string
	damage             []string
}

func newWriter(ctx context.Context, in document.Source) *writer {
	return &writer{ctx: ctx, in: in, anchors: make(document.Anchors)}
}

// add adds the blocks of a part, with their headings lowered by some levels and without pages.
func (w *writer) add(blocks []document.Block, levels int) error {
	for _, block := range blocks {
		if block.Blank() {
			continue
		}
		block.Page = 0
		if block.Kind == document.Heading {
			block.Level = min(block.Level+levels, 6)
			block.Anchor = w.anchors.Take("", block.Text)
		}
		w.size += block.Size() + blockCost
		w.blocks = append(w.blocks, block)
	}
	if w.size > w.in.Limits.MaxText {
		return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", w.in.Limits.MaxText)}
	}
	return nil
}

func (w *writer) heading(level int, text string) error {
	text = safetext.TruncateBytes(strings.Join(strings.Fields(text), " "), 1000)
	if text == "" {
		return nil
	}
	return w.add([]document.Block{{Kind: document.Heading, Level: level, Text: text}}, 0)
}

// letter adds a mail below a heading of a level: its facts, its texts, and its files below headings of the next level.
func (w *writer) letter(l *letter, level int) error {
	if err := w.heading(level, l.subject); err != nil {
		return err
	}
	var facts []string
	for _, f := range l.facts {
		facts = append(facts, f.label+": "+f.value)
	}
	if err := w.add([]document.Block{{Kind: document.Paragraph, Text: strings.Join(facts, "\n")}}, 0); err != nil {
		return err
	}
	shown := make(map[string]bool)
	for i := range l.bodies {
		blocks, err := w.body(&l.bodies[i])
		if err != nil {
			return err
		}
		for id := range references(l.bodies[i].html) {
			shown[id] = true
		}
		before := len(w.blocks)
		if err := w.add(blocks, level); err != nil {
			return err
		}
		w.hasText = w.hasText || len(w.blocks) > before
	}
	w.encrypted = w.encrypted || l.encrypted
	if l.damage != "" {
		w.damage = append(w.damage, l.damage)
	}
	for i := range l.files {
		f := &l.files[i]
		f.inline = f.inline || f.id != "" && shown[f.id]
		if err := w.file(f, level+1); err != nil {
			return err
		}
	}
	return nil
}

// body returns the text of a mail: the HTML page, unless the plain text is longer. Programs that write both leave out
// of the plain text what it cannot show. But some write a text that is only for readers without HTML, or leave the page
// empty. The plain text is used if it has a quarter more letters than the page, and 100 more.
func (w *writer) body(b *body) ([]document.Block, error) {
	if lines := strings.Count(b.plain, "\n"); lines > maxLines {
		return nil, &document.LimitError{Detail: fmt.Sprintf("text has %d lines, the limit is %d", lines, maxLines)}
	}
	plain, encrypted := plainBlocks(b.plain, b.flowed, b.delSp)
	w.encrypted = w.encrypted || encrypted
	rich, err := w.richBody(b)
	if err != nil {
		return nil, err
	}
	richLetters := blockLetters(rich)
	if plainLetters := blockLetters(plain); len(rich) == 0 || richLetters == 0 || plainLetters > richLetters+richLetters/4+100 {
		return plain, nil
	}
	return rich, nil
}

// richBody returns the form of a text that has a structure. It returns no blocks if that is unreadable.
func (w *writer) richBody(b *body) ([]document.Block, error) {
	switch {
	case len(b.html) > 0:
		draft, err := w.in.Nested(w.ctx, "body.html", b.htmlKind, b.html)
		if err == nil {
			return draft.Blocks, nil
		}
		if fatal := w.fatal(err); fatal != nil {
			return nil, fatal
		}
		if strings.TrimSpace(b.plain) == "" {
			blocks, _ := plainBlocks(markupText(decodeText(b.html, "")), false, false)
			return blocks, nil
		}
	case len(b.rtf) > 0:
		in := w.in
		in.Name, in.MediaType, in.Content = "body.rtf", "application/rtf", b.rtf
		draft, err := rtf.Read(w.ctx, in)
		if err == nil {
			return draft.Blocks, nil
		}
		return nil, w.fatal(err)
	}
	return nil, nil
}

// fatal returns the error if it ends the whole file: the end of the context or of the budget.
func (w *writer) fatal(err error) error {
	if w.ctx.Err() != nil {
		return fmt.Errorf("parse mail: %w", w.ctx.Err())
	}
	if limit := (*document.LimitError)(nil); errors.As(err, &limit) {
		return w.in.Budget.Spend(0) // fails if the budget is spent
	}
	return nil
}

// file adds a file below a heading of a level. A file that is not read is named.
func (w *writer) file(f *file, level int) error {
	if f.reason != "" {
		w.addSkipped(f.title(), f.reason)
		return nil
	}
	if f.letter != nil {
		title := f.title()
		w.addFile(title)
		if err := w.heading(level, title); err != nil {
			return err
		}
		if f.letter.subject == title {
			f.letter.subject = "" // the heading shows it
			return w.letter(f.letter, level)
		}
		return w.letter(f.letter, min(level+1, 6))
	}
	content := f.content()
	if isArmoured(content) {
		w.encrypted = true
		w.addSkipped(f.title(), "encrypted")
		return nil
	}
	name := f.title()
	if f.kind == "message/rfc822" && !strings.HasSuffix(strings.ToLower(name), ".eml") {
		name += ".eml" // the name is the subject, which may end like another file name
	}
	draft, err := w.in.Nested(w.ctx, name, f.kind, content)
	if err == nil && hasText(draft.Blocks) {
		w.hasText = true
		title, blocks := f.title(), draft.Blocks
		if inner, found := draft.Meta["title"].(string); found && f.name == "" && inner != "" {
			title = inner
		}
		w.addFile(title)
		if err := w.heading(level, title); err != nil {
			return err
		}
		if blocks[0].Kind == document.Heading && blocks[0].Level == 1 && blocks[0].Text == title {
			return w.add(blocks[1:], level-1) // the heading shows it
		}
		return w.add(blocks, level)
	}
	if err == nil {
		err = &document.UnsupportedError{Reason: "no text"}
	}
	if fatal := w.fatal(err); fatal != nil {
		return fatal
	}
	if unsupported := (*document.UnsupportedError)(nil); errors.As(err, &unsupported) && f.inline && strings.HasPrefix(f.kind, "image/") {
		return nil // a logo
	}
	w.addSkipped(f.title(), err.Error())
	return nil
}

func hasText(blocks []document.Block) bool {
	for i := range blocks {
		if !blocks[i].Blank() {
			return true
		}
	}
	return false
}

// isArmoured reports whether a file is encrypted by OpenPGP, in its text form.
func isArmoured(content []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(content[:min(len(content), 200)]), []byte("-----BEGIN PGP MESSAGE-----"))
}

func (w *writer) addFile(name string) {
	if len(w.files) < maxSkipped {
		w.files = append(w.files, name)
	}
}

func (w *writer) addSkipped(name, reason string) {
	if len(w.skipped) < maxSkipped {
		w.skipped = append(w.skipped, name+": "+safetext.TruncateBytes(strings.Join(strings.Fields(reason), " "), 200))
	}
}

// draft returns the document.
func (w *writer) draft() *document.Draft {
	found := &document.Draft{Blocks: w.blocks, Meta: make(map[string]any), Extra: make(map[string]any), Prose: true, DocType: docType}
	if len(w.files) > 0 {
		found.Extra["attachments"] = w.files
	}
	if len(w.skipped) > 0 {
		found.Extra["attachments_skipped"] = w.skipped
	}
	if len(w.damage) > 0 {
		found.Extra["damaged"] = strings.Join(w.damage, "; ")
	}
	return found
}

const docType = "email"

// single returns the document of a file with one mail.
func (w *writer) single(l *letter) (*document.Draft, error) {
	if err := w.letter(l, 1); err != nil {
		return nil, err
	}
	if w.encrypted && !w.hasText {
		return nil, &document.EncryptedError{Format: formatName}
	}
	found := w.draft()
	set := func(facts map[string]any, key, value string) {
		if value != "" {
			facts[key] = value
		}
	}
	set(found.Meta, "title", l.subject)
	set(found.Meta, "author", l.author)
	if !l.created.IsZero() {
		found.Meta["created"] = l.created
	}
	set(found.Extra, "from", l.from)
	set(found.Extra, "message_id", l.messageID)
	set(found.Extra, "in_reply_to", l.inReplyTo)
	for key, list := range map[string][]string{"to": l.to, "cc": l.cc} {
		if len(list) > 0 {
			found.Extra[key] = list
		}
	}
	return found, nil
}
