package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/internal/apierr"
)

// The tools that can be given to an agent.
const (
	SearchDocuments      = "search_documents"
	GetDocument          = "get_document"
	SummarizeDocument    = "summarize_document"
	SearchDatabaseSchema = "search_database_schema"
	QueryDatabase        = "query_database"
	GetTableInfo         = "get_table_info"
	Calculate            = "calculate"
	GetCurrentDatetime   = "get_current_datetime"
	AskHuman             = "ask_human"
)

// Tool describes a tool to people.
type Tool struct {
	Name        string // the name in an agent's list of tools
	Title       string
	Description string
	Parameters  map[string]any // JSON Schema; nil if not known
	// Risk and Policy say what a call can do and what happens with it. They are nil
	// for the built-in tools, as IntegrationID is. Unavailable says why agents cannot
	// call the tool now; nil if they can.
	Risk          *integrationtool.Risk
	Policy        *integrationtool.CallPolicy
	IntegrationID *uuid.UUID
	Unavailable   *string
}

// Tools returns all tools without their parameters, in the order of forms.
func Tools() []Tool {
	return []Tool{
		{Name: SearchDocuments, Title: "Search documents", Description: "Searches the collections that the agent reaches and reads the best passages."},
		{Name: GetDocument, Title: "Read a document", Description: "Reads one document as a whole, or a part of a long one."},
		{Name: SummarizeDocument, Title: "Summarize a document", Description: "Reads the summary of one document."},
		{Name: SearchDatabaseSchema, Title: "Search database schemas", Description: "Finds tables and columns of the attached databases by what they hold."},
		{Name: QueryDatabase, Title: "Query a database", Description: "Runs one read-only SQL query on an attached database."},
		{Name: GetTableInfo, Title: "Look at a table", Description: "Reads columns, types and keys of one table of an attached database."},
		{Name: Calculate, Title: "Calculate", Description: "Works out an arithmetic expression exactly."},
		{Name: GetCurrentDatetime, Title: "Date and time", Description: "Tells the current date and time, in any time zone."},
		{Name: AskHuman, Title: "Ask a person", Description: "Asks the person for whom the agent works a question, and waits for the answer."},
	}
}

// ToolNames returns the names of all tools.
func ToolNames() []string {
	all := Tools()
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return names
}

// MaxTools is the maximum number of tools of an agent.
const MaxTools = 100

// IsIntegrationTool reports whether a name has the form of a tool of an integration, such
// as jira.create_issue.
func IsIntegrationTool(name string) bool {
	return regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}\.[A-Za-z0-9_-]{1,64}$`).MatchString(name)
}

// CheckTools returns an error for unknown and repeated names. The error names the
// position. Names of tools of integrations are only checked for their form.
func CheckTools(names []string) error {
	all := ToolNames()
	if len(names) > MaxTools {
		return apierr.Invalid("tools", fmt.Sprintf("must have at most %d names", MaxTools))
	}
	for i, name := range names {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case !slices.Contains(all, name) && !IsIntegrationTool(name):
			return apierr.Invalid(at, "must be one of "+strings.Join(all, ", ")+", or a tool of an integration such as jira.search")
		case slices.Contains(names[:i], name):
			return apierr.Invalid(at, "is there twice")
		}
	}
	return nil
}
