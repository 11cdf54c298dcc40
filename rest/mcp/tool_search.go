package mcp

import (
	"context"
	"fmt"
	"strings"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
)

const searchAbout = "Finds passages of documents by meaning and by words, the best first. Write a question or keywords in any language. " +
	"A result has the id of its document for fetch, a title, a URL, the passage and a score from 0 to 1."

type searchFilters struct {
	Section    string   `json:"section,omitempty"`
	Version    string   `json:"version,omitempty"`
	Tags       []string `json:"tags,omitempty" jsonschema:"only documents with one of these tags"`
	DocTypes   []string `json:"doc_types,omitempty" jsonschema:"only documents of one of these types, such as page, issue or file"`
	Language   string   `json:"language,omitempty" jsonschema:"ISO 639-1 code, such as en"`
	DateAfter  string   `json:"date_after,omitempty" jsonschema:"a day as YYYY-MM-DD: written or changed on it or later"`
	DateBefore string   `json:"date_before,omitempty" jsonschema:"a day as YYYY-MM-DD: written or changed on it or earlier"`
	Source     string   `json:"source,omitempty" jsonschema:"only documents of one kind of source, as list_sources names it"`
}

type searchInput struct {
	Query      string         `json:"query" jsonschema:"words or a question"`
	Collection string         `json:"collection,omitempty" jsonschema:"id of one collection; the default of the key, or all of a person, when left out"`
	Filters    *searchFilters `json:"filters,omitempty"`
	Limit      int            `json:"limit,omitempty" jsonschema:"1 to 20 results, 10 when left out"`
	MinScore   *float64       `json:"min_score,omitempty" jsonschema:"0 to 1: leaves out results with a lower score"`
}

type searchResult struct {
	ID         string      `json:"id" jsonschema:"id of the document"`
	Title      string      `json:"title"`
	URL        string      `json:"url"`
	Text       string      `json:"text" jsonschema:"the passage"`
	Score      float64     `json:"score"`
	Headings   []string    `json:"headings,omitempty" jsonschema:"the headings above the passage"`
	Section    string      `json:"section,omitempty"`
	Version    string      `json:"version,omitempty"`
	Tags       []string    `json:"tags,omitempty"`
	DocType    string      `json:"doc_type,omitempty"`
	Language   string      `json:"language,omitempty"`
	Collection string      `json:"collection"`
	Source     string      `json:"source"`
	UpdatedAt  string      `json:"updated_at,omitempty"`
	Duplicates *duplicates `json:"duplicates,omitempty" jsonschema:"passages of other documents with nearly the same text, which are left out"`
}

// duplicates are what a result stands for besides itself.
type duplicates struct {
	Count    int      `json:"count"`
	Versions []string `json:"versions" jsonschema:"of their documents, the newest first"`
}

type searchOutput struct {
	Results    []searchResult `json:"results"`
	Total      int            `json:"total"`
	DidYouMean string         `json:"did_you_mean,omitempty"`
	Warnings   []string       `json:"warnings,omitempty"`
}

func readOnly(name, title, description string) *protocol.Tool {
	closed := false
	return &protocol.Tool{
		Name: name, Title: title, Description: description,
		Annotations: &protocol.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}
}

func searchTool(description string) *protocol.Tool {
	return readOnly("search", "Search", description)
}

const (
	defaultResults = 10
	maxResults     = 20
)

func (s *session) search(ctx context.Context, in searchInput) (string, searchOutput, error) {
	if in.Limit == 0 {
		in.Limit = defaultResults
	}
	if in.Limit < 1 || in.Limit > maxResults {
		return "", searchOutput{}, invalid("limit", "must be between 1 and 20")
	}
	input := map[string]any{"query": in.Query, "limit": in.Limit}
	if err := setID(input, "collection", in.Collection); err != nil {
		return "", searchOutput{}, err
	}
	if in.MinScore != nil {
		input["minScore"] = *in.MinScore
	}
	if in.Filters != nil {
		filters, err := in.Filters.variables()
		if err != nil {
			return "", searchOutput{}, err
		}
		input["filters"] = filters
	}
	var data struct {
		Search struct {
			Results []struct {
				DocumentID, Title, Snippet, Collection, Source      string
				URL, Section, Version, DocType, Language, UpdatedAt *string
				Score                                               float64
				Tags, HeadingPath                                   []string
				Duplicates                                          *duplicates
			}
			Total      int
			DidYouMean *string
			Warnings   []string
		}
	}
	if err := s.caller.run(ctx, "MCPSearch", map[string]any{"input": input}, &data); err != nil {
		return "", searchOutput{}, err
	}
	found := data.Search
	out := searchOutput{Results: make([]searchResult, len(found.Results)), Total: found.Total, DidYouMean: text(found.DidYouMean), Warnings: found.Warnings}
	var b strings.Builder
	for i, r := range found.Results {
		out.Results[i] = searchResult{
			ID: r.DocumentID, Title: r.Title, URL: text(r.URL), Text: r.Snippet, Score: r.Score, Headings: r.HeadingPath,
			Section: text(r.Section), Version: text(r.Version), Tags: r.Tags, DocType: text(r.DocType), Language: text(r.Language),
			Collection: r.Collection, Source: r.Source, UpdatedAt: text(r.UpdatedAt), Duplicates: r.Duplicates,
		}
		fmt.Fprintf(&b, "%d. %s", i+1, oneLine(r.Title, 200))
		if r.URL != nil {
			b.WriteString("\n   " + *r.URL)
		}
		fmt.Fprintf(&b, "\n   id %s, score %.2f, %s\n", r.DocumentID, r.Score, r.Source)
		if d := r.Duplicates; d != nil {
			fmt.Fprintf(&b, "   stands for %d more with nearly the same text", d.Count)
			if len(d.Versions) > 0 {
				b.WriteString(", of versions " + strings.Join(d.Versions, ", "))
			}
			b.WriteString("\n")
		}
		b.WriteString("   " + strings.ReplaceAll(strings.TrimSpace(r.Snippet), "\n", "\n   ") + "\n\n")
	}
	if len(found.Results) == 0 {
		b.WriteString("Nothing was found.")
	}
	if found.DidYouMean != nil {
		fmt.Fprintf(&b, "Did you mean: %s\n", *found.DidYouMean)
	}
	return strings.TrimSpace(b.String()), out, nil
}
