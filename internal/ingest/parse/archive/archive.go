package archive

import (
	"archive/tar"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/zipfile"
)

// An Entry is a file in an archive.
type Entry struct {
	// Path is separated by slashes, stays inside the archive and is unique.
	Path string
	// Modified is zero if the archive has no time.
	Modified time.Time
	// Content is the whole file. The visitor may keep it. It is nil if Err is set.
	Content []byte
	// Err is set if this entry cannot be read, but others can.
	Err error
}

// Walk calls a function for each file of an archive in order, and ends with its first error. For an archive that is
// damaged, encrypted or exceeds a limit, it returns an error of package document, even after calls of the function. An
// entry that alone is damaged, encrypted or too large has its Err set. Folders, links and the metadata of operating
// systems and version control are left out.
func Walk(ctx context.Context, in document.Source, visit func(Entry) error) error {
	w := &walker{ctx: ctx, in: in, visit: visit, seen: make(map[string]bool)}
	switch {
	case bytes.HasPrefix(in.Content, []byte("PK")):
		return w.zip()
	case bytes.HasPrefix(in.Content, []byte("\x1F\x8B")):
		r, err := gzip.NewReader(w.source())
		if err != nil {
			return damaged("gzip file", err)
		}
		return w.compressed(r, r.Name, "gzip file")
	case bytes.HasPrefix(in.Content, []byte("BZh")):
		return w.compressed(bzip2.NewReader(w.source()), "", "bzip2 file")
	case isTar(in.Content):
		return w.tar(w.source())
	}
	return &document.DamagedError{Format: "archive", Detail: "it does not begin as a zip, tar, gzip or bzip2 file does"}
}

// isTar recognizes the magic of POSIX and GNU archives, and older archives by the checksum of their first header.
func isTar(content []byte) bool {
	if len(content) < 512 {
		return false
	}
	// "ustar" alone may be at this offset of a text.
	if magic := string(content[257:265]); magic == "ustar\x0000" || magic == "ustar  \x00" {
		return true
	}
	header, err := tar.NewReader(bytes.NewReader(content)).Next()
	return err == nil && header.Name != ""
}

// ContainsTar reports whether a gzip or bzip2 file contains a tar archive, not a single file.
func ContainsTar(content []byte) bool {
	r := bzip2.NewReader(bytes.NewReader(content))
	if bytes.HasPrefix(content, []byte("\x1F\x8B")) {
		unpacked, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return false
		}
		r = unpacked
	}
	head := make([]byte, 512)
	_, err := io.ReadFull(r, head)
	return err == nil && isTar(head)
}

func damaged(format string, err error) error {
	detail := "it cannot be read"
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		detail = "it ends too early"
	case errors.Is(err, gzip.ErrChecksum):
		detail = "it does not match its checksum"
	}
	return &document.DamagedError{Format: format, Detail: detail, Cause: err}
}

// entryError is an error of one entry. Other entries can be read.
type entryError struct{ error }

func (w *walker) tooLarge() error {
	return &entryError{&document.LimitError{Detail: fmt.Sprintf("an entry has more than %d bytes", w.in.Limits.MaxBytes)}}
}

// maxPath is the longest path of an entry, in bytes.
const maxPath = 4096

type walker struct {
	ctx     context.Context
	in      document.Source
	visit   func(Entry) error
	seen    map[string]bool
	count   int
	unnamed int // entries with a path that is too long
}

// source returns a reader of the archive that fails when the context ends. Decompression may read much for its next
// byte.
func (w *walker) source() *watchedReader {
	return &watchedReader{ctx: w.ctx, reader: bytes.NewReader(w.in.Content)}
}

// add calls the visitor for an entry with a clean path.
func (w *walker) add(name string, modified time.Time, read func() ([]byte, error)) error {
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("read archive: %w", err)
	}
	if w.count++; w.count > w.in.Limits.MaxEntries {
		return &document.LimitError{Detail: fmt.Sprintf("the archive has more than %d entries", w.in.Limits.MaxEntries)}
	}
	if len(name) > maxPath {
		w.unnamed++
		own := &document.DamagedError{Format: "archive", Detail: fmt.Sprintf("the path of an entry has more than %d bytes", maxPath)}
		return w.visit(Entry{Path: fmt.Sprintf("unnamed-%d", w.unnamed), Modified: modified, Err: own})
	}
	name = cleanPath(name)
	if name == "" || isLitter(name) || w.seen[name] {
		return nil
	}
	w.seen[name] = true
	content, err := read()
	if own, ok := errors.AsType[*entryError](err); ok {
		return w.visit(Entry{Path: name, Modified: modified, Err: own.error})
	}
	if err != nil {
		return err
	}
	return w.visit(Entry{Path: name, Modified: modified, Content: content})
}

