package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Tools finds tools of integrations; the store of integrations implements it.
type Tools interface {
	Named(ctx context.Context, v viewer.Viewer, integration uuid.UUID, tool string) (loop.Tool, error)
}

// Comment comments on the object that an event is about, by the tool of an integration and
// with the credentials of the member as whom the automation runs.
type Comment struct {
	Ent   *ent.Client
	Tools Tools
}

var (
	_ automation.Deliverer = Comment{}
	_ automation.Inspector = Comment{}
)

// commentTimeout bounds a call; it must end before the lease of a run does.
const commentTimeout = time.Minute

// Repeatable returns false: a comment that was made twice is there twice.
func (Comment) Repeatable() bool { return false }

// Target returns the object.
func (Comment) Target(_ context.Context, j automation.Job) (string, error) {
	call, err := j.Occurrence.Object.CommentCall(j.Arguments, "")
	return call.Target, err
}

// Inspect returns the preview of the tool, and the strictest policy of the tool, the agent
// and the workspace.
func (c Comment) Inspect(ctx context.Context, j automation.Job) (automation.Inspection, error) {
	tool, call, err := c.prepare(ctx, j)
	if err != nil {
		return automation.Inspection{}, err
	}
	return c.inspect(ctx, j, tool, call)
}

func (c Comment) inspect(ctx context.Context, j automation.Job, tool loop.Tool, call automation.CommentCall) (automation.Inspection, error) {
	preview, err := tool.Preview(ctx, call.Arguments)
	if err != nil {
		return automation.Inspection{}, &automation.NotSent{Reason: apierr.From(err).Message, Cause: err}
	}
	workspace, err := c.Ent.Workspace.Get(ctx, j.Automation.WorkspaceID)
	if err != nil {
		return automation.Inspection{}, &automation.NotSent{Reason: "the policy of the workspace could not be read", Later: true, Cause: err}
	}
	agent, err := c.Ent.Agent.Get(ctx, j.Automation.AgentID)
	if err != nil {
		return automation.Inspection{}, &automation.NotSent{Reason: "the policy of the agent could not be read", Later: !ent.IsNotFound(err), Cause: err}
	}
	return automation.Inspection{Preview: preview.Text, Policy: policy.Decide(policy.Call{
		Tool: cmp.Or(tool.PolicyName, tool.Name), Risk: tool.Risk, Own: tool.Policy(call.Arguments), Arguments: call.Arguments,
	}, policy.StoredSet(workspace.ToolPolicy), policy.StoredSet(agent.ToolPolicy))}, nil
}

// prepare returns the tool and the call of a comment.
func (c Comment) prepare(ctx context.Context, j automation.Job) (loop.Tool, automation.CommentCall, error) {
	call, err := j.Occurrence.Object.CommentCall(j.Arguments, integration.Marker(inCall(ctx, j)))
	if err != nil {
		return loop.Tool{}, call, err
	}
	if j.Delivery.Integration == nil {
		return loop.Tool{}, call, &automation.NotSent{Reason: "the delivery names no integration"}
	}
	subject, err := j.Subject(ctx)
	if err != nil {
		return loop.Tool{}, call, err
	}
	tool, err := c.Tools.Named(ctx, subject, *j.Delivery.Integration, call.Tool)
	if err != nil {
		e := apierr.From(err)
		return loop.Tool{}, call, &automation.NotSent{Reason: e.Message, Later: e.Code == apierr.Internal || e.Code == apierr.Unavailable, Cause: err}
	}
	return tool, call, nil
}

func inCall(ctx context.Context, j automation.Job) context.Context {
	return loop.WithCallInfo(ctx, loop.CallInfo{ID: j.Key, Key: j.Key})
}

// Deliver makes the comment. Its last line, or a hidden field, has the key of the delivery.
func (c Comment) Deliver(ctx context.Context, j automation.Job) error {
	tool, call, err := c.prepare(ctx, j)
	if err != nil {
		return err
	}
	inspection, err := c.inspect(ctx, j, tool, call)
	if err != nil {
		return err
	}
	if inspection.Policy == policy.Deny {
		return &automation.NotSent{Reason: "the rules of this workspace do not allow the comment"}
	}
	inside, cancel := context.WithTimeout(inCall(ctx, j), min(cmp.Or(tool.Timeout, commentTimeout), commentTimeout))
	defer cancel()
	_, err = tool.Call(inside, call.Arguments)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, loop.ErrUnknownOutcome), inside.Err() != nil:
		return fmt.Errorf("comment: %w", err)
	}
	e := apierr.From(err)
	return &automation.NotSent{Reason: e.Message, Later: e.Code == apierr.RateLimited || e.Code == apierr.Unavailable, After: e.RetryAfter, Cause: err}
}
