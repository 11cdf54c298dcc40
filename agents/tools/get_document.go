package tools

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	documentTimeout = 15 * time.Second
	pageLength      = 8000
)

type documentInput struct {
	ID   string `json:"id" rule:"required,min=1,max=36,format=uuid" about:"The document_id that a search gave."`
	Page int    `json:"page" rule:"min=1,max=100000" about:"Which page of a long document; 1 when left out."`
}

func (s *toolset) getDocumentTool() loop.Tool {
	return define(GetDocument, fmt.Sprintf("Returns a document's text as Markdown, a long one in pages of about %d characters.", pageLength), documentTimeout, s.getDocument)
}

func (s *toolset) getDocument(ctx context.Context, in documentInput) (loop.Result, error) {
	row, scope, err := s.findDocument(ctx, in.ID)
	if err != nil {
		return loop.Result{}, err
	}
	text, err := s.Texts.Content(ctx, scope, row.ID)
	if err != nil {
		return loop.Result{}, err
	}
	page, pages := max(in.Page, 1), 0
	shown := ""
	for rest := text; rest != "" || pages == 0; {
		end := pageEnd(rest)
		if pages++; pages == page {
			shown = rest[:end]
		}
		rest = rest[end:]
	}
	if page > pages {
		return loop.Result{}, apierr.Invalid("page", fmt.Sprintf("the document has %d pages", pages))
	}
	fields := s.documentFields(row)
	fields["page"], fields["pages"], fields["content"] = page, pages, shown
	return jsonResult(fields, "%s, page %d of %d", safetext.Truncate(row.Title, 120), page, pages)
}

// pageEnd returns where the first page of text ends: at the end of a line if
// one is near.
func pageEnd(text string) int {
	if len(text) <= pageLength {
		return len(text)
	}
	runes, line := 0, 0
	for i, r := range text {
		if runes == pageLength {
			if line > 0 {
				return line
			}
			return i
		}
		if runes++; r == '\n' && runes > pageLength*4/5 {
			line = i + utf8.RuneLen(r)
		}
	}
	return len(text)
}

// findDocument reads a document within the run's scope. Any other is not found.
func (s *toolset) findDocument(ctx context.Context, given string) (*ent.Document, viewer.Scope, error) {
	missing := apierr.New(apierr.CodeNotFound, "There is no such document for this agent. Give a document_id as a search gave it.")
	id, err := uuid.Parse(given)
	if err != nil {
		return nil, viewer.Scope{}, missing
	}
	query := s.Ent.Document.Query().Where(document.ID(id), document.StatusNEQ(document.StatusDeleted))
	if ids, all := s.run.Scope.Collections(); !all {
		query.Where(document.CollectionIDIn(ids...))
	}
	row, err := query.Only(ctx)
	if ent.IsNotFound(err) {
		return nil, viewer.Scope{}, missing
	}
	if err != nil {
		return nil, viewer.Scope{}, err
	}
	scope, err := s.run.Scope.Narrow(row.CollectionID)
	if err != nil {
		return nil, viewer.Scope{}, missing
	}
	return row, scope, nil
}

// documentFields returns the metadata of a document. The answer can cite the
// document from then on.
func (s *toolset) documentFields(row *ent.Document) map[string]any {
	hit := search.Hit{Document: row.ID, Collection: row.CollectionID, Title: row.Title}
	fields := map[string]any{"document_id": row.ID.String(), "title": row.Title}
	if row.URL != nil {
		hit.URL = *row.URL
		fields["url"] = *row.URL
	}
	if row.SourceUpdatedAt != nil {
		fields["updated_at"] = row.SourceUpdatedAt.UTC().Format(time.DateOnly)
	}
	fields["source"] = s.run.SourceNumber(hit)
	return fields
}
