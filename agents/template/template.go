package template

import (
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
)

// Template is a blueprint of agents.
type Template struct {
	ID           uuid.UUID
	Name         string
	Description  string
	Category     string
	SystemPrompt string
	Tools        []string
	StartMessage *string
	BuiltIn      bool       // part of the program; cannot be changed
	CreatedAt    *time.Time // nil if built in
	UpdatedAt    *time.Time // nil if built in
}

func fromRow(row *ent.AgentTemplate) *Template {
	return &Template{
		ID: row.ID, Name: row.Name, Description: row.Description, Category: row.Category, SystemPrompt: row.SystemPrompt,
		Tools: append([]string{}, row.Tools...), StartMessage: row.StartMessage, CreatedAt: &row.CreatedAt, UpdatedAt: &row.UpdatedAt,
	}
}
