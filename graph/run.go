package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	entagent "github.com/magpie-search/magpie/ent/agent"
	entrun "github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxEvents is how many events of a run are shown at once.
const maxEvents = 1000

func (r *Resolver) runAgent(ctx context.Context, in model.RunAgentInput) (<-chan model.AgentEvent, error) {
	if in.ConversationID != nil && *in.ConversationID == uuid.Nil {
		return nil, apierr.NotFound("Conversation") // which stands for none further down
	}
	row, err := r.Runs.Start(ctx, run.Input{
		Agent: in.AgentID, Message: in.Message, Conversation: orZero(in.ConversationID), Admit: r.metered,
		// A client of REST cannot take up its stream again.
		AtOnce: isStored(ctx),
	})
	if err != nil {
		return nil, err
	}
	return r.agentRun(ctx, row.ID, nil)
}

func (r *Resolver) agentRun(ctx context.Context, id uuid.UUID, after *int) (<-chan model.AgentEvent, error) {
	var from int64
	if after != nil {
		from = int64(*after)
	}
	events, err := r.Runs.Watch(ctx, id, from)
	if err != nil {
		return nil, err
	}
	return relay(ctx, events, agentEvent, func() {}), nil
}

func (r *Resolver) runs(ctx context.Context, agent uuid.UUID) (*ent.AgentRunQuery, error) {
	exists, err := r.client(ctx).Agent.Query().Where(entagent.ID(agent)).Exist(ctx)
	switch {
	case err != nil:
		return nil, err
	case !exists:
		return nil, apierr.NotFound("Agent")
	}
	return r.client(ctx).AgentRun.Query().Where(entrun.AgentID(agent)), nil
}

func (r *Resolver) run(ctx context.Context, id uuid.UUID, agent *uuid.UUID) (*ent.AgentRun, error) {
	query := r.client(ctx).AgentRun.Query().Where(entrun.ID(id))
	if agent != nil {
		query.Where(entrun.AgentID(*agent))
	}
	row, err := query.Only(ctx)
	return found("Run", row, err)
}

func (r *Resolver) runEvents(ctx context.Context, row *ent.AgentRun, after, limit *int) ([]*model.AgentRunEvent, error) {
	most, from := maxEvents, 0
	if limit != nil {
		if most = *limit; most < 1 || most > maxEvents {
			return nil, apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", maxEvents))
		}
	}
	if after != nil {
		if from = *after; from < 0 {
			return nil, apierr.Invalid("after", "must be 0 or more")
		}
	}
	events, err := loadersOf(ctx).runEvents.of(from, most).Load(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	out := make([]*model.AgentRunEvent, len(events))
	for i, e := range events {
		out[i] = &model.AgentRunEvent{Seq: int(e.Seq), Type: e.Type, CreatedAt: e.At, Data: map[string]any{}}
		if err := json.Unmarshal(e.Data, &out[i].Data); err != nil {
			return nil, apierr.Wrap("read an event", err)
		}
	}
	return out, nil
}

// eventLoaders are the loaders of runs' events, one for each page that an
// operation asks for.
type eventLoaders struct {
	r *Resolver

	mu    sync.Mutex
	seen  []uuid.UUID
	pages map[[2]int]*cohort[[]run.Event]
}

// saw notes a run that was read.
func (l *eventLoaders) saw(id uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == uuid.Nil || len(l.seen) == maxSeen {
		return
	}
	l.seen = append(l.seen, id)
	for _, page := range l.pages {
		page.saw(id)
	}
}

// of is the loader of so many events behind a number.
func (l *eventLoaders) of(after, most int) *cohort[[]run.Event] {
	l.mu.Lock()
	defer l.mu.Unlock()
	page, ok := l.pages[[2]int{after, most}]
	if !ok {
		page = loader(func(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID][]run.Event, error) {
			v, _ := viewer.From(ctx)
			return l.r.Runs.EventsOf(ctx, v.Workspace, ids, int64(after), most)
		})
		l.pages[[2]int{after, most}] = page
		for _, id := range l.seen {
			page.saw(id)
		}
	}
	return page
}

// agentEvent reads an event as it is kept.
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
	case run.TypeComplete:
		d := dataOf[run.Complete](e)
		sources := make([]*model.ChatSource, len(d.Sources))
		for i, s := range d.Sources {
			sources[i] = &model.ChatSource{ID: s.ID, Title: s.Title, URL: s.URL}
		}
		return model.AgentRunComplete{Seq: seq, Sources: sources, Usage: &model.AgentUsage{
			TotalTokens: d.Usage.TotalTokens, PromptTokens: d.Usage.PromptTokens, CompletionTokens: d.Usage.CompletionTokens,
		}}
	default:
		d := dataOf[run.Failure](e)
		return model.AgentError{Seq: seq, Code: string(d.Code), Message: d.Message}
	}
}

// dataOf reads the data of an event; what cannot be read is empty, and none such is written.
func dataOf[T any](e run.Event) T {
	var d T
	_ = json.Unmarshal(e.Data, &d)
	return d
}
