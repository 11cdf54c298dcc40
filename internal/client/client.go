package client

import (
	"context"
	_ "embed" // operations.graphql
	"encoding/json"
	"fmt"
	"maps"

	"github.com/magpie-search/magpie/internal/request/storedop"
)

//go:embed operations.graphql
var operations string

// Operations returns the GraphQL document with every operation that a Client runs.
func Operations() (string, error) {
	fragments, err := storedop.LoadFragments()
	if err != nil {
		return "", fmt.Errorf("read the operations: %w", err)
	}
	return fragments.Complete(operations), nil
}

// Variables are the variables of an operation, or the fields of an input object.
type Variables = map[string]any

// An Executor executes the operations of the document of Operations by name.
type Executor interface {
	// Do executes a query or mutation and decodes its data into out, which may
	// be nil. A variable may be a []Upload.
	Do(ctx context.Context, operation string, variables Variables, out any) error
	// Subscribe executes a subscription and calls each with the data of every
	// event until the events end or each returns an error.
	Subscribe(ctx context.Context, operation string, variables Variables, each func(json.RawMessage) error) error
}

// A Client operates the workspace that its Executor acts on.
type Client struct{ Executor }

// New returns a Client that runs its operations on x.
func New(x Executor) *Client { return &Client{x} }

// A Connection is one page of a GraphQL connection.
type Connection[T any] struct {
	Edges []struct {
		Node *T `json:"node"`
	} `json:"edges"`
	PageInfo struct {
		HasNextPage bool    `json:"hasNextPage"`
		EndCursor   *string `json:"endCursor"`
	} `json:"pageInfo"`
}

// A Page is the data of an operation whose connection has the alias page.
type Page[T any] struct {
	Page Connection[T] `json:"page"`
}

// List reads the pages of an operation whose connection has the alias page and
// whose cursor is the variable after. It returns at most limit rows, or all of
// them when limit is 0.
func List[T any](ctx context.Context, c *Client, operation string, v Variables, limit int) ([]T, error) {
	return ListFrom(ctx, c, operation, v, limit, func(p *Page[T]) *Connection[T] { return &p.Page })
}

// ListFrom is like List for an operation whose data is of type D, in which page
// finds the connection.
func ListFrom[T, D any](ctx context.Context, c *Client, operation string, v Variables, limit int, page func(*D) *Connection[T]) ([]T, error) {
	rows := []T{}
	v = clone(v)
	for {
		var data D
		if err := c.Do(ctx, operation, v, &data); err != nil {
			return nil, err
		}
		p := page(&data)
		for _, edge := range p.Edges {
			if edge.Node == nil {
				continue
			}
			rows = append(rows, *edge.Node)
			if limit > 0 && len(rows) == limit {
				return rows, nil
			}
		}
		if !p.PageInfo.HasNextPage || p.PageInfo.EndCursor == nil {
			return rows, nil
		}
		v["after"] = *p.PageInfo.EndCursor
	}
}

// clone returns a copy of v, which is never nil.
func clone(v Variables) Variables {
	out := make(Variables, len(v)+1)
	maps.Copy(out, v)
	return out
}
