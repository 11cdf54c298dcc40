package cfb

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Magic is how a compound file begins.
const Magic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"

// File is an open compound file: its streams by path, storages parted by slashes, in lower case. It is for one goroutine.
type File struct {
	format  string
	budget  *document.Budget
	sectors sectors
	entries []entry
	byPath  map[string]*stream
	names   []string

	mini *miniSectors // nil until a short stream is read
}

// stream is where a stream begins, and its content once it was read.
type stream struct {
	entry   *entry
	read    bool
	content []byte
	err     error
}

// Open reads the directory of a compound file; streams are read when they are asked for. The content is kept, and must not
// change while the file is used. The format is what the file is called in errors. Small damage is read over: a last sector
// that is cut off, a part of the allocation table or of the directory's tree that is missing. The error is a
// *document.DamagedError or a *document.LimitError.
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

// Has reports whether there is such a stream, whatever the case of its path. It reads nothing.
func (f *File) Has(path string) bool {
	_, found := f.byPath[strings.ToLower(path)]
	return found
}

// Size returns how long a stream should be by the directory, 0 when there is none. Stream returns less of one that is cut
// off.
func (f *File) Size(path string) int64 {
	if s, found := f.byPath[strings.ToLower(path)]; found {
		return s.entry.size
	}
	return 0
}

// Stream returns a stream by its path, whatever its case; false when there is none, or none that can be read: Read tells
// why. What is cut off of the stream is missing at its end. The bytes must not be changed.
func (f *File) Stream(path string) ([]byte, bool) {
	content, err := f.Read(path)
	return content, err == nil
}

// Read is Stream with the reason: fs.ErrNotExist when there is no such stream, a *document.DamagedError when nothing of it
// can be read, a *document.LimitError when the budget is spent. A stream that is read twice is counted once.
func (f *File) Read(path string) ([]byte, error) {
	s, found := f.byPath[strings.ToLower(path)]
	if !found {
		return nil, fmt.Errorf("%s has no stream %q: %w", f.format, path, fs.ErrNotExist)
	}
	if !s.read {
		s.content, s.err = f.load(s.entry)
		s.read = true
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
