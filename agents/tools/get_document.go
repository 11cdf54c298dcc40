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
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	documentTime = 15 * time.Second
	pageRunes    = 8000
)

type documentInput struct {
	ID   string `json:"id" rule:"required,min=1,max=36,format=uuid" about:"The document_id that a search gave."`
	Page int    `json:"page" rule:"min=1,max=100000" about:"Which page of a long document; 1 when left out."`
}

func (b *bench) getDocument() loop.Tool {
	return define(GetDocument, fmt.Sprintf("Returns a document's text as Markdown, a long one in pages of about %d characters.", pageRunes), documentTime, b.document)
}

func (b *bench) document(ctx context.Context, in documentInput) (loop.Result, error) {
	row, reach, err := b.find(ctx, in.ID)
	if err != nil {
		return loop.Result{}, err
	}
	text, err := b.Texts.Content(ctx, reach, row.ID)
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
	fields := b.about(row)
	fields["page"], fields["pages"], fields["content"] = page, pages, shown
	return told(fields, "%s, page %d of %d", cut(row.Title, 120), page, pages)
}

// pageEnd is where the first page of a text ends: at a line's end where one is near.
func pageEnd(text string) int {
	if len(text) <= pageRunes {
		return len(text)
	}
	runes, line := 0, 0
	for i, r := range text {
		if runes == pageRunes {
			if line > 0 {
				return line
			}
			return i
		}
		if runes++; r == '\n' && runes > pageRunes*4/5 {
			line = i + utf8.RuneLen(r)
		}
	}
	return len(text)
}

// find reads a document that the desk reaches; any other is not found.
func (b *bench) find(ctx context.Context, given string) (*ent.Document, viewer.Scope, error) {
	missing := apierr.New(apierr.CodeNotFound, "There is no such document for this agent. Give a document_id as a search gave it.")
	id, err := uuid.Parse(given)
	if err != nil {
		return nil, viewer.Scope{}, missing
	}
	query := b.Ent.Document.Query().Where(document.ID(id), document.StatusNEQ(document.StatusDeleted))
	if ids, all := b.desk.Reach.Collections(); !all {
		query.Where(document.CollectionIDIn(ids...))
	}
	row, err := query.Only(ctx)
	if ent.IsNotFound(err) {
		return nil, viewer.Scope{}, missing
	}
	if err != nil {
		return nil, viewer.Scope{}, err
	}
	reach, err := b.desk.Reach.Narrow(row.CollectionID)
	if err != nil {
		return nil, viewer.Scope{}, missing
	}
	return row, reach, nil
}

// about is what is told of a document beside its text; it can be cited from then on.
func (b *bench) about(row *ent.Document) map[string]any {
	hit := search.Hit{Document: row.ID, Collection: row.CollectionID, Title: row.Title}
	fields := map[string]any{"document_id": row.ID.String(), "title": row.Title}
	if row.URL != nil {
		hit.URL = *row.URL
		fields["url"] = *row.URL
	}
	if row.SourceUpdatedAt != nil {
		fields["updated_at"] = row.SourceUpdatedAt.UTC().Format(time.DateOnly)
	}
	fields["source"] = b.desk.Number(hit)
	return fields
}
