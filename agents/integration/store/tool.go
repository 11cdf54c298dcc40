package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxToolName is the length of the longest second part of a tool's name, so that its name on
// the wire has at most 64 characters.
const maxToolName = 64 - 1 - maxSlug

// A Difference says what a new look at the tools of an integration found, by their names.
type Difference struct {
	// Added tools are new. Those that act are off until somebody turns them on.
	Added []string
	// Changed tools differ from what was accepted, or are gone. They are not called.
	Changed []string
}

// Refresh reads the tools of an integration again. Tools of platforms that Magpie knows
// change with its version and need no acceptance. The audit log records it.
func (s *Store) Refresh(ctx context.Context, id uuid.UUID) (*ent.ToolIntegration, Difference, error) {
	row, d, err := s.refresh(ctx, id)
	if err != nil {
		return nil, Difference{}, err
	}
	err = s.record(ctx, row, "tool_integration.refresh", audit.Change{Field: "added", New: len(d.Added)}, audit.Change{Field: "changed", New: len(d.Changed)})
	return row, d, err
}

func (s *Store) refresh(ctx context.Context, id uuid.UUID) (*ent.ToolIntegration, Difference, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return nil, Difference{}, err
	}
	row, err := s.Get(ctx, id)
	if err != nil {
		return nil, Difference{}, err
	}
	if err := checkChange(ctx, row); err != nil {
		return nil, Difference{}, err
	}
	_, source, err := s.providerOf(row)
	if err != nil {
		return nil, Difference{}, err
	}
	if row.Kind == toolintegration.KindPack {
		d, err := s.adopt(ctx, row, source)
		return row, d, err
	}
	return s.look(ctx, row, v)
}

// adopt stores the tools of a platform that Magpie knows.
func (s *Store) adopt(ctx context.Context, row *ent.ToolIntegration, source Source) (d Difference, err error) {
	offers, _, err := source.Discover(ctx, row.Provider, integration.Account{})
	if err != nil {
		return d, err
	}
	err = transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		stored, err := toolsOf(ctx, client, row)
		if err != nil {
			return err
		}
		for _, o := range offers {
			o = o.normal()
			before := stored[o.Name]
			delete(stored, o.Name)
			switch {
			case before == nil:
				d.Added = append(d.Added, o.Name)
				err = createTool(ctx, client, row, o, true)
			case before.PinnedHash != o.hash():
				err = s.acceptOffer(ctx, client, before, o)
			}
			if err != nil {
				return apierr.Wrap("store a tool", err)
			}
		}
		for _, gone := range stored {
			if err := client.IntegrationTool.DeleteOne(gone).Exec(ctx); err != nil {
				return apierr.Wrap("delete a tool", err)
			}
		}
		return discovered(ctx, client, row, offers, s.opt.Now())
	})
	return d, err
}

// compare compares the offers of a tool server with the accepted tools.
func (s *Store) compare(ctx context.Context, row *ent.ToolIntegration, offers []Offer) (d Difference, err error) {
	if len(offers) > MaxTools {
		offers = offers[:MaxTools]
	}
	err = transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		stored, err := toolsOf(ctx, client, row)
		if err != nil {
			return err
		}
		first := len(stored) == 0
		for _, o := range offers {
			o = o.normal()
			before := stored[o.Name]
			delete(stored, o.Name)
			if before == nil {
				if err := checkOffer(row, o); err != nil {
					s.opt.Log.WarnContext(ctx, "offered tool left out", "integration", row.ID, "error", err)
					continue
				}
				d.Added = append(d.Added, o.Name)
				err = createTool(ctx, client, row, o, first || !o.Risk.Acts())
			} else if err = s.setDrift(ctx, client, before, o); err == nil && before.PinnedHash != o.hash() {
				d.Changed = append(d.Changed, o.Name)
			}
			if err != nil {
				return apierr.Wrap("store a tool", err)
			}
		}
		for name, gone := range stored {
			d.Changed = append(d.Changed, name)
			if err := client.IntegrationTool.UpdateOne(gone).SetDrift(map[string]any{"missing": true}).SetUpdatedAt(s.opt.Now()).Exec(ctx); err != nil {
				return apierr.Wrap("store a tool", err)
			}
		}
		return discovered(ctx, client, row, offers, s.opt.Now())
	})
	slices.Sort(d.Changed)
	return d, err
}

func discovered(ctx context.Context, client *ent.Client, row *ent.ToolIntegration, offers []Offer, now time.Time) error {
	err := client.ToolIntegration.UpdateOneID(row.ID).SetDiscoveredAt(now).SetSchemaHash(hashOf(offers)).ClearLastError().Exec(ctx)
	return apierr.Wrap("store a discovery", err)
}

