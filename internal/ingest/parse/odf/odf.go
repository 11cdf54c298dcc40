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

// ReadText reads a text document (.odt, .ott, .fodt). Its Pages are those that its author's program counted; blocks have a
// page where that program wrote down the breaks. The error is *document.EncryptedError, *document.DamagedError or
// *document.LimitError; of a file that is damaged only in part, what can be read is given, and Extra["damaged"] says what
// is missing. Which kind of document it is, the content decides, here and in the other functions: they differ in what a
// file is called in errors.
func ReadText(ctx context.Context, in document.Source) (*document.Draft, error) {
	return read(ctx, in, "OpenDocument text")
}

// ReadSpreadsheet reads a spreadsheet (.ods, .ots, .fods). Each sheet is a page with a heading and its tables; cells are
// text as it is shown, and where none was stored their value. The errors are those of ReadText.
func ReadSpreadsheet(ctx context.Context, in document.Source) (*document.Draft, error) {
	return read(ctx, in, "OpenDocument spreadsheet")
}

// ReadPresentation reads a presentation (.odp, .otp, .fodp) or a drawing (.odg). Each slide is a page: a heading, its
// shapes from top to bottom and from left to right, and its notes. The errors are those of ReadText.
func ReadPresentation(ctx context.Context, in document.Source) (*document.Draft, error) {
	return read(ctx, in, "OpenDocument presentation")
}

// reader reads one file.
type reader struct {
	in      document.Source
	format  string
	archive *zipfile.Archive // nil for flat XML
	styles  *styles
	draft   *document.Draft
	walk    *walker
	margins margins
	objects map[string]bool // embedded objects that were read
	listed  map[string]bool // parts that the manifest names, nil where it cannot be read
	depth   int             // how deep the object at hand stands in others
}

// maxObjects is how deep embedded objects are followed into each other.
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
		err = r.packed()
	}
	return r.finish(err)
}

// isXML reports content that begins as XML does: a file without a package around it.
func isXML(content []byte) bool {
	content = bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF"))
	content = bytes.TrimLeft(content[:min(len(content), 1024)], " \t\r\n")
	return bytes.HasPrefix(content, []byte("<")) || bytes.HasPrefix(content, []byte("\xFF\xFE<")) ||
		bytes.HasPrefix(content, []byte("\xFE\xFF\x00<"))
}

func (r *reader) packed() error {
	archive, err := zipfile.Open(r.in.Content, r.format, r.in.Limits, r.in.Budget)
	if err != nil {
		return err
	}
	r.archive = archive
	locked, err := r.encrypted()
	if err != nil {
		return err
	}
	if locked {
		return &document.EncryptedError{Format: r.format}
	}
	for _, part := range []struct {
		name string
		read func(*xmlscan.Scanner) error
	}{{"meta.xml", r.whole}, {"styles.xml", r.whole}} {
		if err := r.part(part.name, part.read); err != nil && !errors.Is(err, fs.ErrNotExist) && !spoilt(err) {
			return err // a file is not lost for its properties or its styles
		}
	}
	r.styles.nextFile()
	err = r.part("content.xml", r.whole)
	if errors.Is(err, fs.ErrNotExist) {
		if r.listed["styles.xml"] && !r.listed["content.xml"] {
			return nil // a template that is only its styles
		}
		return &document.DamagedError{Format: r.format, Detail: "its content.xml is missing", Cause: err}
	}
	return err
}

// spoilt reports an error that is about one part of the file, and not about limits, a password or the end of time.
func spoilt(err error) bool {
	_, damaged := errors.AsType[*document.DamagedError](err)
	return damaged
}

// part reads a part of the package as XML; fs.ErrNotExist when it is not there.
func (r *reader) part(name string, read func(*xmlscan.Scanner) error) error {
	content, err := r.archive.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // only read from
	return r.scan(content, name, read)
}

// scan reads XML. What is no XML is a *document.DamagedError; that the function ends with io.EOF is no error.
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

// encrypted reports a package whose content needs a password (ODF 1.2 part 3, section 3.4; ODF 1.4 for whole packages).
func (r *reader) encrypted() (bool, error) {
	if r.archive.Has("encrypted-package") {
		return true, nil
	}
	locked, listed := false, make(map[string]bool)
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
				locked = locked || path == "content.xml" || path == "encrypted-package"
			}
		}
	})
	if err != nil && (errors.Is(err, fs.ErrNotExist) || spoilt(err)) {
		return locked, nil
	}
	r.listed = listed
	return locked, err
}

// whole reads a document, or the part of one that a file of a package holds.
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

// topic reads what stands at the top of a document. The element just begun is read to its end, or gone into where it
// only holds others.
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
		r.walk.chart = true
		return r.walk.flow(s)
	case "image":
		return r.walk.flow(s)
	}
	return r.walk.skip(s)
}

// finish makes the draft of what was read before the end or the error.
func (r *reader) finish(err error) (*document.Draft, error) {
	if err != nil && !spoilt(err) {
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
