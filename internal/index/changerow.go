package index

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Columns of magpie_changes, in their order.
const (
	columnDocument = iota
	columnLive
	columnSection
	columnVersion
	columnLanguage
	columnDocType
	columnTags
	columnTime
	columnReaders
	columnSource
	columnConnector
	columnPassage
	columnOrdinal
	columnWords   // of each field, in the order of Field
	columnLexemes = columnWords + int(FieldCount)
	columnVector  = columnLexemes + 1
	columnCount   = columnVector + 1
)

var errRow = errors.New("a row of changes cannot be read")

// changeRow is one row as it came, without a copy; nil is null.
type changeRow [columnCount][]byte

// split takes a composite value in PostgreSQL's binary form apart: the number of
// columns, then for each its type, its length (-1 for null) and its bytes.
func (c *changeRow) split(b []byte) error {
	if len(b) < 4 || binary.BigEndian.Uint32(b) != uint32(columnCount) {
		return errRow
	}
	b = b[4:]
	for i := range c {
		if len(b) < 8 {
			return errRow
		}
		length := int(int32(binary.BigEndian.Uint32(b[4:]))) //nolint:gosec // the sign is part of the format
		if b = b[8:]; length < 0 {
			c[i] = nil
			continue
		}
		if length > len(b) {
			return errRow
		}
		c[i], b = b[:length:length], b[length:]
	}
	return nil
}

// entryDecoder gathers the rows of one document and makes its Entry of them. It
// keeps its memory from document to document.
type entryDecoder struct {
	begun    bool
	entry    Entry
	tags     []string
	passages []EntryPassage
	lexemes  []byte
	vectors  []float32
	parts    []passagePart
	names    map[string]string // values that many documents share, made once
}

// passagePart says where a passage's lexemes and vector begin in the decoder's
// memory, which may move while it grows.
type passagePart struct {
	passage                  EntryPassage
	lexemes, lexemesEnd      int
	dimensions, dimensionEnd int
}

const maxNames = 10_000

func (d *entryDecoder) same(c *changeRow) bool {
	return string(c[columnDocument]) == string(d.entry.Document[:])
}

func (d *entryDecoder) add(c *changeRow) error {
	if !d.begun {
		if err := d.begin(c); err != nil {
			return err
		}
	}
	if c[columnPassage] == nil {
		return nil
	}
	if len(c[columnPassage]) != len(uuid.UUID{}) {
		return errRow
	}
	p := passagePart{lexemes: len(d.lexemes), dimensions: len(d.vectors)}
	p.passage.ID = uuid.UUID(c[columnPassage])
	var err error
	if p.passage.Ordinal, err = int32Of(c[columnOrdinal]); err != nil {
		return err
	}
	for f := range p.passage.Words {
		if p.passage.Words[f], err = int32Of(c[columnWords+f]); err != nil {
			return err
		}
	}
	d.lexemes = append(d.lexemes, c[columnLexemes]...)
	if d.vectors, err = appendHalves(d.vectors, c[columnVector]); err != nil {
		return err
	}
	p.lexemesEnd, p.dimensionEnd = len(d.lexemes), len(d.vectors)
	d.parts = append(d.parts, p)
	return nil
}

// begin reads what all rows of a document say alike.
func (d *entryDecoder) begin(c *changeRow) error {
	if len(c[columnDocument]) != len(uuid.UUID{}) || len(c[columnLive]) != 1 {
		return errRow
	}
	d.begun = true
	d.entry = Entry{Document: uuid.UUID(c[columnDocument]), Live: c[columnLive][0] != 0}
	d.lexemes, d.vectors, d.parts = d.lexemes[:0], d.vectors[:0], d.parts[:0]
	if !d.entry.Live {
		return nil
	}
	d.entry.Section, d.entry.Version = d.name(c[columnSection]), d.name(c[columnVersion])
	d.entry.Language, d.entry.DocType = d.name(c[columnLanguage]), d.name(c[columnDocType])
	var err error
	if d.entry.Time, err = timeOf(c[columnTime]); err != nil {
		return err
	}
	readers, err := textsOf(c[columnReaders])
	if err != nil {
		return err
	}
	d.entry.Readers, d.entry.Restriction = splitReaders(readers)
	d.entry.Source = d.name(c[columnSource])
	if id := c[columnConnector]; len(id) == len(uuid.UUID{}) {
		text, _ := uuid.UUID(id).MarshalText() // never fails
		d.entry.Connector = d.name(text)
	}
	// A jsonb value begins with the version of its form.
	if b := c[columnTags]; len(b) > 1 && string(b[1:]) != "[]" && string(b[1:]) != "null" {
		if err := json.Unmarshal(b[1:], &d.tags); err != nil {
			return fmt.Errorf("read a document's tags: %w", err)
		}
		d.entry.Tags = d.tags
	}
	return nil
}

