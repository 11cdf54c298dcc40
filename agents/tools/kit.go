package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/catalog"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Searcher finds passages.
type Searcher interface {
	Search(ctx context.Context, scope viewer.Scope, q search.Query) (*search.Results, error)
}

// Texts keeps the contents and summaries of documents; index.Store does.
type Texts interface {
	Content(ctx context.Context, scope viewer.Scope, document uuid.UUID) (string, error)
	Summary(ctx context.Context, scope viewer.Scope, document uuid.UUID) (string, error)
	SetSummary(ctx context.Context, scope viewer.Scope, document uuid.UUID, summary string) error
}

// Summarizer shortens a document; summary.Summarizer does.
type Summarizer interface {
	Summarize(ctx context.Context, title, text string) (string, error)
}

// Rememberer keeps what an agent wants to know the next time.
type Rememberer interface {
	Remember(ctx context.Context, agent, run uuid.UUID, note memory.Note) (memory.Item, error)
}

// Databases are those attached for agents; attached.Databases is.
type Databases interface {
	Search(ctx context.Context, scope viewer.Scope, database, query string, limit int) ([]attached.Found, error)
	Table(ctx context.Context, scope viewer.Scope, database, name string) (*attached.Detail, error)
	Query(ctx context.Context, scope viewer.Scope, q attached.Question) (*attached.Answer, error)
}

// Kit is what tools work with. Every field but Databases is needed.
type Kit struct {
	Ent       *ent.Client
	Search    Searcher
	Texts     Texts
	Summaries Summarizer
	Databases Databases // nil: none is attached
	Now       func() time.Time
}

// Desk is the place of one run: what its tools may reach, and what they share.
type Desk struct {
	// Reach is the viewer's, narrowed to the agent's collections.
	Reach viewer.Scope
	// Number gives a document the number by which the answer cites it.
	Number func(search.Hit) int
	// Agent and Run are whose memories are written; Memories nil offers none.
	Agent, Run uuid.UUID
	Memories   Rememberer
}

// The names of the tools that agents can be given, and of the one they have by themselves. What plans without a model knows
// three of them by name.
const (
	SearchDocuments      = loop.SearchTool
	GetDocument          = catalog.GetDocument
	SummarizeDocument    = catalog.SummarizeDocument
	SearchDatabaseSchema = catalog.SearchDatabaseSchema
	QueryDatabase        = catalog.QueryDatabase
	GetTableInfo         = catalog.GetTableInfo
	Calculate            = loop.CalculateTool
	GetCurrentDatetime   = loop.ClockTool
	Remember             = "remember"
)

// Names lists the tools that agents can be given.
func Names() []string { return catalog.ToolNames() }

// Tools are those of the names at a desk, each once, in the order of Names; a name that is none is left out. Remember comes
// with them where the desk has memories.
func (k *Kit) Tools(desk Desk, names []string) []loop.Tool {
	var out []loop.Tool
	for _, tool := range k.all(desk) {
		if tool.Name == Remember || slices.Contains(names, tool.Name) {
			out = append(out, tool)
		}
	}
	return out
}

func (k *Kit) all(desk Desk) []loop.Tool {
	b := &bench{Kit: k, desk: desk}
	all := []loop.Tool{
		b.searchDocuments(), b.getDocument(), b.summarizeDocument(), b.searchDatabaseSchema(), b.queryDatabase(), b.getTableInfo(),
		calculate(), b.getCurrentDatetime(),
	}
	if desk.Memories != nil {
		all = append(all, b.remember())
	}
	return all
}

// Parameters is the JSON schema of the arguments of a tool that agents can be
// given; nil for a name that is none.
func (k *Kit) Parameters(name string) map[string]any {
	for _, tool := range k.Tools(Desk{}, []string{name}) {
		var schema map[string]any
		if json.Unmarshal(tool.Schema, &schema) == nil {
			return schema
		}
	}
	return nil
}

// bench is a kit at a desk.
type bench struct {
	*Kit
	desk Desk
}

// define makes a tool of a function: its schema and the reading of its arguments come from the input's type.
func define[In any](name, description string, limit time.Duration, do func(ctx context.Context, in In) (loop.Result, error)) loop.Tool {
	return loop.Tool{
		Name: name, Description: description, Schema: schemaOf[In](), Time: limit,
		Call: func(ctx context.Context, arguments json.RawMessage) (loop.Result, error) {
			in, err := decode[In](arguments)
			if err != nil {
				return loop.Result{}, err
			}
			return do(ctx, in)
		},
	}
}

// told is a result in JSON, with < and > as they are: documents have code.
func told(value any, summary string, parts ...any) (loop.Result, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return loop.Result{}, fmt.Errorf("write a result: %w", err)
	}
	return loop.Result{Text: string(bytes.TrimSpace(b.Bytes())), Summary: fmt.Sprintf(summary, parts...)}, nil
}
