package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/catalog"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Searcher finds passages; search.Engine implements it.
type Searcher interface {
	Search(ctx context.Context, scope viewer.Scope, q search.Query) (*search.Results, error)
}

// Texts reads the contents and keeps the summaries of documents; index.Store
// implements it.
type Texts interface {
	Content(ctx context.Context, scope viewer.Scope, document uuid.UUID) (string, error)
	Summary(ctx context.Context, scope viewer.Scope, document uuid.UUID) (string, error)
	SetSummary(ctx context.Context, scope viewer.Scope, document uuid.UUID, summary string) error
}

// Summarizer writes a summary of a document; summary.Summarizer implements it.
type Summarizer interface {
	Summarize(ctx context.Context, title, text string) (string, error)
}

// Rememberer keeps a memory of an agent; memory.Store implements it.
type Rememberer interface {
	Remember(ctx context.Context, agent, run uuid.UUID, note memory.Note) (memory.Item, error)
}

// Databases are the databases that agents may query; attached.Databases
// implements it.
type Databases interface {
	Search(ctx context.Context, scope viewer.Scope, database, query string, limit int) ([]attached.Match, error)
	Table(ctx context.Context, scope viewer.Scope, database, name string) (*attached.TableDetail, error)
	Query(ctx context.Context, scope viewer.Scope, q attached.Statement) (*attached.Result, error)
}

// Kit holds what the tools of all runs share. Every field but Databases is
// required.
type Kit struct {
	Ent       *ent.Client
	Search    Searcher
	Texts     Texts
	Summaries Summarizer
	Databases Databases // nil: no database is attached
	Now       func() time.Time
}

// RunContext is what the tools of one run share.
type RunContext struct {
	// Scope is the viewer's scope, narrowed to the agent's collections.
	Scope viewer.Scope
	// SourceNumber returns the number by which the answer cites a document.
	SourceNumber func(search.Hit) int
	// Agent and Run own the memories that tools write. Nil Memories offer no
	// Remember tool.
	Agent, Run uuid.UUID
	Memories   Rememberer
}

// The names of the tools. All but Remember can be given to an agent. The
// planner without a model knows three of them.
const (
	SearchDocuments      = loop.SearchTool
	GetDocument          = catalog.GetDocument
	SummarizeDocument    = catalog.SummarizeDocument
	SearchDatabaseSchema = catalog.SearchDatabaseSchema
	QueryDatabase        = catalog.QueryDatabase
	GetTableInfo         = catalog.GetTableInfo
	Calculate            = loop.CalculateTool
	GetCurrentDatetime   = loop.ClockTool
	AskHuman             = catalog.AskHuman
	Remember             = "remember"
)

// Names returns the tools that can be given to agents.
func Names() []string { return catalog.ToolNames() }

// Tools returns the tools of the given names for a run, in the order of Names.
// Duplicate and unknown names are ignored. Remember is added if the run has
// memories.
func (k *Kit) Tools(run RunContext, names []string) []loop.Tool {
	var out []loop.Tool
	for _, tool := range k.all(run) {
		if tool.Name == Remember || slices.Contains(names, tool.Name) {
			out = append(out, tool)
		}
	}
	return out
}

func (k *Kit) all(run RunContext) []loop.Tool {
	s := &toolset{Kit: k, run: run}
	all := []loop.Tool{
		s.searchDocumentsTool(), s.getDocumentTool(), s.summarizeDocumentTool(), s.searchDatabaseSchemaTool(), s.queryDatabaseTool(), s.getTableInfoTool(),
		calculateTool(), s.getCurrentDatetimeTool(), askHumanTool(),
	}
	if run.Memories != nil {
		all = append(all, s.rememberTool())
	}
	return all
}

// Parameters returns the JSON schema of the arguments of a tool that can be
// given to agents, or nil if there is no tool of that name.
func (k *Kit) Parameters(name string) map[string]any {
	for _, tool := range k.Tools(RunContext{}, []string{name}) {
		var schema map[string]any
		if json.Unmarshal(tool.Schema, &schema) == nil {
			return schema
		}
	}
	return nil
}

// toolset is a kit with the context of one run.
type toolset struct {
	*Kit
	run RunContext
}

// define returns a tool whose schema and argument validation come from the type
// In.
func define[In any](name, description string, limit time.Duration, do func(ctx context.Context, in In) (loop.Result, error)) loop.Tool {
	return loop.Tool{
		Name: name, Description: description, Schema: arguments.Schema[In](), Timeout: limit,
		Call: func(ctx context.Context, raw json.RawMessage) (loop.Result, error) {
			in, err := arguments.Decode[In](raw)
			if err != nil {
				return loop.Result{}, err
			}
			return do(ctx, in)
		},
	}
}

// jsonResult returns value as JSON. It leaves < and > as they are, since
// documents contain code.
func jsonResult(value any, summary string, parts ...any) (loop.Result, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return loop.Result{}, fmt.Errorf("encode a result: %w", err)
	}
	return loop.Result{Text: string(bytes.TrimSpace(b.Bytes())), Summary: fmt.Sprintf(summary, parts...)}, nil
}
