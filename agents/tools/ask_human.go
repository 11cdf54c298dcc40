package tools

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

type questionInput struct {
	Question string   `json:"question" rule:"required,min=1,max=300" about:"One line that is understood without this conversation."`
	Options  []string `json:"options" about:"Up to 20 answers to choose from, of at most 200 characters each; left out for any answer."`
}

// askHumanTool asks a person. The loop makes the run wait for the answer.
func askHumanTool() loop.Tool {
	tool := define(AskHuman, "Asks a person what only people can know or decide, and waits for the answer, which may take hours. "+
		"Use it for a decision or a fact that the documents do not give, not for what you can find out.", 5*time.Second,
		func(context.Context, questionInput) (loop.Result, error) {
			return loop.Result{}, apierr.New(apierr.Unavailable, "Nobody can be asked here.")
		})
	tool.Question = func(raw json.RawMessage) (loop.Question, error) {
		in, err := arguments.Decode[questionInput](raw)
		if err != nil {
			return loop.Question{}, err
		}
		q := loop.Question{Text: safetext.Line(in.Question)}
		if q.Text == "" {
			return loop.Question{}, apierr.Invalid("question", "must not be blank")
		}
		for _, option := range in.Options {
			if option = safetext.Truncate(safetext.Line(strings.TrimSpace(option)), 200); option != "" && len(q.Options) < 20 {
				q.Options = append(q.Options, option)
			}
		}
		return q, nil
	}
	return tool
}
