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

// Member is a file in an archive.
type Member struct {
	// Path is slash separated and stays inside the archive. No two members have the same one.
	Path string
	// Modified is zero when the archive does not say.
	Modified time.Time
	// Content is the whole file, for the function that gets it to keep. It is nil where Err is set.
	Content []byte
	// Err says why this member cannot be read, where the others can.
	Err error
}

// Walk hands each file of an archive to a function, in the order of the archive, and stops at the first error. A damaged or encrypted archive, and one
// that goes beyond a limit, is one of the errors of package document, also when members were found before; a member that
// alone is damaged, encrypted or too large has its Err set. Folders, links and the leavings of operating systems are left out.
func Walk(ctx context.Context, in document.Source, visit func(Member) error) error {
	w := &walker{ctx: ctx, in: in, visit: visit, taken: make(map[string]bool)}
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

// isTar recognises the magic of POSIX and GNU archives, and old archives by the checksum of their first header.
func isTar(content []byte) bool {
	if len(content) < 512 {
		return false
	}
	// The word alone may stand there in a text.
	if magic := string(content[257:265]); magic == "ustar\x0000" || magic == "ustar  \x00" {
		return true
	}
	header, err := tar.NewReader(bytes.NewReader(content)).Next()
	return err == nil && header.Name != ""
}

// HoldsTar reports whether a gzip or bzip2 file has a tar archive in it, rather than a single file.
func HoldsTar(content []byte) bool {
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

// memberError is an error of one member, after which the others can be read.
type memberError struct{ error }

func (w *walker) tooLarge() error {
	return &memberError{&document.LimitError{Detail: fmt.Sprintf("a member has more than %d bytes", w.in.Limits.MaxBytes)}}
}

// maxPath is the longest path of a member, in bytes, that is taken as one.
const maxPath = 4096

type walker struct {
	ctx     context.Context
	in      document.Source
	visit   func(Member) error
	taken   map[string]bool
	count   int
	unnamed int // members whose path is too long
}

// source reads the archive until the context ends: a reader of what is compressed may take long to give its next byte.
func (w *walker) source() *watchedReader {
	return &watchedReader{ctx: w.ctx, reader: bytes.NewReader(w.in.Content)}
}

// offer cleans a member's path and hands it on, unless it is to be left out.
func (w *walker) offer(name string, modified time.Time, read func() ([]byte, error)) error {
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("read archive: %w", err)
	}
	if w.count++; w.count > w.in.Limits.MaxMembers {
		return &document.LimitError{Detail: fmt.Sprintf("the archive has more than %d members", w.in.Limits.MaxMembers)}
	}
	if len(name) > maxPath {
		w.unnamed++
		own := &document.DamagedError{Format: "archive", Detail: fmt.Sprintf("the path of a member has more than %d bytes", maxPath)}
		return w.visit(Member{Path: fmt.Sprintf("unnamed-%d", w.unnamed), Modified: modified, Err: own})
	}
	name = cleanPath(name)
	if name == "" || isLeaving(name) || w.taken[name] {
		return nil
	}
	w.taken[name] = true
	content, err := read()
	if own, ok := errors.AsType[*memberError](err); ok {
		return w.visit(Member{Path: name, Modified: modified, Err: own.error})
	}
	if err != nil {
		return err
	}
	return w.visit(Member{Path: name, Modified: modified, Content: content})
}

// cleanPath makes a path that stays inside the archive, "" where nothing is left of it.
func cleanPath(name string) string {
	if !utf8.ValidString(name) {
		// Archives without a mark for UTF-8 are in the code page of the first PCs.
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

// isLeaving reports files that operating systems and version control leave in archives.
func isLeaving(name string) bool {
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
		err := w.offer(file.Name, file.Modified, func() ([]byte, error) {
			if tooLarge {
				return nil, w.tooLarge()
			}
			content, err := a.ReadFile(file)
			var limit *document.LimitError
			if err != nil && !errors.As(err, &limit) {
				return nil, &memberError{err}
			}
			return content, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compressed reads what a compressed file holds: a tar archive, or one file.
func (w *walker) compressed(r io.Reader, name, format string) error {
	counted := &counter{reader: r, budget: w.in.Budget, compressed: int64(len(w.in.Content))}
	head := make([]byte, 512)
	n, err := io.ReadFull(counted, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return w.broken(format, err)
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), counted)
	if isTar(head[:n]) {
		return w.tar(whole)
	}
	if name == "" {
		name = uncompressedName(w.in.Name)
	}
	return w.offer(name, time.Time{}, func() ([]byte, error) {
		content, err := w.readAll(whole)
		if err != nil {
			return nil, w.broken(format, err)
		}
		return content, nil
	})
}

// uncompressedName is the name of a compressed file without its last extension.
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

// broken keeps the errors of limits and makes damage of all others.
func (w *walker) broken(format string, err error) error {
	var limit *document.LimitError
	if errors.As(err, &limit) || w.ctx.Err() != nil {
		return err
	}
	return damaged(format, err)
}

// readAll reads a file up to the limit of one.
func (w *walker) readAll(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(r, int64(w.in.Limits.MaxBytes)+1))
	if err != nil {
		return nil, err // broken says what it is
	}
	if n > int64(w.in.Limits.MaxBytes) {
		return nil, &document.LimitError{Detail: fmt.Sprintf("a member has more than %d bytes", w.in.Limits.MaxBytes)}
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
			return w.broken("tar archive", err)
		case header.Typeflag != tar.TypeReg:
			continue
		}
		err = w.offer(header.Name, header.ModTime, func() ([]byte, error) {
			if header.Size > int64(w.in.Limits.MaxBytes) {
				return nil, w.tooLarge()
			}
			content, err := w.readAll(archive)
			if err != nil {
				return nil, w.broken("tar archive", err)
			}
			// The holes of a sparse file take no room in the archive: they are expanded like what is compressed.
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
