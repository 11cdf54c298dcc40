package cfb

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Magic is the signature of a compound file.
const Magic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"

// A File is an open compound file. The paths of its streams separate storages by slashes. It is not safe for concurrent
// use.
type File struct {
	format  string
	budget  *document.Budget
	sectors sectors
	entries []entry
	byPath  map[string]*stream
	names   []string

	mini *miniSectors // nil until a short stream is read
}

// A stream is a stream with its content, once isRead is set.
type stream struct {
	entry   *entry
	isRead  bool
	content []byte
	err     error
}

// Open reads the directory of a compound file. Streams are read on demand. The content must not change while the file
// is used. The format names the file in errors. Small damage is repaired: a truncated last sector, missing parts of the
// allocation table or of the directory tree. The error is a *document.DamagedError or a *document.LimitError.
func Open(content []byte, format string, budget *document.Budget) (*File, error) {
	f := &File{format: format, budget: budget, byPath: make(map[string]*stream)}
	head, err := readHeader(content)
	if err != nil {
		return nil, &document.DamagedError{Format: format, Detail: err.Error()}
	}
	f.sectors = newSectors(content, head)
	if err := f.readDirectory(head.directory); err != nil {
		return nil, err
	}
	return f, nil
}

// Names returns the paths of the streams in lower case, in the order of the directory.
func (f *File) Names() []string { return f.names }

// Has reports whether there is a stream, regardless of the case of its path.
func (f *File) Has(path string) bool {
	_, found := f.byPath[strings.ToLower(path)]
	return found
}

// Size returns the size of a stream according to the directory, 0 if there is none. Stream returns less if the stream
// is truncated.
func (f *File) Size(path string) int64 {
	if s, found := f.byPath[strings.ToLower(path)]; found {
		return s.entry.size
	}
	return 0
}

// Stream returns the content of a stream, regardless of the case of its path. It is false if there is no such stream or
// it cannot be read. The bytes must not be changed.
func (f *File) Stream(path string) ([]byte, bool) {
	content, err := f.Read(path)
	return content, err == nil
}

// Read is Stream with an error: fs.ErrNotExist if there is no such stream, a *document.DamagedError if none of it can
// be read, a *document.LimitError if the budget is spent. A stream counts against the budget once.
func (f *File) Read(path string) ([]byte, error) {
	s, found := f.byPath[strings.ToLower(path)]
	if !found {
		return nil, fmt.Errorf("%s has no stream %q: %w", f.format, path, fs.ErrNotExist)
	}
	if !s.isRead {
		s.content, s.err = f.load(s.entry)
		s.isRead = true
	}
	return s.content, s.err
}

func (f *File) load(e *entry) ([]byte, error) {
	if e.size == 0 {
		return []byte{}, nil
	}
	var content []byte
	var err error
	if e.size < miniCutoff {
		content, err = f.readMini(e.start, e.size)
	} else {
		content, err = f.sectors.read(e.start, e.size, f.budget)
	}
	if err != nil {
		return nil, err
	}
	if len(content) == 0 {
		return nil, f.damaged("a stream cannot be found")
	}
	return content, nil
}

func (f *File) damaged(detail string) error {
	return &document.DamagedError{Format: f.format, Detail: detail}
}

var errTooShort = errors.New("it is shorter than the header of its storage")