// toolsOf returns the tools of an integration by name.
func toolsOf(ctx context.Context, client *ent.Client, row *ent.ToolIntegration) (map[string]*ent.IntegrationTool, error) {
	stored, err := client.IntegrationTool.Query().Where(integrationtool.IntegrationID(row.ID)).ForUpdate().All(ctx)
	if err != nil {
		return nil, apierr.Wrap("read the tools", err)
	}
	out := map[string]*ent.IntegrationTool{}
	for _, t := range stored {
		out[t.Name] = t
	}
	return out, nil
}

// checkOffer returns an error if an offer cannot be a tool.
func checkOffer(row *ent.ToolIntegration, o Offer) error {
	schema, err := json.Marshal(o.Schema)
	if err != nil {
		return apierr.Invalid("inputSchema", "cannot be encoded as JSON")
	}
	switch {
	case !validName(o.Name):
		return apierr.Invalid("name", fmt.Sprintf("must have 1 to %d letters, digits, hyphens and underscores", maxToolName))
	case !o.Risk.Valid():
		return apierr.Invalid("risk", "must be one of READ, WRITE, SEND, DELETE")
	case isBuiltIn(row.Slug + "_" + o.Name):
		return apierr.Invalid("name", "makes a name that a built-in tool has; choose another")
	}
	if err := arguments.CheckSchema(schema); err != nil {
		return apierr.Invalid("inputSchema", "cannot be used: "+err.Error())
	}
	return nil
}

func validName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return name != "" && len(name) <= maxToolName
}

