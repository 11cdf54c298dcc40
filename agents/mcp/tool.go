package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Limits of the tools of a server.
const (
	MaxTools      = 200
	maxToolName   = 64
	maxSchemaSize = 64 << 10 // bytes of JSON
)

// Hints are a server's own claims about a tool. They are not checked.
type Hints struct {
	ReadOnly, Destructive, Idempotent bool
}

// Tool is a tool of a server, as models and people see it.
type Tool struct {
	// Name is the server's name of the tool: at most 64 of letters, digits, _, - and
	// the full stop.
	Name, Title, Description string
	// Input and Output are JSON schemas of objects. Output is nil if the server gives
	// none. Their descriptions are cleaned.
	Input, Output json.RawMessage
	Hints         Hints
	// Pin is the SHA-256, in hex, of everything that the server says about the tool. A
	// different Pin means that the tool was changed.
	Pin string
	// Silence bounds the silence within a call; zero means Limits.Call.
	Silence time.Duration
}

// Risk returns what a call can do. Hints lower it only if they are trusted; they raise
// it in any case.
func (t *Tool) Risk(trusted bool) policy.Risk {
	switch {
	case t.Hints.Destructive:
		return policy.Delete
	case trusted && t.Hints.ReadOnly:
		return policy.Read
	default:
		return policy.Write
	}
}

// Skipped is a tool that cannot be used.
type Skipped struct{ Name, Reason string }

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// newTool returns a tool of a server, or why it cannot be used.
func newTool(t *sdk.Tool) (tool Tool, problem string) {
	if len(t.Name) > maxToolName || !toolName.MatchString(t.Name) {
		return Tool{}, "its name is not made of at most 64 letters, digits, _, - and full stops"
	}
	tool = Tool{Name: t.Name, Title: safetext.Truncate(safetext.Line(t.Title), maxTitle), Description: describe(t.Description, maxDescription)}
	destructive := false
	if a := t.Annotations; a != nil {
		if tool.Title == "" {
			tool.Title = safetext.Truncate(safetext.Line(a.Title), maxTitle)
		}
		destructive = a.DestructiveHint != nil && *a.DestructiveHint && !a.ReadOnlyHint
		tool.Hints = Hints{ReadOnly: a.ReadOnlyHint && !destructive, Destructive: destructive, Idempotent: a.IdempotentHint}
	}
	if tool.Title == "" {
		tool.Title = tool.Name
	}
	if tool.Input, problem = toolSchema(t.InputSchema); problem != "" {
		return Tool{}, "the schema of its arguments " + problem
	}
	if tool.Input == nil {
		tool.Input = json.RawMessage(`{"type":"object"}`)
	}
	if tool.Output, problem = toolSchema(t.OutputSchema); problem != "" {
		return Tool{}, "the schema of its results " + problem
	}
	// Maps encode with sorted keys, so that the same tool has the same hash.
	said, err := json.Marshal([]any{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations})
	if err != nil {
		return Tool{}, "it cannot be written as JSON"
	}
	sum := sha256.Sum256(said)
	tool.Pin = hex.EncodeToString(sum[:])
	return tool, ""
}

// toolSchema returns a cleaned schema, or what is wrong with it.
func toolSchema(given any) (text json.RawMessage, problem string) {
	if given == nil {
		return nil, ""
	}
	object, ok := given.(map[string]any)
	if !ok {
		return nil, "is no object"
	}
	if kind, ok := object["type"]; ok && kind != "object" {
		return nil, "is not that of an object"
	}
	text, err := json.Marshal(cleanSchema(object))
	if err != nil {
		return nil, "cannot be written as JSON"
	}
	if len(text) > maxSchemaSize {
		return nil, "has more than 64 KiB"
	}
	return text, ""
}
