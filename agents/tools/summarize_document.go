package tools

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/agents/loop"
)

// summaryTime is longer than what a search takes: a chat model may have to write the summary.
const summaryTime = 60 * time.Second

type summaryInput struct {
	ID string `json:"id" rule:"required,min=1,max=36,format=uuid" about:"The document_id that a search gave."`
}

func (b *bench) summarizeDocument() loop.Tool {
	return define(SummarizeDocument, "Returns a summary of a document in a few sentences.", summaryTime, b.summarize)
}

// summarize gives the kept summary; where there is none yet it is made and kept.
func (b *bench) summarize(ctx context.Context, in summaryInput) (loop.Result, error) {
	row, reach, err := b.find(ctx, in.ID)
	if err != nil {
		return loop.Result{}, err
	}
	text, err := b.Texts.Summary(ctx, reach, row.ID)
	if err != nil {
		return loop.Result{}, err
	}
	if text == "" {
		content, err := b.Texts.Content(ctx, reach, row.ID)
		if err != nil {
			return loop.Result{}, err
		}
		if text, err = b.Summaries.Summarize(ctx, row.Title, content); err != nil {
			return loop.Result{}, err
		}
		if err := b.Texts.SetSummary(ctx, reach, row.ID, text); err != nil {
			return loop.Result{}, err
		}
	}
	fields := b.about(row)
	fields["summary"] = text
	return told(fields, "%s, summarized", cut(row.Title, 120))
}
