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

// maxRead is the largest member that Read returns whole.
const maxRead = 128 << 20

// Archive is an open zip archive. It is for one goroutine.
type Archive struct {
	format string
	budget *document.Budget
	files  []*zip.File
	byName map[string]*zip.File // by name in lower case, slashes forward, without a leading one
}

// Open reads the directory of an archive. The format is what the file is called in errors: "Word document". The error is
// *document.DamagedError, *document.EncryptedError where every member needs a password, or *document.LimitError.
func Open(content []byte, format string, limits document.Limits, budget *document.Budget) (*Archive, error) {
	members := limits.WithDefaults().MaxMembers
	source := &directory{Reader: bytes.NewReader(content), limit: members + tailMembers}
	r, err := zip.NewReader(source, int64(len(content)))
	source.limit = math.MaxInt
	if errors.Is(err, errMembers) || err == nil && len(r.File) > members {
		return nil, &document.LimitError{Detail: fmt.Sprintf("the archive has more than %d members", members)}
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

// tailMembers is more than the entries that stand in the 65 KiB in which the end of the directory is looked for, and
// which are read twice.
const tailMembers = 2000

var errMembers = errors.New("too many members")

// directory counts the entries of an archive's directory while it is read, so that one of millions is not built first.
// The number that the archive states may be a lie.
type directory struct {
	*bytes.Reader
	entries, limit int
}

// ReadAt implements io.ReaderAt. The error is errMembers after too many entries.
func (d *directory) ReadAt(p []byte, offset int64) (int, error) {
	n, err := d.Reader.ReadAt(p, offset)
	if d.limit < math.MaxInt {
		if d.entries += bytes.Count(p[:n], []byte("PK\x01\x02")); d.entries > d.limit {
			return 0, errMembers
		}
	}
	return n, err // io.EOF among others
}

// isEncrypted reports a member that needs a password.
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

// Files returns the members in the order of the archive's directory.
func (a *Archive) Files() []*zip.File { return a.files }

// Lookup finds a member by its path, whatever its case.
func (a *Archive) Lookup(name string) (*zip.File, bool) {
	file, found := a.byName[clean(name)]
	return file, found
}

// Has reports whether there is such a member.
func (a *Archive) Has(name string) bool {
	_, found := a.Lookup(name)
	return found
}

// Open opens a member by its path, to be read as a stream. What is read counts against the budget; beyond it, or beyond
// the greatest ratio, reading ends with a *document.LimitError. A member that is not there is fs.ErrNotExist.
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
	return &member{archive: a, reader: r, compressed: int64(min(file.CompressedSize64, 1<<62))}, nil //nolint:gosec // bounded
}

// Read returns a whole member by its path. The errors are those of Open; one longer than 128 MiB is a *document.LimitError.
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

// member reads one member and counts what comes out.
type member struct {
	archive    *Archive
	reader     io.ReadCloser
	compressed int64
	expanded   int64
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.reader.Read(p)
	m.expanded += int64(n)
	if limit := m.archive.budget.Spend(int64(n)); limit != nil {
		return n, limit
	}
	if limit := m.archive.budget.CheckRatio(m.expanded, m.compressed); limit != nil {
		return n, limit
	}
	if err != nil && err != io.EOF { // the end, and not an end that came too early
		return n, damaged(m.archive.format, err)
	}
	return n, err
}

func (m *member) Close() error { return m.reader.Close() }
