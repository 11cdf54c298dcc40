package client

import (
	"context"

	"github.com/google/uuid"
)

// A Database is an attached database.
type Database struct {
	ID     uuid.UUID `json:"id"`
	Name   string    `json:"name"`
	Tables int       `json:"tables"`
}

// Databases lists the attached databases by name.
func (c *Client) Databases(ctx context.Context) ([]Database, error) {
	var data struct {
		Databases []Database `json:"databases"`
	}
	err := c.Do(ctx, "ListDatabases", nil, &data)
	return data.Databases, err
}

// A Table is a table of an attached database.
type Table struct {
	DatabaseID uuid.UUID `json:"databaseId"`
	// Table is the name as a statement writes it, with its schema.
	Table string `json:"table"`
}

// Tables lists all tables of a database.
func (c *Client) Tables(ctx context.Context, database uuid.UUID) ([]Table, error) {
	return List[Table](ctx, c, "ListDatabaseTables", Variables{"database": database}, 0)
}

// SearchTables returns the best tables of all databases for a question.
func (c *Client) SearchTables(ctx context.Context, question string, limit int) ([]Table, error) {
	var data struct {
		Found []Table `json:"found"`
	}
	err := c.Do(ctx, "SearchTables", Variables{"query": question, "limit": limit}, &data)
	return data.Found, err
}

// Rows are the result of a statement. Truncated is nil if they are complete.
type Rows struct {
	Columns   []string `json:"columns"`
	Rows      [][]any  `json:"rows"`
	Truncated *string  `json:"truncated"`
}

// RunStatement runs a statement that only reads.
func (c *Client) RunStatement(ctx context.Context, database uuid.UUID, sql string, limit int) (Rows, error) {
	var data struct {
		Result Rows `json:"result"`
	}
	err := c.Do(ctx, "RunStatement", Variables{"database": database, "sql": sql, "limit": limit}, &data)
	return data.Result, err
}
