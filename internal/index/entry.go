package index

import (
	"time"

	"github.com/google/uuid"
)

// Entry is one document as searches see it at one moment: what an index in
// memory is made of.
type Entry struct {
	Document uuid.UUID
	// Live is false for a document that is gone or not to be found; nothing
	// else is set then.
	Live bool

	Section, Version, Language, DocType string // "" is unknown
	Tags                                []string
	// Source is the kind of the connector that the document came by, and
	// Connector that connector's id.
	Source, Connector string
	// Time is when the source last changed the document, else when it made it;
	// zero when neither is known.
	Time time.Time
	// Readers are the principals that may find the document; nil lets everyone
	// who reaches the collection find it, an empty list nobody.
	Readers []string
	// Restriction are those to whom it is restricted beside; nil for no restriction. A
	// viewer must be among both.
	Restriction []string

	Passages []EntryPassage // by Ordinal, which need not start at 0 nor be without gaps
}

// EntryPassage is one passage of an Entry.
type EntryPassage struct {
	ID      uuid.UUID
	Ordinal int32
	// Words are the lengths of the fields as BM25 counts them. IsStub reads the mark of stubs in them.
	Words [FieldCount]int32
	// Lexemes are the passage's terms with their positions.
	Lexemes Lexemes
	// Vector is of unit length, nil when the passage has none of the
	// collection's model. The callee may not keep it.
	Vector []float32
}
