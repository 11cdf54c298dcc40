package mcp

import (
	"context"
	"fmt"
	"strings"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
)

type collectionsOutput struct {
	Collections []collectionInfo `json:"collections"`
}

func collectionsTool() *protocol.Tool {
	return readOnly("list_collections", "List collections", "Lists the collections that search reaches, with their ids and numbers of documents.")
}

func (s *session) listCollections(ctx context.Context, _ struct{}) (string, collectionsOutput, error) {
	list, err := s.collections(ctx)
	if err != nil {
		return "", collectionsOutput{}, err
	}
	lines := make([]string, len(list))
	for i, c := range list {
		lines[i] = fmt.Sprintf("%s (%s), %d documents. %s", oneLine(c.Name, 80), c.ID, c.Documents, oneLine(c.Description, 300))
	}
	if len(list) == 0 {
		lines = []string{"There is no collection."}
	}
	return strings.Join(lines, "\n"), collectionsOutput{list}, nil
}

type sourcesInput struct {
	Collection string `json:"collection,omitempty" jsonschema:"id of one collection; the default of the key, or all of a person, when left out"`
}

type sourceInfo struct {
	Name      string `json:"name" jsonschema:"the name that the filter source takes"`
	Title     string `json:"title"`
	Documents int    `json:"documents"`
}

type sourcesOutput struct {
	Sources []sourceInfo `json:"sources"`
}

func sourcesTool() *protocol.Tool {
	return readOnly("list_sources", "List sources", "Lists the kinds of sources that the documents come from, such as wikis or code hosting, with their numbers of documents.")
}

func (s *session) listSources(ctx context.Context, in sourcesInput) (string, sourcesOutput, error) {
	input := map[string]any{"facets": map[string]any{"fields": []string{"SOURCE"}, "first": 100}}
	if err := setID(input, "collection", in.Collection); err != nil {
		return "", sourcesOutput{}, err
	}
	var data struct {
		SearchFacets []struct {
			Values []struct {
				Value, Label string
				Count        int
			}
		}
	}
	if err := s.caller.run(ctx, "MCPSources", map[string]any{"input": input}, &data); err != nil {
		return "", sourcesOutput{}, err
	}
	out := sourcesOutput{Sources: []sourceInfo{}}
	var lines []string
	for _, facet := range data.SearchFacets {
		for _, v := range facet.Values {
			out.Sources = append(out.Sources, sourceInfo{Name: v.Value, Title: v.Label, Documents: v.Count})
			lines = append(lines, fmt.Sprintf("%s: %d documents", v.Value, v.Count))
		}
	}
	if len(lines) == 0 {
		lines = []string{"There are no documents."}
	}
	return strings.Join(lines, "\n"), out, nil
}
