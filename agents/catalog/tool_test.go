package catalog_test

import (
	"slices"
	"testing"

	"github.com/magpie-search/magpie/agents/catalog"
)

func TestToolNamesMatchTheInterface(t *testing.T) {
	t.Parallel()
	want := []string{"search_documents", "get_document", "summarize_document", "search_database_schema", "query_database", "get_table_info", "calculate", "get_current_datetime",
		"ask_human"} // beyond the interface
	if got := catalog.ToolNames(); !slices.Equal(got, want) {
		t.Errorf("the tools are %v", got)
	}
	c := catalog.NewCatalog(nil, catalog.Options{Parameters: func(tool string) map[string]any { return map[string]any{"title": tool} }})
	for i, tool := range c.Tools() {
		if tool.Name != want[i] || tool.Title == "" || tool.Description == "" || tool.Parameters["title"] != tool.Name {
			t.Errorf("%+v", tool)
		}
	}
}
