package epub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
	"github.com/magpie-search/magpie/internal/ingest/parse/zipfile"
)

// format is the name of the format in errors.
const format = "EPUB book"

// Read reads a book: its chapters in reading order, then those outside of it. A book has no pages. Damaged chapters are
// left out, and Extra["damaged"] contains their number. The error is a *document.EncryptedError if a chapter is encrypted,
// a *document.DamagedError if nothing is readable, a *document.LimitError, or that of the context.
func Read(ctx context.Context, in document.Source) (*document.Draft, error) {
	archive, err := zipfile.Open(in.Content, format, in.Limits, in.Budget)
	if err != nil {
		return nil, err
	}
	b := &book{
		ctx: ctx, in: in, archive: archive, anchors: make(document.Anchors), labels: make(map[string]string),
		draft: &document.Draft{Meta: make(map[string]any), Extra: make(map[string]any), Prose: true},
	}
	if err := b.open(); err != nil {
		return nil, err
	}
	locked, err := b.encrypted()
	if err != nil {
		return nil, err
	}
	chapters := b.chapters()
	for _, chapter := range chapters {
		if locked[key(chapter.path)] {
			return nil, &document.EncryptedError{Format: format}
		}
	}
	for _, chapter := range chapters {
		if err := b.chapter(chapter); err != nil {
			return nil, err
		}
	}
	return b.finish(len(chapters))
}

// A book is a book that is being read.
type book struct {
	ctx     context.Context
	in      document.Source
	archive *zipfile.Archive
	pack    opf
	titles  map[string]title            // of files, by key
	places  map[string]map[string]title // of places in files, by the key of the file and the id of the place
	entries int                         // in the table of contents
	draft   *document.Draft
	anchors document.Anchors
	labels  map[string]string // of notes, by the key of their file, "#" and their id
	size    int
	damaged int
	steps   int
}

// key returns a path in the form in which paths are compared.
func key(name string) string { return strings.ToLower(strings.TrimPrefix(path.Clean("/"+name), "/")) }

// isDamage reports whether an error only concerns one part of the book.
func isDamage(err error) bool {
	_, damaged := errors.AsType[*document.DamagedError](err)
	return damaged || errors.Is(err, fs.ErrNotExist)
}

// scan calls a function for each element of a part. The error is fs.ErrNotExist if there is no such part, a
// *document.DamagedError if it is not well-formed, or that of the function.
func (b *book) scan(name string, visit func(*xmlscan.Scanner) error) error {
	content, err := b.archive.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // only read from
	s := xmlscan.New(content)
	for {
		kind, err := b.next(s)
		if err == nil && kind == xmlscan.Start {
			err = visit(s)
		}
		switch _, broken := errors.AsType[*xmlscan.SyntaxError](err); {
		case errors.Is(err, io.EOF):
			return nil
		case broken:
			return &document.DamagedError{Format: format, Detail: path.Base(name) + " is broken", Cause: err}
		case err != nil:
			return err
		}
	}
}

// next reads the next token, unless the context has ended.
func (b *book) next(s *xmlscan.Scanner) (xmlscan.Kind, error) {
	b.steps++
	if b.steps%1024 == 0 && b.ctx.Err() != nil {
		return 0, b.expired()
	}
	return s.Next()
}

func (b *book) expired() error { return fmt.Errorf("read %s: %w", format, b.ctx.Err()) }

// open reads the package document and the table of contents.
func (b *book) open() error {
	name, err := b.packagePath()
	if err != nil {
		return err
	}
	if name != "" {
		if err := b.readPackage(name); err != nil && !isDamage(err) {
			return err
		}
	}
	b.pack.describe(b.draft.Meta)
	return b.readContents()
}

