package graph

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	entrun "github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxEvents is the largest number of events of a run in one page.
const maxEvents = 1000

func (r *Resolver) runAgent(ctx context.Context, in model.RunAgentInput) (<-chan model.AgentEvent, error) {
	if namesNothing(in.ConversationID) {
		return nil, apierr.NotFound("Conversation")
	}
	row, err := r.Runs.Start(ctx, run.Input{
		Agent: in.AgentID, Message: in.Message, Conversation: orZero(in.ConversationID), Admit: r.metered,
		// A client of REST cannot resume its stream.
		NoGracePeriod: isStored(ctx),
	})
	if err != nil {
		return nil, err
	}
	return r.agentRun(ctx, row.ID, nil)
}

func (r *Resolver) agentRun(ctx context.Context, id uuid.UUID, after *int) (<-chan model.AgentEvent, error) {
	events, err := r.Runs.Watch(ctx, id, int64(orZero(after)))
	if err != nil {
		return nil, err
	}
	return relay(ctx, events, agentEvent, func() {}), nil
}

func (r *Resolver) runs(ctx context.Context, agent uuid.UUID) (*ent.AgentRunQuery, error) {
	_, err := r.Agents.Get(ctx, agent)
	return r.client(ctx).AgentRun.Query().Where(entrun.AgentID(agent)), err
}

func (r *Resolver) run(ctx context.Context, id uuid.UUID, agent *uuid.UUID) (*ent.AgentRun, error) {
	query := r.client(ctx).AgentRun.Query().Where(entrun.ID(id))
	if agent != nil {
		query.Where(entrun.AgentID(*agent))
	}
	row, err := query.Only(ctx)
	return row, lookup.Error("Run", err)
}

func (r *Resolver) runEvents(ctx context.Context, row *ent.AgentRun, after, limit *int) ([]*model.AgentRunEvent, error) {
	page := eventPage{after: orZero(after), limit: maxEvents}
	if limit != nil {
		page.limit = *limit
	}
	if page.limit < 1 || page.limit > maxEvents {
		return nil, apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", maxEvents))
	}
	if page.after < 0 {
		return nil, apierr.Invalid("after", "must be 0 or more")
	}
	events, err := loadersOf(ctx).runEvents.of(page).Load(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	out := make([]*model.AgentRunEvent, len(events))
	for i, e := range events {
		out[i] = &model.AgentRunEvent{Seq: int(e.Seq), Type: e.Type, CreatedAt: e.CreatedAt, Data: map[string]any{}}
		if err := json.Unmarshal(e.Data, &out[i].Data); err != nil {
			return nil, apierr.Wrap("read an event", err)
		}
	}
	return out, nil
}

// eventPage is a part of a run's events.
type eventPage struct{ after, limit int }

func (r *Resolver) loadRunEvents(ctx context.Context, page eventPage, ids []uuid.UUID) (map[uuid.UUID][]run.Event, error) {
	v, _ := viewer.From(ctx)
	return r.Runs.EventsOf(ctx, v.Workspace, ids, int64(page.after), page.limit)
}

// agentEvent converts a stored event.
func agentEvent(e run.Event) model.AgentEvent {
	seq := int(e.Seq)
	switch e.Type {
	case run.TypeStart:
		d := dataOf[run.Start](e)
		return model.AgentRunStart{Seq: seq, RunID: d.RunID, ConversationID: d.ConversationID}
	case run.TypeIteration:
		d := dataOf[run.Iteration](e)
		return model.AgentIteration{Seq: seq, Number: d.Number, Status: d.Status}
	case run.TypeToolCall:
		d := dataOf[run.ToolCall](e)
		if d.Params == nil {
			d.Params = map[string]any{}
		}
		return model.AgentToolCall{Seq: seq, Tool: d.Tool, Params: d.Params, CallID: d.CallID}
	case run.TypeToolResult:
		d := dataOf[run.ToolResult](e)
		return model.AgentToolResult{Seq: seq, Tool: d.Tool, Success: d.Success, CallID: d.CallID, Message: d.Message}
	case run.TypeContent:
		return model.AgentContent{Seq: seq, Content: dataOf[run.Content](e).Content}
	case run.TypeApproval:
		d := dataOf[run.ApprovalRequired](e)
		return model.AgentApprovalRequired{
			Seq: seq, ApprovalID: d.ApprovalID, CallID: d.CallID, Tool: d.Tool, Kind: d.Kind, Risk: d.Risk, Title: d.Title, Preview: d.Preview,
			Options: append([]string{}, d.Options...), ExpiresAt: d.ExpiresAt,
		}
	case run.TypeAuth:
		d := dataOf[run.AuthRequired](e)
		return model.AgentAuthRequired{Seq: seq, IntegrationID: d.IntegrationID, Name: d.Name, AuthorizationURL: d.AuthorizationURL, CallID: d.CallID}
	case run.TypeWaiting:
		return model.AgentRunWaiting{Seq: seq, Approvals: dataOf[run.Waiting](e).Approvals}
	case run.TypeResumed:
		return model.AgentRunResumed{Seq: seq, ContentLength: dataOf[run.Resumed](e).ContentLength}
	case run.TypeComplete:
		d := dataOf[run.Complete](e)
		sources := make([]*model.ChatSource, len(d.Sources))
		for i, s := range d.Sources {
			sources[i] = &model.ChatSource{ID: s.ID, Title: s.Title, URL: s.URL, Passages: citedPassages(s.Passages)}
		}
		return model.AgentRunComplete{Seq: seq, Sources: sources, Usage: &model.AgentUsage{
			TotalTokens: d.Usage.TotalTokens, PromptTokens: d.Usage.PromptTokens, CompletionTokens: d.Usage.CompletionTokens,
		}}
	default:
		d := dataOf[run.Failure](e)
		return model.AgentError{Seq: seq, Code: string(d.Code), Message: d.Message, RequestID: nilIfZero(d.RequestID)}
	}
}

// dataOf decodes the data of an event, which Magpie itself has encoded. The result
// is zero if that fails.
func dataOf[T any](e run.Event) T {
	var d T
	_ = json.Unmarshal(e.Data, &d)
	return d
}