// name makes a string that is shared by all documents with this value.
func (d *entryDecoder) name(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, known := d.names[string(b)]; known {
		return s
	}
	s := string(b)
	if d.names == nil || len(d.names) >= maxNames {
		d.names = make(map[string]string)
	}
	d.names[s] = s
	return s
}

// flush hands the document to the reader.
func (d *entryDecoder) flush(r ChangeReader) error {
	d.begun = false
	// Rows of a document come as they are stored, which mostly is this order.
	byOrdinal := func(a, b passagePart) int { return cmp.Compare(a.passage.Ordinal, b.passage.Ordinal) }
	if !slices.IsSortedFunc(d.parts, byOrdinal) {
		slices.SortFunc(d.parts, byOrdinal)
	}
	d.passages = d.passages[:0]
	for i := range d.parts {
		p := &d.parts[i]
		p.passage.Lexemes = d.lexemes[p.lexemes:p.lexemesEnd:p.lexemesEnd]
		p.passage.Vector = nil
		if p.dimensionEnd > p.dimensions {
			p.passage.Vector = d.vectors[p.dimensions:p.dimensionEnd:p.dimensionEnd]
		}
		d.passages = append(d.passages, p.passage)
	}
	if len(d.passages) > 0 {
		d.entry.Passages = d.passages
	}
	if err := r.Entry(&d.entry); err != nil {
		return &readerError{err}
	}
	return nil
}

func int32Of(b []byte) (int32, error) {
	if len(b) != 4 {
		return 0, errRow
	}
	return int32(binary.BigEndian.Uint32(b)), nil //nolint:gosec // the sign is part of the format
}

// timeOf reads a time: microseconds since 2000 in UTC, null is the zero time.
func timeOf(b []byte) (time.Time, error) {
	switch {
	case b == nil:
		return time.Time{}, nil
	case len(b) != 8:
		return time.Time{}, errRow
	}
	const epoch = 946_684_800                                                                    // 2000-01-01 in Unix seconds
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).Add(epoch * time.Second).UTC(), nil //nolint:gosec // the sign is part of the format
}

// textsOf reads a text[]: null is nil, no elements are an empty list.
func textsOf(b []byte) ([]string, error) {
	if b == nil {
		return nil, nil
	}
	const header, dimension = 12, 8
	if len(b) < header {
		return nil, errRow
	}
	switch binary.BigEndian.Uint32(b) {
	case 0:
		return []string{}, nil
	case 1:
	default:
		return nil, errRow
	}
	if len(b) < header+dimension {
		return nil, errRow
	}
	n := int(binary.BigEndian.Uint32(b[header:]))
	b = b[header+dimension:]
	if n > len(b)/4 {
		return nil, errRow
	}
	texts := make([]string, 0, n)
	for range n {
		if len(b) < 4 {
			return nil, errRow
		}
		length := int(int32(binary.BigEndian.Uint32(b))) //nolint:gosec // the sign is part of the format
		if b = b[4:]; length > len(b) {
			return nil, errRow
		}
		if length < 0 {
			continue // a null names nobody
		}
		texts, b = append(texts, string(b[:length])), b[length:]
	}
	return texts, nil
}

// appendHalves appends the numbers of a halfvec: the number of dimensions and an
// unused number of 16 bits each, then the dimensions as binary16 (IEEE 754). Null
// appends nothing. Infinities and NaNs do not occur in a halfvec.
func appendHalves(to []float32, b []byte) ([]float32, error) {
	if b == nil {
		return to, nil
	}
	if len(b) < 4 || len(b) != 4+2*int(binary.BigEndian.Uint16(b)) {
		return to, errRow
	}
	// With the exponent moved to its place the number is too small by the
	// difference of the biases, 127 - 15; multiplying also makes subnormal
	// numbers right.
	scale := math.Float32frombits((127 + 127 - 15) << 23)
	from := len(to)
	to = slices.Grow(to, len(b)/2-2)[:from+len(b)/2-2]
	for i := range to[from:] {
		h := uint32(binary.BigEndian.Uint16(b[4+2*i:]))
		to[from+i] = math.Float32frombits(h&0x8000<<16|h&0x7fff<<13) * scale
	}
	return to, nil
}
