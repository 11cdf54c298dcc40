package odf

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
	"github.com/magpie-search/magpie/internal/ingest/parse/zipfile"
)

// ReadText reads a text document (.odt, .ott, .fodt). Pages is the number that the file declares. Blocks have pages if
// the file contains page breaks. The error is a *document.EncryptedError, a *document.DamagedError, a
// *document.LimitError, or that of the context. The readable part of a damaged file is returned, and Extra["damaged"]
// tells what is missing.
//
// The kind of a document follows from its content, in all functions of the package. They only name the file differently
// in errors.
func ReadText(ctx context.Context, in document.Source) (*document.Draft, error) {
	return read(ctx, in, "OpenDocument text")
}

// ReadSpreadsheet reads a spreadsheet (.ods, .ots, .fods). Each sheet is a page with a heading and its tables. A cell
// has its displayed text, or its value if the file has no text. Errors are those of ReadText.
func ReadSpreadsheet(ctx context.Context, in document.Source) (*document.Draft, error) {
	return read(ctx, in, "OpenDocument spreadsheet")
}

// ReadPresentation reads a presentation (.odp, .otp, .fodp) or a drawing (.odg). Each slide is a page: a heading, its
// shapes from top to bottom and from left to right, and its notes. Errors are those of ReadText.
func ReadPresentation(ctx context.Context, in document.Source) (*document.Draft, error) {
	return read(ctx, in, "OpenDocument presentation")
}

// A reader reads a file.
type reader struct {
	in         document.Source
	format     string
	archive    *zipfile.Archive // nil for flat XML
	styles     *styles
	draft      *document.Draft
	walk       *walker
	margins    margins
	objects    map[string]bool // embedded objects that were read
	inManifest map[string]bool // parts that the manifest lists, nil if it is unreadable
	depth      int             // how deep the current object is nested
}

// maxObjects is how deep objects are nested.
const maxObjects = 3

func read(ctx context.Context, in document.Source, format string) (*document.Draft, error) {
	r := &reader{
		in: in, format: format, styles: newStyles(), objects: make(map[string]bool),
		draft: &document.Draft{Meta: make(map[string]any), Extra: make(map[string]any)},
	}
	r.walk = newWalker(ctx, r)
	var err error
	if isXML(in.Content) {
		err = r.scan(bytes.NewReader(in.Content), "it", r.whole)
	} else {
		err = r.readPackage()
	}
	return r.finish(err)
}

// isXML reports whether content is flat XML.
func isXML(content []byte) bool {
	content = bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF"))
	content = bytes.TrimLeft(content[:min(len(content), 1024)], " \t\r\n")
	return bytes.HasPrefix(content, []byte("<")) || bytes.HasPrefix(content, []byte("\xFF\xFE<")) ||
		bytes.HasPrefix(content, []byte("\xFE\xFF\x00<"))
}

func (r *reader) readPackage() error {
	archive, err := zipfile.Open(r.in.Content, r.format, r.in.Limits, r.in.Budget)
	if err != nil {
		return err
	}
	r.archive = archive
	isEncrypted, err := r.isEncrypted()
	if err != nil {
		return err
	}
	if isEncrypted {
		return &document.EncryptedError{Format: r.format}
	}
	for _, part := range []struct {
		name string
		read func(*xmlscan.Scanner) error
	}{{"meta.xml", r.whole}, {"styles.xml", r.whole}} {
		if err := r.part(part.name, part.read); err != nil && !errors.Is(err, fs.ErrNotExist) && !isDamage(err) {
			return err // metadata and styles are optional
		}
	}
	r.styles.nextFile()
	err = r.part("content.xml", r.whole)
	if errors.Is(err, fs.ErrNotExist) {
		if r.inManifest["styles.xml"] && !r.inManifest["content.xml"] {
			return nil // a template that only has styles
		}
		return &document.DamagedError{Format: r.format, Detail: "its content.xml is missing", Cause: err}
	}
	return err
}

