package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// CheckArguments checks arguments that a person writes in place of those of an
// approval: by the schema, the preview and the policies of the tool as the run will have
// it when it goes on. It makes no call. Errors are apierr: invalid_request that names the
// argument, conflict if the tool was changed or cannot be called now.
func (r *Runs) CheckArguments(ctx context.Context, a *ent.Approval, given json.RawMessage) error {
	system := viewer.With(ent.NewTxContext(ctx, nil), viewer.System(a.WorkspaceID))
	row, err := r.opt.Ent.AgentRun.Get(system, a.RunID)
	if err != nil {
		return fmt.Errorf("read the run of an approval: %w", err)
	}
	w := &work{runs: r, row: row}
	if w.viewer, err = r.opt.Viewers(system, row.WorkspaceID, row.SubjectID); err != nil {
		if apierr.From(err).Code == apierr.CodeNotFound {
			return apierr.New(apierr.Conflict, "The person for whom this ran is no longer a member of the workspace, so nothing will be called")
		}
		return fmt.Errorf("read the person of a run: %w", err)
	}
	if w.agent, err = r.opt.Ent.Agent.Get(system, row.AgentID); err != nil {
		return fmt.Errorf("read the agent of a run: %w", err)
	}
	if w.scope, err = scopeOf(w.viewer, w.agent); err != nil {
		return fmt.Errorf("scope of a run: %w", err)
	}
	ctx = viewer.With(system, w.viewer)
	all, err := w.tools(ctx, tools.RunContext{Scope: w.scope, SourceNumber: func(search.Hit) int { return 0 }, Agent: w.agent.ID, Run: row.ID})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(t loop.Tool) bool { return cmp.Or(t.PolicyName, t.Name) == a.Tool })
	if i < 0 {
		return apierr.New(apierr.Conflict, "The tool "+a.Tool+" cannot be called now, so other arguments cannot be checked; approve the call as it is, or reject it")
	}
	tool := all[i]
	if tool.Hash() != a.ConfigurationHash {
		return apierr.New(apierr.Conflict, "The tool "+a.Tool+" has changed since the agent asked, so the call will not be made; reject it")
	}
	if err := arguments.Validate(tool.Schema, given); err != nil {
		return inArguments(err)
	}
	if tool.Preview != nil {
		if _, err := tool.Preview(ctx, given); err != nil {
			return inArguments(err)
		}
	}
	if tool.Policy(given) == policy.Deny {
		return apierr.Invalid("arguments", "are not allowed by the rules of this workspace; change them, or reject the call")
	}
	return nil
}

// inArguments makes the field of an error one of the arguments.
func inArguments(err error) error {
	e := apierr.From(err)
	if e.Code != apierr.InvalidRequest {
		return err
	}
	if e.Field == "" {
		return &apierr.Error{Code: apierr.InvalidRequest, Field: "arguments", Message: e.Message}
	}
	return &apierr.Error{Code: apierr.InvalidRequest, Field: "arguments." + e.Field, Message: "arguments." + e.Message}
}
