package automation

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Oversight returns who decides about the calls of an agent run: what its automation
// says, or the zero value for a run of a person.
func (s *Store) Oversight(ctx context.Context, of *ent.AgentRun) (run.Oversight, error) {
	if !of.Background {
		return run.Oversight{}, nil
	}
	ctx = viewer.With(ctx, viewer.System(of.WorkspaceID))
	row, err := s.opt.Ent.AutomationRun.Query().Where(automationrun.ConversationID(of.ConversationID)).First(ctx)
	if ent.IsNotFound(err) {
		return run.Oversight{}, nil
	}
	if err != nil {
		return run.Oversight{}, fmt.Errorf("find the automation of a run: %w", err)
	}
	a, err := s.opt.Ent.Automation.Get(ctx, row.AutomationID)
	if err != nil {
		return run.Oversight{}, fmt.Errorf("read the automation of a run: %w", err)
	}
	settings, err := SettingsOf(a)
	if err != nil {
		return run.Oversight{}, err
	}
	approval := withOwner(a, settings.Approval)
	o := run.Oversight{Approvers: approval.Approvers, Role: viewer.Role(approval.Role), Channel: approval.channel(), Expiry: approval.Timeout()}
	if approval.Mode != ModeNone {
		o.Acting = policy.Ask
	}
	return o, nil
}

// withOwner lets the owner decide about the runs of the service member, who cannot,
// unless the automation names others.
func withOwner(a *ent.Automation, approval Approval) Approval {
	if a.RunAs == automation.RunAsService && approval.Role == "" && len(approval.Approvers) == 0 {
		approval.Approvers = []uuid.UUID{a.OwnerID}
	}
	return approval
}
