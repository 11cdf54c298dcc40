package memory

import (
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
)

// Kind is the kind of a memory.
type Kind string

// The kinds of memories.
const (
	Fact       Kind = "FACT"
	Preference Kind = "PREFERENCE"
	Insight    Kind = "INSIGHT"
	Procedure  Kind = "PROCEDURE"
)

// Item is a memory as a run uses it.
type Item struct {
	ID         uuid.UUID
	Kind       Kind
	Content    string
	Importance float64 // 0 to 1
}

// Note is a memory that an agent wants to keep.
type Note struct {
	Kind       Kind
	Content    string  // at most 4,000 characters
	Importance float64 // 0 to 1
}

func fromRow(row *ent.AgentMemory) Item {
	return Item{ID: row.ID, Kind: Kind(row.Kind), Content: row.Content, Importance: row.Importance}
}