func createTool(ctx context.Context, client *ent.Client, row *ent.ToolIntegration, o Offer, enabled bool) error {
	create := client.IntegrationTool.Create().SetWorkspaceID(row.WorkspaceID).SetIntegrationID(row.ID).SetNillablePersonID(row.PersonID).SetName(o.Name).
		SetTitle(o.Title).SetDescription(o.Description).
		SetInputSchema(o.Schema).SetRisk(RiskOf(o.Risk)).SetEnabled(enabled).SetPinnedHash(o.hash()).SetTimeout(seconds(o.Timeout))
	if o.Output != nil {
		create.SetOutputSchema(o.Output)
	}
	if o.Definition != nil {
		create.SetDefinition(o.Definition)
	}
	return create.Exec(ctx)
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func seconds(d time.Duration) int {
	if d == 0 {
		d = DefaultTimeout
	}
	return min(max(int(d/time.Second), 1), 120)
}

// acceptOffer makes an offer the accepted tool. A tool that becomes riskier loses a policy
// that was chosen for less.
func (s *Store) acceptOffer(ctx context.Context, client *ent.Client, before *ent.IntegrationTool, o Offer) error {
	update := client.IntegrationTool.UpdateOne(before).SetTitle(o.Title).SetDescription(o.Description).
		SetInputSchema(o.Schema).SetRisk(RiskOf(o.Risk)).
		SetPinnedHash(o.hash()).ClearDrift().SetUpdatedAt(s.opt.Now())
	if o.Output != nil {
		update.SetOutputSchema(o.Output)
	} else {
		update.ClearOutputSchema()
	}
	if o.Definition != nil {
		update.SetDefinition(o.Definition)
	} else {
		update.ClearDefinition()
	}
	if before.CallPolicy != nil && *before.CallPolicy == integrationtool.CallPolicyAllow && RiskOf(o.Risk) != before.Risk && o.Risk.Acts() {
		update.ClearCallPolicy()
	}
	return update.Exec(ctx)
}

// setDrift keeps how an offer differs from the accepted tool.
func (s *Store) setDrift(ctx context.Context, client *ent.Client, before *ent.IntegrationTool, o Offer) error {
	update := client.IntegrationTool.UpdateOne(before).SetUpdatedAt(s.opt.Now())
	switch {
	case before.PinnedHash == o.hash() && before.Drift == nil:
		return nil
	case before.PinnedHash == o.hash():
		return update.ClearDrift().Exec(ctx)
	}
	drift := map[string]any{"title": o.Title, "description": o.Description, "risk": string(o.Risk), "inputSchema": o.Schema}
	if o.Output != nil {
		drift["outputSchema"] = o.Output
	}
	if o.Definition != nil {
		drift["definition"] = o.Definition
	}
	return update.SetDrift(drift).Exec(ctx)
}

// lockTool returns a tool, whose row is locked until the transaction ends, and its
// integration, if the viewer may change it.
func (s *Store) lockTool(ctx context.Context, client *ent.Client, id uuid.UUID) (*ent.IntegrationTool, *ent.ToolIntegration, error) {
	t, err := client.IntegrationTool.Query().Where(integrationtool.ID(id)).ForUpdate().Only(ctx)
	if err != nil {
		return nil, nil, lookup.Error("Tool", err)
	}
	row, err := s.Get(ctx, t.IntegrationID)
	if err != nil {
		return nil, nil, err
	}
	return t, row, checkChange(ctx, row)
}

// Accept makes the drift of a tool the accepted tool. A tool that its source has no more is
// deleted; the result is the row before.
func (s *Store) Accept(ctx context.Context, id uuid.UUID) (*ent.IntegrationTool, error) {
	client := s.client(ctx)
	t, row, err := s.lockTool(ctx, client, id)
	if err != nil {
		return nil, err
	}
	switch {
	case t.Drift == nil:
		return nil, apierr.New(apierr.Conflict, "The tool is as it was accepted")
	case t.Drift["missing"] == true:
		return t, client.IntegrationTool.DeleteOne(t).Exec(ctx)
	}
	o := offerOf(t)
	text := func(key string) string { word, _ := t.Drift[key].(string); return word }
	object := func(key string) map[string]any { value, _ := t.Drift[key].(map[string]any); return value }
	o.Title, o.Description, o.Risk = text("title"), text("description"), policy.Risk(text("risk"))
	o.Schema, o.Output, o.Definition = object("inputSchema"), object("outputSchema"), object("definition")
	if err := checkOffer(row, o); err != nil {
		return nil, err
	}
	if err := s.acceptOffer(ctx, client, t, o); err != nil {
		return nil, err
	}
	return client.IntegrationTool.Get(ctx, id)
}

// A ToolChange describes what happens with the calls of a tool. Nil fields keep their value.
type ToolChange struct {
	Enabled *bool
	// Policy nil means the default of the risk.
	Policy  patch.Field[*integrationtool.CallPolicy]
	Rules   patch.Field[[]map[string]any]
	Timeout *int // seconds
}

// SetPolicy changes what happens with the calls of a tool.
func (s *Store) SetPolicy(ctx context.Context, id uuid.UUID, c ToolChange) (*ent.IntegrationTool, error) {
	client := s.client(ctx)
	t, _, err := s.lockTool(ctx, client, id)
	if err != nil {
		return nil, err
	}
	update := client.IntegrationTool.UpdateOne(t).SetUpdatedAt(s.opt.Now()).SetNillableEnabled(c.Enabled)
	if c.Policy.Given {
		patch.SetOrClear(c.Policy.Value, update.SetCallPolicy, update.ClearCallPolicy)
	}
	if c.Rules.Given {
		given := *t
		given.ArgumentRules = c.Rules.Value
		rules, err := rulesOf(&given)
		if err != nil {
			return nil, err
		}
		if err := policy.Check("argumentRules", rules); err != nil {
			return nil, err
		}
		update.SetArgumentRules(slices.Clip(append([]map[string]any{}, c.Rules.Value...)))
	}
	if c.Timeout != nil {
		if *c.Timeout < 1 || *c.Timeout > 120 {
			return nil, apierr.Invalid("timeout", "must be from 1 to 120 seconds")
		}
		update.SetTimeout(*c.Timeout)
	}
	return update.Save(ctx)
}

// A Trial is the outcome of a call that a person makes to try a tool.
type Trial struct {
	OK      bool
	Text    string
	Preview string // Markdown; empty for tools that only read
}

// Call calls a tool with the credentials of the viewer, who is an editor. A tool that acts is only previewed
// without confirm. A failed call is an outcome, not an error.
func (s *Store) Call(ctx context.Context, id uuid.UUID, args map[string]any, confirm bool) (Trial, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return Trial{}, err
	}
	if v.HasRole() && !v.Role.AtLeast(viewer.RoleEditor) {
		return Trial{}, apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role editor")
	}
	t, err := s.client(ctx).IntegrationTool.Get(ctx, id)
	if err != nil {
		return Trial{}, lookup.Error("Tool", err)
	}
	row, err := s.Get(ctx, t.IntegrationID)
	if err != nil {
		return Trial{}, err
	}
	raw, err := json.Marshal(orEmpty(args))
	if err != nil {
		return Trial{}, apierr.Invalid("arguments", "cannot be encoded as JSON")
	}
	tool, err := s.loopTool(row, t, v)
	if err != nil {
		return Trial{}, err
	}
	out := Trial{}
	if tool.Risk.Acts() {
		if policy.Strictest(tool.Policy(raw)) == policy.Deny {
			return Trial{}, apierr.New(apierr.Forbidden, "The policy of the tool does not allow this call")
		}
		preview, err := tool.Preview(ctx, raw)
		if err != nil {
			return Trial{Text: words(err)}, nil
		}
		out.Preview = strings.TrimSpace("**" + preview.Title + "**\n\n" + preview.Text)
		if !confirm {
			out.Text = "Nothing was done yet; repeat the call with confirm to make it"
			return out, nil
		}
	}
	inside, cancel := context.WithTimeout(ctx, tool.Timeout)
	defer cancel()
	result, err := tool.Call(inside, raw)
	switch {
	case err != nil && inside.Err() != nil && ctx.Err() == nil:
		out.Text = "The tool took too long and was stopped"
	case err != nil:
		out.Text = words(err)
	default:
		out.OK, out.Text = true, result.Text
	}
	return out, s.recordCall(ctx, row, t, out)
}