// packagePath returns the path of the package document, "" if there is none.
func (b *book) packagePath() (string, error) {
	name := ""
	err := b.scan("META-INF/container.xml", func(s *xmlscan.Scanner) error {
		if s.Name() == "rootfile" && name == "" {
			if full := unescape(s.Attr("full-path")); b.archive.Has(full) {
				name = full
			}
		}
		return nil
	})
	if err != nil && !isDamage(err) || name != "" {
		return name, err
	}
	for _, file := range b.archive.Files() {
		if strings.EqualFold(path.Ext(file.Name), ".opf") && (name == "" || strings.Count(file.Name, "/") < strings.Count(name, "/")) {
			name = file.Name
		}
	}
	return name, nil
}

// encrypted returns the keys of the encrypted files. Obfuscated fonts (EPUB Open Container Format 3.3, section 4.2) do
// not count.
func (b *book) encrypted() (map[string]bool, error) {
	found := make(map[string]bool)
	algorithm := ""
	err := b.scan("META-INF/encryption.xml", func(s *xmlscan.Scanner) error {
		switch s.Name() {
		case "EncryptedData":
			algorithm = ""
		case "EncryptionMethod":
			if algorithm == "" {
				algorithm = s.Attr("Algorithm")
			}
		case "CipherReference":
			switch algorithm {
			case "http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC":
			default:
				found[key(unescape(s.Attr("URI")))] = true
			}
		}
		return nil
	})
	if err != nil && !isDamage(err) {
		return nil, err
	}
	return found, nil
}

// chapters returns the chapters in order. Without a usable package document these are all pages of the book.
func (b *book) chapters() []item {
	var first, last []item
	seen := make(map[string]bool)
	for _, ref := range b.pack.spine {
		chapter, found := b.pack.page(ref.id)
		if !found || seen[key(chapter.path)] {
			continue
		}
		seen[key(chapter.path)] = true
		if ref.isOutside {
			last = append(last, chapter)
		} else {
			first = append(first, chapter)
		}
	}
	if chapters := append(first, last...); len(chapters) > 0 {
		return chapters
	}
	for _, file := range b.archive.Files() {
		switch strings.ToLower(path.Ext(file.Name)) {
		case ".xhtml", ".html", ".htm":
			first = append(first, item{path: file.Name, isNav: key(file.Name) == key(b.pack.nav)})
		}
	}
	slices.SortStableFunc(first, func(a, c item) int { return strings.Compare(a.path, c.path) })
	return first
}

// chapter reads a chapter and adds its blocks.
func (b *book) chapter(chapter item) error {
	if b.ctx.Err() != nil {
		return b.expired()
	}
	if chapter.isNav {
		return nil
	}
	content, err := b.archive.Read(chapter.path)
	if err != nil {
		if !isDamage(err) {
			return err
		}
		b.damaged++
		return nil
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil
	}
	p := b.prepare(chapter.path, content)
	if b.ctx.Err() != nil {
		return b.expired()
	}
	if p.isContents() {
		return nil
	}
	name := strings.TrimSuffix(path.Base(chapter.path), path.Ext(chapter.path)) + ".xhtml"
	draft, err := b.in.Nested(b.ctx, name, "application/xhtml+xml", p.out.Bytes())
	if err != nil {
		if _, limit := errors.AsType[*document.LimitError](err); limit || b.ctx.Err() != nil {
			return err
		}
		b.damaged++
		return nil
	}
	return b.add(chapter, draft.Blocks)
}

// finish returns the draft.
func (b *book) finish(chapters int) (*document.Draft, error) {
	switch {
	case chapters == 0:
		return nil, &document.DamagedError{Format: format, Detail: "it has no chapters"}
	case b.damaged > 0 && len(b.draft.Blocks) == 0:
		return nil, &document.DamagedError{Format: format, Detail: fmt.Sprintf("%d of its %d chapters are missing or broken, and the others have no text", b.damaged, chapters)}
	case b.damaged > 0:
		b.draft.Extra["damaged"] = fmt.Sprintf("%d of %d chapters are missing or broken", b.damaged, chapters)
	}
	return b.draft, nil
}