// cleanPath returns a path that stays inside the archive. It may be "".
func cleanPath(name string) string {
	if !utf8.ValidString(name) {
		// Without a mark for UTF-8, names are in the code page of DOS.
		if decoded, err := charmap.CodePage437.NewDecoder().String(name); err == nil {
			name = decoded
		}
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return -1
		}
		return r
	}, strings.ReplaceAll(name, "\\", "/"))
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

// isLitter reports whether a file is metadata of an operating system or version control.
func isLitter(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git", ".svn", ".hg":
			return true
		}
	}
	return strings.HasPrefix(path.Base(name), "._")
}

func (w *walker) zip() error {
	a, err := zipfile.Open(w.in.Content, "zip archive", w.in.Limits, w.in.Budget)
	if err != nil {
		return err
	}
	for _, file := range a.Files() {
		if !file.Mode().IsRegular() || strings.HasSuffix(file.Name, "/") {
			continue
		}
		tooLarge := file.UncompressedSize64 > uint64(w.in.Limits.MaxBytes) //nolint:gosec // never negative
		err := w.add(file.Name, file.Modified, func() ([]byte, error) {
			if tooLarge {
				return nil, w.tooLarge()
			}
			content, err := a.ReadFile(file)
			var limit *document.LimitError
			if err != nil && !errors.As(err, &limit) {
				return nil, &entryError{err}
			}
			return content, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compressed reads a compressed file, which contains a tar archive or a single file.
func (w *walker) compressed(r io.Reader, name, format string) error {
	counted := &counter{reader: r, budget: w.in.Budget, compressed: int64(len(w.in.Content))}
	head := make([]byte, 512)
	n, err := io.ReadFull(counted, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return w.wrap(format, err)
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), counted)
	if isTar(head[:n]) {
		return w.tar(whole)
	}
	if name == "" {
		name = uncompressedName(w.in.Name)
	}
	return w.add(name, time.Time{}, func() ([]byte, error) {
		content, err := w.readAll(whole)
		if err != nil {
			return nil, w.wrap(format, err)
		}
		return content, nil
	})
}

// uncompressedName returns the name of a compressed file without its last extension.
func uncompressedName(name string) string {
	switch extension := strings.ToLower(path.Ext(name)); extension {
	case ".gz", ".bz2":
		name = name[:len(name)-len(extension)]
	}
	if name == "" {
		return "content"
	}
	return path.Base(name)
}

// wrap returns the error of a read. Errors other than those of limits and of the context are damage.
func (w *walker) wrap(format string, err error) error {
	var limit *document.LimitError
	if errors.As(err, &limit) || w.ctx.Err() != nil {
		return err
	}
	return damaged(format, err)
}

// readAll reads a file up to MaxBytes.
func (w *walker) readAll(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(r, int64(w.in.Limits.MaxBytes)+1))
	if err != nil {
		return nil, err // wrapped by the caller
	}
	if n > int64(w.in.Limits.MaxBytes) {
		return nil, &document.LimitError{Detail: fmt.Sprintf("an entry has more than %d bytes", w.in.Limits.MaxBytes)}
	}
	return b.Bytes(), nil
}

func (w *walker) tar(r io.Reader) error {
	counted := &watchedReader{ctx: w.ctx, reader: r}
	archive := tar.NewReader(counted)
	for {
		header, err := archive.Next()
		begin := counted.read
		switch {
		case errors.Is(err, io.EOF):
			if w.count == 0 {
				return &document.UnsupportedError{Reason: "empty"}
			}
			return nil
		case err != nil:
			return w.wrap("tar archive", err)
		case header.Typeflag != tar.TypeReg:
			continue
		}
		err = w.add(header.Name, header.ModTime, func() ([]byte, error) {
			if header.Size > int64(w.in.Limits.MaxBytes) {
				return nil, w.tooLarge()
			}
			content, err := w.readAll(archive)
			if err != nil {
				return nil, w.wrap("tar archive", err)
			}
			// The holes of a sparse file have no bytes in the archive. They count against the budget like compressed
			// bytes.
			if holes := int64(len(content)) - (counted.read - begin); holes > 0 {
				err = w.in.Budget.Spend(holes)
			}
			return content, err
		})
		if err != nil {
			return err
		}
	}
}
