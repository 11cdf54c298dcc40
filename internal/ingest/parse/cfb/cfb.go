package cfb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/richardlehane/mscfb"

	"magpie/internal/ingest/document"
)

// Magic is how a compound file begins.
const Magic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"

// maxStream is the largest stream that is read; a file cannot hold more than it is long, but its chains may repeat.
const maxStream = 128 << 20

// File is an open compound file: its streams by path, storages parted by slashes, in lower case.
type File struct {
	format  string
	streams map[string][]byte
	names   []string
}

// Open reads a compound file. The format is what the file is called in errors. The error is a *document.DamagedError or a
// *document.LimitError.
func Open(content []byte, format string, budget *document.Budget) (*File, error) {
	r, err := mscfb.New(bytes.NewReader(content))
	if err != nil {
		return nil, &document.DamagedError{Format: format, Detail: "its storage cannot be read", Cause: err}
	}
	f := &File{format: format, streams: make(map[string][]byte)}
	for entry, err := r.Next(); ; entry, err = r.Next() {
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, &document.DamagedError{Format: format, Detail: "its storage cannot be read", Cause: err}
		}
		if entry.FileInfo().IsDir() || entry.Size <= 0 {
			continue
		}
		if entry.Size > int64(len(content)) || entry.Size > maxStream {
			return nil, &document.DamagedError{Format: format, Detail: "a stream is longer than the file"}
		}
		if err := budget.Spend(entry.Size); err != nil {
			return nil, err
		}
		stream := make([]byte, entry.Size)
		n, err := io.ReadFull(entry, stream)
		if err != nil && n == 0 {
			return nil, &document.DamagedError{Format: format, Detail: "a stream cannot be read", Cause: fmt.Errorf("read stream: %w", err)}
		}
		name := strings.ToLower(strings.Join(append(append([]string(nil), entry.Path...), entry.Name), "/"))
		if _, taken := f.streams[name]; !taken {
			f.streams[name] = stream[:n]
			f.names = append(f.names, name)
		}
	}
}

// Stream returns a stream by its path, whatever its case; false when there is none.
func (f *File) Stream(path string) ([]byte, bool) {
	stream, found := f.streams[strings.ToLower(path)]
	return stream, found
}

// Names returns the paths of the streams in lower case, in the order of the file.
func (f *File) Names() []string { return f.names }
