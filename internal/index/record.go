package index

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/ingest/passage"
)

// ErrFenced is returned when the job a write belongs to has been taken over by
// another worker, is gone, or is of another workspace. Nothing was written.
var ErrFenced = errors.New("the sync job has been taken over")

// ErrRecord is inside the error for a record that can never be stored.
var ErrRecord = errors.New("unusable record")

// Fence names the job that a write belongs to and the attempt under which the
// writer holds it. The zero value is a write without a job.
type Fence struct {
	Job     uuid.UUID
	Attempt int
}

// LedgerEntry is what becomes of the item's row in the connector's ledger
// (sync_items) in the same transaction. With JobID zero the row is left alone.
type LedgerEntry struct {
	JobID           uuid.UUID
	PipelineVersion int
	Reason          string // a note; "" for none
}

// Record is one document as it shall be stored.
type Record struct {
	Connector  uuid.UUID
	Collection uuid.UUID // the connector's
	// Document is the row to update; with the zero value it is found by
	// (Connector, SourceID), or made.
	Document uuid.UUID
	// IsNew says that the caller knows of no document of the item. It is a hint:
	// whatever there is, it is found.
	IsNew         bool
	SourceID      string // 1 to 1024 bytes, the item's id in its source
	Path          string
	SourceVersion string

	Title, URL, Section, Version, DocType, Language, Author string // "" is unknown; an empty title becomes the path's last part

	Tags     []string
	Pages    int // 0 is unknown
	Metadata map[string]any
	// Readers are the principals that may find the document; nil lets everyone
	// who reaches the collection find it, an empty list nobody.
	Readers []string
	// ReadersAt is when the source said so; zero when it was not asked, or did not say.
	ReadersAt time.Time
	// CreatedAt and UpdatedAt are the source's times; zero is unknown.
	CreatedAt, UpdatedAt time.Time
	// ProcessedAt is when the content was looked at; zero takes the database's clock.
	ProcessedAt time.Time
	Bytes       int64  // of the source's content
	Hash        []byte // of the content and the pipeline version
	Text        string // the whole document as Markdown
	Summary     string // "" leaves it to be made on demand

	Passages []passage.Passage
	Vectors  [][]float32 // one for each passage, of unit length
	Model    string      // that made the vectors

	Ledger LedgerEntry
}

// Outcome says what Put did.
type Outcome struct {
	Document uuid.UUID
	// Added tells that no search could find the document before: it is new,
	// never got this far, or had been deleted.
	Added bool
}

const (
	maxSourceID   = 1024
	maxDimensions = 16000 // pgvector's limit on halfvec
)

// check refuses what the database would refuse with a less helpful message.
func (r *Record) check() error {
	switch {
	case r.Connector == uuid.Nil, r.Collection == uuid.Nil:
		return fmt.Errorf("%w: connector and collection must be named", ErrRecord)
	case r.SourceID == "" || len(r.SourceID) > maxSourceID:
		return fmt.Errorf("%w: the source id must have 1 to %d bytes, not %d", ErrRecord, maxSourceID, len(r.SourceID))
	case len(r.Vectors) != len(r.Passages):
		return fmt.Errorf("%w: %d vectors for %d passages", ErrRecord, len(r.Vectors), len(r.Passages))
	case len(r.Passages) > 0 && r.Model == "":
		return fmt.Errorf("%w: the model of the vectors must be named", ErrRecord)
	}
	return checkVectors(r.Vectors)
}

func checkVectors(vectors [][]float32) error {
	for i, v := range vectors {
		if len(v) == 0 || len(v) > maxDimensions || len(v) != len(vectors[0]) {
			return fmt.Errorf("%w: vector %d has %d dimensions, the first has %d, allowed are 1 to %d",
				ErrRecord, i, len(v), len(vectors[0]), maxDimensions)
		}
		for _, x := range v {
			if !(x >= -2 && x <= 2) { // also refuses NaN
				return fmt.Errorf("%w: vector %d is not of unit length", ErrRecord, i)
			}
		}
	}
	return nil
}

func (r *Record) title() string {
	if t := strings.TrimSpace(clean(r.Title)); t != "" {
		return t
	}
	if p := path.Base(clean(r.Path)); p != "." && p != "/" {
		return p
	}
	return clean(r.SourceID)
}

// storedBytes is what the document takes up: its text whole and in passages,
// and its vectors at two bytes a dimension.
func (r *Record) storedBytes() int64 {
	n := int64(len(r.Text))
	for i := range r.Passages {
		n += int64(len(r.Passages[i].Text)) + 2*int64(len(r.Vectors[i]))
	}
	return n
}

// clean makes s storable: PostgreSQL takes neither NUL nor invalid UTF-8. Each
// such byte becomes one other byte, so that offsets into the text stay right.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	b := []byte(s)
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b[i] = '?'
		case r == 0:
			b[i] = ' '
		}
		i += size
	}
	return string(b)
}

// cut is clean, then shortened to at most max bytes at a rune's border.
func cut(s string, max int) string {
	s = clean(s)
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// cleanJSON is clean for every string in a decoded JSON value.
func cleanJSON(v any) any {
	switch v := v.(type) {
	case string:
		return clean(v)
	case []string:
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = clean(s)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cleanJSON(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[clean(k)] = cleanJSON(e)
		}
		return out
	default:
		return v
	}
}
