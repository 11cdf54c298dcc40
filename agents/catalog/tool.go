package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

// The tools that an agent may be given.
const (
	SearchDocuments      = "search_documents"
	GetDocument          = "get_document"
	SummarizeDocument    = "summarize_document"
	SearchDatabaseSchema = "search_database_schema"
	QueryDatabase        = "query_database"
	GetTableInfo         = "get_table_info"
	Calculate            = "calculate"
	GetCurrentDatetime   = "get_current_datetime"
)

// Tool is a tool as people choose it.
type Tool struct {
	Name        string // among an agent's tools
	Title       string
	Description string
	Parameters  map[string]any // JSON Schema; nil when it is not known
}

// Tools lists all tools, without their parameters, in the order in which forms
// show them.
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
	}
}

// ToolNames are the names of all tools.
func ToolNames() []string {
	all := Tools()
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return names
}

// CheckTools refuses names that are no tool's, or are there twice; the error
// names the place.
func CheckTools(names []string) error {
	all := ToolNames()
	for i, name := range names {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case !slices.Contains(all, name):
			return apierr.Invalid(at, "must be one of "+strings.Join(all, ", "))
		case slices.Contains(names[:i], name):
			return apierr.Invalid(at, "is there twice")
		}
	}
	return nil
}