// isDamage reports whether an error only concerns one part of the file.
func isDamage(err error) bool {
	_, damaged := errors.AsType[*document.DamagedError](err)
	return damaged
}

// part reads a part of the package. The error is fs.ErrNotExist if there is no such part.
func (r *reader) part(name string, read func(*xmlscan.Scanner) error) error {
	content, err := r.archive.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // only read from
	return r.scan(content, name, read)
}

// scan calls a function with a scanner. The function may return io.EOF at the end. The error is a
// *document.DamagedError if the content is not well-formed XML, or that of the function.
func (r *reader) scan(content io.Reader, name string, read func(*xmlscan.Scanner) error) error {
	err := read(xmlscan.New(content))
	if syntax, ok := errors.AsType[*xmlscan.SyntaxError](err); ok {
		return &document.DamagedError{Format: r.format, Detail: name + " is " + syntax.Error(), Cause: err}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// isEncrypted reports whether the package needs a password (ODF 1.2 part 3, section 3.4; ODF 1.4 for whole packages).
func (r *reader) isEncrypted() (bool, error) {
	if r.archive.Has("encrypted-package") {
		return true, nil
	}
	isEncrypted, listed := false, make(map[string]bool)
	err := r.part("META-INF/manifest.xml", func(s *xmlscan.Scanner) error {
		path := ""
		for {
			kind, err := r.walk.next(s)
			if err != nil {
				return err
			}
			if kind != xmlscan.Start {
				continue
			}
			switch s.Name() {
			case "file-entry":
				if path = s.Attr("full-path"); path == "content.xml" || path == "styles.xml" {
					listed[path] = true
				}
			case "encryption-data":
				isEncrypted = isEncrypted || path == "content.xml" || path == "encrypted-package"
			}
		}
	})
	if err != nil && (errors.Is(err, fs.ErrNotExist) || isDamage(err)) {
		return isEncrypted, nil
	}
	r.inManifest = listed
	return isEncrypted, err
}

// whole reads a document, or a part of one.
func (r *reader) whole(s *xmlscan.Scanner) error {
	for {
		kind, err := r.walk.next(s)
		if err != nil {
			return err
		}
		if kind != xmlscan.Start {
			continue
		}
		if err := r.topic(s); err != nil {
			return err
		}
	}
}

// topic handles an element at the top of a document. It reads the element, or returns inside of a container.
func (r *reader) topic(s *xmlscan.Scanner) error {
	switch s.Name() {
	case "document", "document-content", "document-styles", "document-meta", "body":
		return nil
	case "meta":
		if s.Prefix() == "office" {
			return r.meta(s)
		}
	case "styles", "automatic-styles":
		return r.styles.read(r.walk, s, s.Name() == "automatic-styles")
	case "master-styles":
		return r.masters(s)
	case "text":
		return r.text(s)
	case "spreadsheet":
		return r.spreadsheet(s)
	case "presentation", "drawing":
		return r.presentation(s)
	case "chart":
		r.walk.inChart = true
		return r.walk.flow(s)
	case "image":
		return r.walk.flow(s)
	}
	return r.walk.skip(s)
}

// finish returns the draft of the blocks before the end or the error.
func (r *reader) finish(err error) (*document.Draft, error) {
	if err != nil && !isDamage(err) {
		return nil, err
	}
	r.walk.flush()
	r.walk.flushNotes()
	r.draft.Blocks = r.walk.blocks
	for _, text := range r.margins.texts {
		r.draft.Blocks = append(r.draft.Blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
	if err == nil {
		return r.draft, nil
	}
	for i := range r.walk.blocks {
		if !r.walk.blocks[i].Blank() {
			damage, _ := errors.AsType[*document.DamagedError](err)
			r.draft.Extra["damaged"] = "what follows is missing: " + damage.Detail
			return r.draft, nil
		}
	}
	return nil, err
}
