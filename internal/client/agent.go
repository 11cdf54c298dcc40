package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
)

// An AgentEvent is an event of an agent's run. Type is its GraphQL type.
type AgentEvent struct {
	Type    string         `json:"type"` // such as AgentToolCall
	Seq     int            `json:"seq"`
	Tool    string         `json:"tool,omitempty"`
	Params  map[string]any `json:"params,omitempty"`
	CallID  string         `json:"callId,omitempty"`
	Success bool           `json:"success,omitempty"`
	Code    string         `json:"code,omitempty"`
	Message string         `json:"message,omitempty"`

	RunID          uuid.UUID    `json:"runId,omitzero"`
	ConversationID uuid.UUID    `json:"conversationId,omitzero"`
	Content        string       `json:"content,omitempty"`
	Sources        []ChatSource `json:"sources,omitempty"`
	Usage          *ChatUsage   `json:"usage,omitempty"`

	ApprovalID uuid.UUID  `json:"approvalId,omitzero"`
	Kind       string     `json:"approvalKind,omitempty"` // CONSENT, UNKNOWN_EFFECT or QUESTION
	Risk       string     `json:"risk,omitempty"`
	Title      string     `json:"title,omitempty"`
	Preview    string     `json:"preview,omitempty"`
	Options    []string   `json:"options,omitempty"`
	ExpiresAt  *time.Time `json:"expiresAt,omitempty"`

	Integration      string  `json:"integration,omitempty"`
	AuthorizationURL *string `json:"authorizationUrl,omitempty"`
}

// maxReturns is how often RunAgent comes back to a run after its connection was cut off.
const maxReturns = 3

// RunAgent runs an agent with the fields of RunAgentInput, and calls each with the events
// of the run. A connection that is cut off is made again, without a gap in the events.
func (c *Client) RunAgent(ctx context.Context, input Variables, each func(AgentEvent) error) error {
	run, seq, stopped := uuid.Nil, 0, false
	pass := func(data json.RawMessage) error {
		var in struct {
			Event AgentEvent `json:"event"`
		}
		err := json.Unmarshal(data, &in)
		if err == nil {
			seq = max(seq, in.Event.Seq)
			if in.Event.RunID != uuid.Nil {
				run = in.Event.RunID
			}
			err = each(in.Event)
		}
		if err != nil {
			stopped = true
			return fmt.Errorf("an event of a run: %w", err)
		}
		return nil
	}
	err := c.Subscribe(ctx, "RunAgent", Variables{"input": input}, pass)
	for range maxReturns {
		if _, answered := errors.AsType[*apierr.Error](err); err == nil || answered || stopped || run == uuid.Nil || ctx.Err() != nil {
			return err
		}
		err = c.Subscribe(ctx, "FollowRun", Variables{"run": run, "after": seq}, pass)
	}
	return err
}
