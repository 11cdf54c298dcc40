package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Settings are the settings of a workspace about the calls of its agents.
type Settings struct {
	// ToolPolicy is a policy.Set as JSON.
	ToolPolicy json.RawMessage
	// Channel is where approvals are posted that others than the person of the run
	// may decide and that name no channel. Nil for nowhere.
	Channel *Channel
}

// A SettingsChange changes the given settings.
type SettingsChange struct {
	ToolPolicy patch.Field[map[string]any]
	Channel    patch.Field[*Channel] // nil removes it
}

// Settings returns the settings of the viewer's workspace.
func (s *Store) Settings(ctx context.Context) (Settings, error) {
	v, _ := viewer.From(ctx)
	row, err := s.client(ctx).Workspace.Get(ctx, v.Workspace)
	if err != nil {
		return Settings{}, lookup.Error("Workspace", err)
	}
	out := Settings{ToolPolicy: row.ToolPolicy}
	if row.ApprovalIntegrationID != nil && row.ApprovalChannel != nil {
		out.Channel = &Channel{Integration: *row.ApprovalIntegrationID, Name: *row.ApprovalChannel}
	}
	return out, nil
}

// UpdateSettings changes the settings of the viewer's workspace, who is an admin.
func (s *Store) UpdateSettings(ctx context.Context, c SettingsChange) (Settings, error) {
	v, ok := viewer.From(ctx)
	if !ok || !v.Role.AtLeast(viewer.RoleAdmin) {
		return Settings{}, apierr.New(apierr.Forbidden, "Only admins change the settings of approvals")
	}
	err := transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		update := client.Workspace.UpdateOneID(v.Workspace)
		if c.ToolPolicy.Given {
			text, err := policy.SetText("toolPolicy", c.ToolPolicy.Value)
			if err != nil {
				return err
			}
			update.SetToolPolicy(text)
		}
		switch {
		case c.Channel.Given && c.Channel.Value == nil:
			update.ClearApprovalIntegrationID().ClearApprovalChannel()
		case c.Channel.Given:
			if err := checkChannel(ctx, client, c.Channel.Value); err != nil {
				return err
			}
			update.SetApprovalIntegrationID(c.Channel.Value.Integration).SetApprovalChannel(c.Channel.Value.Name)
		}
		if err := update.Exec(system(ctx, v.Workspace)); err != nil {
			return fmt.Errorf("store the settings of approvals: %w", err)
		}
		return nil
	})
	if err != nil {
		return Settings{}, err
	}
	return s.Settings(ctx)
}

// channelName matches the ids of Slack's channels.
var channelName = regexp.MustCompile(`^[CGD][A-Z0-9]{7,20}$`)

func checkChannel(ctx context.Context, client *ent.Client, c *Channel) error {
	if !channelName.MatchString(c.Name) {
		return apierr.Invalid("slackChannel", "must be the id of a channel, such as C024BE91L, which Slack shows below its details")
	}
	if c.Integration == uuid.Nil {
		return apierr.Invalid("slackIntegrationId", "is required with a channel")
	}
	return lookup.Exists(ctx, "Integration", client.InboundIntegration.Query().
		Where(inboundintegration.ID(c.Integration), inboundintegration.KindEQ(inboundintegration.KindSlack)))
}
