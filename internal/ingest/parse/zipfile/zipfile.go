package zipfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// maxRead is the largest entry, in bytes, that Read returns.
const maxRead = 128 << 20

// An Archive is an open zip archive. It is not safe for concurrent use.
type Archive struct {
	format string
	budget *document.Budget
	files  []*zip.File
	byName map[string]*zip.File // by path in lower case, with forward slashes and without a leading one
}

// Open reads the directory of an archive. The format names the file in errors: "Word document". The error is a
// *document.DamagedError, a *document.EncryptedError if every entry needs a password, or a *document.LimitError.
func Open(content []byte, format string, limits document.Limits, budget *document.Budget) (*Archive, error) {
	entries := limits.WithDefaults().MaxEntries
	source := &directory{Reader: bytes.NewReader(content), limit: entries + tailEntries}
	r, err := zip.NewReader(source, int64(len(content)))
	source.limit = math.MaxInt
	if errors.Is(err, errEntries) || err == nil && len(r.File) > entries {
		return nil, &document.LimitError{Detail: fmt.Sprintf("the archive has more than %d entries", entries)}
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, damaged(format, err)
	}
	a := &Archive{format: format, budget: budget, files: r.File, byName: make(map[string]*zip.File, len(r.File))}
	encrypted := 0
	for _, file := range r.File {
		if isEncrypted(file) {
			encrypted++
		}
		key := clean(file.Name)
		if _, taken := a.byName[key]; !taken {
			a.byName[key] = file
		}
	}
	if encrypted > 0 && encrypted == len(r.File) {
		return nil, &document.EncryptedError{Format: format}
	}
	return a, nil
}

// tailEntries is more than the entries in the last 65 KiB, which archive/zip reads twice to find the end of the
// directory.
const tailEntries = 2000

var errEntries = errors.New("too many entries")

// directory counts the entries of an archive's directory while it is read. The number that an archive declares may be
// false, and archive/zip would first build a list of millions.
type directory struct {
	*bytes.Reader
	entries, limit int
}

// ReadAt implements io.ReaderAt. The error is errEntries after too many entries.
func (d *directory) ReadAt(p []byte, offset int64) (int, error) {
	n, err := d.Reader.ReadAt(p, offset)
	if d.limit < math.MaxInt {
		if d.entries += bytes.Count(p[:n], []byte("PK\x01\x02")); d.entries > d.limit {
			return 0, errEntries
		}
	}
	return n, err // io.EOF among others
}

// isEncrypted reports whether an entry needs a password.
func isEncrypted(file *zip.File) bool { return file.Flags&1 != 0 }

func clean(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, "\\", "/")), "/"))
}

func damaged(format string, err error) error {
	detail := "its zip archive cannot be read"
	switch {
	case errors.Is(err, zip.ErrFormat):
		detail = "it is no complete zip archive; it may be cut off"
	case errors.Is(err, zip.ErrChecksum):
		detail = "a part of it does not match its checksum"
	case errors.Is(err, io.ErrUnexpectedEOF):
		detail = "it ends too early"
	case errors.Is(err, zip.ErrAlgorithm):
		detail = "a part of it is compressed by a method that is not read"
	}
	return &document.DamagedError{Format: format, Detail: detail, Cause: err}
}

// Files returns the entries in the order of the directory.
func (a *Archive) Files() []*zip.File { return a.files }

// Lookup returns the entry with a path, regardless of its case.
func (a *Archive) Lookup(name string) (*zip.File, bool) {
	file, found := a.byName[clean(name)]
	return file, found
}

// Has reports whether there is an entry.
func (a *Archive) Has(name string) bool {
	_, found := a.Lookup(name)
	return found
}

// Open opens the entry with a path. The bytes read count against the budget. If it is spent, or the compression ratio
// is too high, reading ends with a *document.LimitError. The error is fs.ErrNotExist if there is no such entry.
func (a *Archive) Open(name string) (io.ReadCloser, error) {
	file, found := a.Lookup(name)
	if !found {
		return nil, fmt.Errorf("%s has no part %q: %w", a.format, name, fs.ErrNotExist)
	}
	return a.OpenFile(file)
}

// OpenFile is Open for one of Files.
func (a *Archive) OpenFile(file *zip.File) (io.ReadCloser, error) {
	if isEncrypted(file) {
		return nil, &document.EncryptedError{Format: a.format}
	}
	r, err := file.Open()
	if err != nil {
		return nil, damaged(a.format, err)
	}
	return &entryReader{archive: a, reader: r, compressed: int64(min(file.CompressedSize64, 1<<62))}, nil //nolint:gosec // bounded
}

// Read returns the content of the entry with a path. Errors are those of Open, and a *document.LimitError for more than
// 128 MiB.
func (a *Archive) Read(name string) ([]byte, error) {
	file, found := a.Lookup(name)
	if !found {
		return nil, fmt.Errorf("%s has no part %q: %w", a.format, name, fs.ErrNotExist)
	}
	return a.ReadFile(file)
}

// ReadFile is Read for one of Files.
func (a *Archive) ReadFile(file *zip.File) (content []byte, err error) {
	r, err := a.OpenFile(file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := r.Close(); err == nil && closeErr != nil {
			content, err = nil, damaged(a.format, closeErr)
		}
	}()
	var b bytes.Buffer
	if file.UncompressedSize64 < 8<<20 {
		b.Grow(int(file.UncompressedSize64) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(r, maxRead+1))
	if err != nil {
		return nil, err
	}
	if n > maxRead {
		return nil, &document.LimitError{Detail: fmt.Sprintf("a part of the file has more than %d MiB", maxRead>>20)}
	}
	return b.Bytes(), nil
}

// An entryReader reads an entry and counts its bytes.
type entryReader struct {
	archive    *Archive
	reader     io.ReadCloser
	compressed int64
	expanded   int64
}

func (m *entryReader) Read(p []byte) (int, error) {
	n, err := m.reader.Read(p)
	m.expanded += int64(n)
	if limit := m.archive.budget.Spend(int64(n)); limit != nil {
		return n, limit
	}
	if limit := m.archive.budget.CheckRatio(m.expanded, m.compressed); limit != nil {
		return n, limit
	}
	if err != nil && err != io.EOF { // io.EOF is the proper end, io.ErrUnexpectedEOF is not
		return n, damaged(m.archive.format, err)
	}
	return n, err
}

func (m *entryReader) Close() error { return m.reader.Close() }
