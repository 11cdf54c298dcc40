package index

import (
	"github.com/google/uuid"
)

// Position tells how far a reader of a collection has come; the zero value has
// read nothing.
type Position struct {
	// Generation rises when everything must be read anew, Change with every
	// committed write.
	Generation, Change int64
}

// State is what the counters of a collection say at one moment.
type State struct {
	Collection uuid.UUID
	Name       string
	Position
	// Required is the change number that a search must have seen at least: that
	// of the last write outside of a sync, and of the last finished sync.
	Required int64
	// Model is the embedding model whose vectors searches use.
	Model string
	// Documents, Passages and Words count what searches can find; Words are
	// those of all bodies.
	Documents, Passages, Words int64
	// Restricted tells that some document is not for everybody.
	Restricted bool
	// Open are the connectors whose documents may be found, by their ids; nil is
	// all of them. The readers of the others are not known yet.
	Open []string
	// Indexed tells that PostgreSQL has search indexes of it (BuildIndexes).
	Indexed bool
}

// ChangeReader takes what [Store.Changes] tells. An error of either function
// ends the telling and is returned.
type ChangeReader interface {
	// Begin is called once, before any Entry, with the position that the
	// reader has reached when Changes returns without an error, and the model
	// that the vectors are of. With all set, every live document follows and
	// whatever the reader has is to be forgotten.
	Begin(at Position, model string, all bool) error
	// Entry is called for one document; the entry and everything in it are
	// valid during the call only.
	Entry(*Entry) error
}
