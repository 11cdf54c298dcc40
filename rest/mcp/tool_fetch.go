package mcp

import (
	"context"
	"fmt"
	"strings"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/internal/apierr"
)

// pageLength is the length of a page of a document in characters.
const pageLength = 40_000

type fetchInput struct {
	ID   string `json:"id" jsonschema:"id of a document, as search gives it"`
	Page int    `json:"page,omitempty" jsonschema:"of a long document: 1 when left out"`
}

type fetchOutput struct {
	ID       string         `json:"id"`
	Title    string         `json:"title"`
	Text     string         `json:"text" jsonschema:"the page in Markdown"`
	URL      string         `json:"url"`
	Page     int            `json:"page"`
	Pages    int            `json:"pages"`
	Metadata map[string]any `json:"metadata"`
}

func fetchTool() *protocol.Tool {
	return readOnly("fetch", "Read a document",
		"Reads one document in Markdown by the id of a search result. A long document has several pages of 40,000 characters.")
}

// storedDocument is a document as the operation returns it.
type storedDocument struct {
	ID, Title, Content, CollectionName, CollectionID                                   string
	URL, Author, Language, Section, Version, DocType, SourceCreatedAt, SourceUpdatedAt *string
	Tags                                                                               []string
}

func (s *session) document(ctx context.Context, id string) (storedDocument, error) {
	variables := map[string]any{}
	if err := setID(variables, "id", id); err != nil {
		return storedDocument{}, err
	}
	if id == "" {
		return storedDocument{}, invalid("id", "is required")
	}
	var data struct{ Document storedDocument }
	err := s.caller.run(ctx, "MCPDocument", variables, &data)
	return data.Document, err
}

func (s *session) fetch(ctx context.Context, in fetchInput) (string, fetchOutput, error) {
	if in.Page == 0 {
		in.Page = 1
	}
	d, err := s.document(ctx, in.ID)
	if err != nil {
		return "", fetchOutput{}, err
	}
	pages := splitPages(d.Content, pageLength)
	if in.Page < 1 || in.Page > len(pages) {
		return "", fetchOutput{}, apierr.Invalid("page", fmt.Sprintf("must be between 1 and %d, the number of pages of this document", len(pages)))
	}
	metadata := map[string]any{"collection": d.CollectionName, "collection_id": d.CollectionID}
	for name, value := range map[string]*string{
		"author": d.Author, "language": d.Language, "section": d.Section, "version": d.Version, "doc_type": d.DocType,
		"created_at": d.SourceCreatedAt, "updated_at": d.SourceUpdatedAt,
	} {
		if value != nil {
			metadata[name] = *value
		}
	}
	if len(d.Tags) > 0 {
		metadata["tags"] = d.Tags
	}
	out := fetchOutput{ID: d.ID, Title: d.Title, URL: text(d.URL), Text: pages[in.Page-1], Page: in.Page, Pages: len(pages), Metadata: metadata}
	return out.Text, out, nil
}

// splitPages splits text into pages of at most a number of characters, at the end of
// a line where there is one in the second half of the page. There is at least one
// page.
func splitPages(text string, length int) []string {
	var pages []string
	for {
		end, n := len(text), 0
		for i := range text {
			if n == length {
				end = i
				break
			}
			n++
		}
		if end == len(text) {
			return append(pages, text)
		}
		if line := strings.LastIndexByte(text[:end], '\n'); line > end/2 {
			end = line + 1
		}
		pages = append(pages, text[:end])
		text = text[end:]
	}
}
