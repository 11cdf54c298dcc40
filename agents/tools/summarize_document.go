package tools

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/safetext"
)

// summaryTimeout is longer than that of a search, because a chat model may
// write the summary.
const summaryTimeout = 60 * time.Second

type summaryInput struct {
	ID string `json:"id" rule:"required,min=1,max=36,format=uuid" about:"The document_id that a search gave."`
}

func (s *toolset) summarizeDocumentTool() loop.Tool {
	return define(SummarizeDocument, "Returns a summary of a document in a few sentences.", summaryTimeout, s.summarizeDocument)
}

// summarizeDocument returns the stored summary. If there is none, it makes and
// stores one.
func (s *toolset) summarizeDocument(ctx context.Context, in summaryInput) (loop.Result, error) {
	row, scope, err := s.findDocument(ctx, in.ID)
	if err != nil {
		return loop.Result{}, err
	}
	text, err := s.Texts.Summary(ctx, scope, row.ID)
	if err != nil {
		return loop.Result{}, err
	}
	if text == "" {
		content, err := s.Texts.Content(ctx, scope, row.ID)
		if err != nil {
			return loop.Result{}, err
		}
		if text, err = s.Summaries.Summarize(ctx, row.Title, content); err != nil {
			return loop.Result{}, err
		}
		if err := s.Texts.SetSummary(ctx, scope, row.ID, text); err != nil {
			return loop.Result{}, err
		}
	}
	fields := s.documentFields(row)
	fields["summary"] = text
	return jsonResult(fields, "%s, summarized", safetext.Truncate(row.Title, 120))
}
