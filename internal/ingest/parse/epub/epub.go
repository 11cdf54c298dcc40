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

// format is what the file is called in errors.
const format = "EPUB book"

// Read reads a book: its chapters in reading order, those outside of it at the end. Pages are not counted: a book has none
// of its own. The error is *document.EncryptedError where chapters are under a lock, *document.DamagedError where nothing
// can be read, or *document.LimitError; of a book of which some chapters are broken, the others are given, and
// Extra["damaged"] says how many are missing.
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
	locked, err := b.locked()
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

// book is a book that is being read.
type book struct {
	ctx     context.Context
	in      document.Source
	archive *zipfile.Archive
	pack    opf
	titles  map[string]title            // of files, by key
	places  map[string]map[string]title // of places in files, by the key of the file and the id of the place
	entries int                         // of the table of contents
	draft   *document.Draft
	anchors document.Anchors
	labels  map[string]string // of notes, by the key of their file and their fragment
	size    int
	broken  int
	steps   int
}

// key is a path in the form in which paths are compared.
func key(name string) string { return strings.ToLower(strings.TrimPrefix(path.Clean("/"+name), "/")) }

// spoilt reports an error that is about one part of the book, and not about limits, a password or the end of time.
func spoilt(err error) bool {
	_, damaged := errors.AsType[*document.DamagedError](err)
	return damaged || errors.Is(err, fs.ErrNotExist)
}

// scan reads a part as XML, each element by visit, to its end or to where it is broken. A part that is not there is
// fs.ErrNotExist.
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

// next goes on to the next token, as long as there is time.
func (b *book) next(s *xmlscan.Scanner) (xmlscan.Kind, error) {
	b.steps++
	if b.steps%1024 == 0 && b.ctx.Err() != nil {
		return 0, b.expired()
	}
	return s.Next()
}

func (b *book) expired() error { return fmt.Errorf("read %s: %w", format, b.ctx.Err()) }

// open finds and reads the package document and the table of contents.
func (b *book) open() error {
	name, err := b.packagePath()
	if err != nil {
		return err
	}
	if name != "" {
		if err := b.readPackage(name); err != nil && !spoilt(err) {
			return err
		}
	}
	b.pack.describe(b.draft.Meta)
	return b.readContents()
}

// packagePath returns the path of the package document, "" where the book has none.
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
	if err != nil && !spoilt(err) || name != "" {
		return name, err
	}
	for _, file := range b.archive.Files() {
		if strings.EqualFold(path.Ext(file.Name), ".opf") && (name == "" || strings.Count(file.Name, "/") < strings.Count(name, "/")) {
			name = file.Name
		}
	}
	return name, nil
}

// locked returns the keys of the files that are encrypted. Fonts whose use is only hindered by exchanging some of their
// bytes (EPUB Open Container Format 3.3, section 4.2) do not count.
func (b *book) locked() (map[string]bool, error) {
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
	if err != nil && !spoilt(err) {
		return nil, err
	}
	return found, nil
}

// chapters returns what is to be read, in order. Where the package document tells nothing, it is every page of the book.
func (b *book) chapters() []item {
	var first, last []item
	seen := make(map[string]bool)
	for _, ref := range b.pack.spine {
		chapter, found := b.pack.page(ref.id)
		if !found || seen[key(chapter.path)] {
			continue
		}
		seen[key(chapter.path)] = true
		if ref.aside {
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

// chapter reads one chapter and adds its blocks.
func (b *book) chapter(chapter item) error {
	if b.ctx.Err() != nil {
		return b.expired()
	}
	if chapter.isNav {
		return nil
	}
	content, err := b.archive.Read(chapter.path)
	if err != nil {
		if !spoilt(err) {
			return err
		}
		b.broken++
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
		b.broken++
		return nil
	}
	return b.add(chapter, draft.Blocks)
}

// finish makes the draft of what was read.
func (b *book) finish(chapters int) (*document.Draft, error) {
	switch {
	case chapters == 0:
		return nil, &document.DamagedError{Format: format, Detail: "it has no chapters"}
	case b.broken > 0 && len(b.draft.Blocks) == 0:
		return nil, &document.DamagedError{Format: format, Detail: fmt.Sprintf("%d of its %d chapters are missing or broken, and the others have no text", b.broken, chapters)}
	case b.broken > 0:
		b.draft.Extra["damaged"] = fmt.Sprintf("%d of %d chapters are missing or broken", b.broken, chapters)
	}
	return b.draft, nil
}
