package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
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

// RunAgent runs an agent with the fields of RunAgentInput, and calls each with the events
// of the run. A connection that is cut off is made again, without a gap in the events.
func (c *Client) RunAgent(ctx context.Context, input Variables, each func(AgentEvent) error) error {
	run, seq := uuid.Nil, 0
	resume := func() (string, Variables) {
		if run == uuid.Nil {
			return "", nil // it may have begun, and must not begin twice
		}
		return "FollowRun", Variables{"run": run, "after": seq}
	}
	return c.follow(ctx, "RunAgent", Variables{"input": input}, resume, func(data json.RawMessage) error {
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
			return fmt.Errorf("an event of a run: %w", err)
		}
		return nil
	})
}
