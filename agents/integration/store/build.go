package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/catalog"
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// FullName returns the name by which people and agents' settings know a tool.
func FullName(slug, tool string) string { return slug + "." + tool }

// wireName returns the name by which models call a tool.
func wireName(slug, tool string) string { return slug + "_" + tool }

// isBuiltIn reports whether a built-in tool has a name on the wire.
func isBuiltIn(wire string) bool {
	return slices.Contains(catalog.ToolNames(), wire) || slices.Contains([]string{"remember", "ask_human", "final_answer"}, wire)
}

// reached are the integrations that a viewer's runs use.
type reached struct {
	viewer       viewer.Viewer
	integrations map[string]*ent.ToolIntegration // by slug, with tools and connections
}

// reach reads the integrations of some slugs that the runs of v use. Keys use those of the
// workspace.
func (s *Store) reach(ctx context.Context, v viewer.Viewer, slugs []string) (reached, error) {
	out := reached{viewer: v, integrations: map[string]*ent.ToolIntegration{}}
	if v.Kind != viewer.KindSession || v.Subject == uuid.Nil {
		v = viewer.System(v.Workspace)
	}
	ctx = viewer.With(ctx, v)
	q := s.client(ctx).ToolIntegration.Query().WithConnections().WithTools(func(q *ent.IntegrationToolQuery) { q.Order(integrationtool.ByName()) })
	if slugs != nil {
		q.Where(toolintegration.SlugIn(slugs...))
	}
	rows, err := q.All(ctx)
	if err != nil {
		return out, apierr.Wrap("read the integrations", err)
	}
	for _, row := range rows {
		if known := out.integrations[row.Slug]; known == nil || known.PersonID != nil { // the workspace's is not hidden
			out.integrations[row.Slug] = row
		}
	}
	return out, nil
}

// split separates the name of a tool of an integration.
func split(name string) (slug, tool string, ok bool) {
	slug, tool, ok = strings.Cut(name, ".")
	return slug, tool, ok && slug != "" && tool != ""
}

func slugsOf(names []string) []string {
	slugs := []string{}
	for _, name := range names {
		if slug, _, ok := split(name); ok && !slices.Contains(slugs, slug) {
			slugs = append(slugs, slug)
		}
	}
	return slugs
}

// Tools returns the tools of integrations that an agent may call in a run of v. In the place
// of a tool that cannot be called is one that says why.
func (s *Store) Tools(ctx context.Context, v viewer.Viewer, agent *ent.Agent, _ uuid.UUID) ([]loop.Tool, error) {
	slugs := slugsOf(agent.Tools)
	if len(slugs) == 0 {
		return nil, nil
	}
	at, err := s.reach(ctx, v, slugs)
	if err != nil {
		return nil, err
	}
	var out []loop.Tool
	taken := map[string]bool{}
	for _, name := range agent.Tools {
		slug, tool, ok := split(name)
		wire := wireName(slug, tool)
		if !ok || taken[wire] || isBuiltIn(wire) || len(wire) > 64 {
			continue
		}
		taken[wire] = true
		out = append(out, s.reachable(at, slug, tool))
	}
	return out, nil
}

// reachable returns a tool, or one that says why it cannot be called.
func (s *Store) reachable(at reached, slug, tool string) loop.Tool {
	row := at.integrations[slug]
	if row == nil {
		return unavailable(slug, tool, "The integration "+slug+" does not exist or is not the person's")
	}
	i := slices.IndexFunc(row.Edges.Tools, func(t *ent.IntegrationTool) bool { return t.Name == tool })
	if i < 0 {
		return unavailable(slug, tool, row.Name+" has no tool of this name")
	}
	t := row.Edges.Tools[i]
	if reason := s.reason(row, t); reason != "" {
		return unavailable(slug, tool, reason)
	}
	if reason := s.lacking(row, at.viewer); reason != "" {
		return s.unconnected(row, at.viewer, slug, tool, reason)
	}
	out, err := s.loopTool(row, t, at.viewer)
	if err != nil {
		return unavailable(slug, tool, words(err))
	}
	return out
}

// reason says why a tool cannot be called by anybody, "" if it can.
func (s *Store) reason(row *ent.ToolIntegration, t *ent.IntegrationTool) string {
	switch {
	case !row.Enabled:
		return "The integration " + row.Name + " is turned off"
	case !t.Enabled:
		return "The tool is turned off"
	case t.Drift != nil:
		return "The tool changed at its source; an editor has to accept it first"
	case PolicyOf(t) == policy.Deny:
		return "The policy of the tool allows no calls"
	}
	if _, _, err := s.providerOf(row); err != nil {
		return words(err)
	}
	return ""
}

// lacking says what the calls of v lack, "" if nothing. The row has its connections.
func (s *Store) lacking(row *ent.ToolIntegration, v viewer.Viewer) string {
	p, _, err := s.providerOf(row)
	if err != nil {
		return words(err)
	}
	return s.missing(row, p, own(row, v), false)
}

// own returns the connection of a row that the calls of v use, or nil.
func own(row *ent.ToolIntegration, v viewer.Viewer) *ent.ToolConnection {
	for _, c := range row.Edges.Connections {
		if shares(row) && c.PersonID == nil || !shares(row) && c.PersonID != nil && *c.PersonID == v.Subject {
			return c
		}
	}
	return nil
}

// unavailable returns a tool that only says why the tool of a name cannot be called.
func unavailable(slug, tool, reason string) loop.Tool {
	return loop.Tool{
		Name: wireName(slug, tool), Description: "Cannot be used now: " + reason + ". Tell the person, if it is needed.",
		Schema: json.RawMessage(`{"type":"object"}`),
		Call: func(context.Context, json.RawMessage) (loop.Result, error) {
			return loop.Result{}, apierr.New(apierr.Unavailable, reason+".")
		},
	}
}

// unconnected returns a tool whose calls only say where the account is connected that they
// lack.
func (s *Store) unconnected(row *ent.ToolIntegration, v viewer.Viewer, slug, tool, reason string) loop.Tool {
	out := unavailable(slug, tool, reason)
	out.Description = "Cannot be used now: " + reason + ". If it is needed, call it without arguments: the person is then told how to connect."
	out.PolicyName = FullName(slug, tool)
	out.Call = func(ctx context.Context, _ json.RawMessage) (loop.Result, error) {
		return loop.Result{}, s.authRequired(ctx, row, v, connectors.NeedsAuth(apierr.New(apierr.Unauthorized, reason+".")))
	}
	return out
}

// maxShown is the length of the longest description that a model gets, in characters.
const maxShown = 1000

// loopTool returns a tool for calls of v.
func (s *Store) loopTool(row *ent.ToolIntegration, t *ent.IntegrationTool, v viewer.Viewer) (loop.Tool, error) {
	p, source, err := s.providerOf(row)
	if err != nil {
		return loop.Tool{}, err
	}
	accepted := offerOf(t)
	tool, err := source.Tool(p.Name, accepted)
	if err != nil {
		return loop.Tool{}, err
	}
	schema := tool.Schema
	if len(schema) == 0 {
		if schema, err = json.Marshal(accepted.Schema); err != nil {
			return loop.Tool{}, apierr.Wrap("encode a schema", err)
		}
	}
	rules, err := rulesOf(t)
	if err != nil {
		return loop.Tool{}, err
	}
	base := PolicyOf(t)
	out := loop.Tool{
		Name: wireName(row.Slug, t.Name), PolicyName: FullName(row.Slug, t.Name), Description: row.Name + ": " + safetext.Truncate(accepted.Description, maxShown), Schema: schema,
		Timeout: max(time.Duration(t.Timeout)*time.Second, tool.Timeout), Risk: accepted.Risk, Idempotent: tool.Idempotent,
		Policy: func(arguments json.RawMessage) policy.Policy {
			return policy.Strictest(base, policy.Evaluate(rules, arguments))
		},
		Preview: func(_ context.Context, raw json.RawMessage) (loop.Preview, error) {
			if err := arguments.Validate(schema, raw); err != nil {
				return loop.Preview{}, err
			}
			if tool.Preview == nil {
				return integration.Show(row.Name+": "+t.Name, integration.Field{Name: "Arguments", Value: string(raw)}), nil
			}
			return tool.Preview(raw)
		},
	}
	out.Call = func(ctx context.Context, raw json.RawMessage) (loop.Result, error) {
		return s.call(ctx, row.ID, t.ID, t.PinnedHash, v, func(a integration.Account) (loop.Result, error) {
			if err := arguments.Validate(schema, raw); err != nil {
				return loop.Result{}, err
			}
			return tool.Call(ctx, a, raw)
		})
	}
	return out, nil
}

// call makes a call of v, unless the tool was turned off or changed since the run began.
func (s *Store) call(ctx context.Context, integrationID, toolID uuid.UUID, hash string, v viewer.Viewer, do func(integration.Account) (loop.Result, error)) (loop.Result, error) {
	as := v
	if v.Kind != viewer.KindSession || v.Subject == uuid.Nil {
		as = viewer.System(v.Workspace)
	}
	inside := viewer.With(ctx, as)
	row, err := s.opt.Ent.ToolIntegration.Query().Where(toolintegration.ID(integrationID)).WithConnections().
		WithTools(func(q *ent.IntegrationToolQuery) { q.Where(integrationtool.ID(toolID)) }).Only(inside)
	if ent.IsNotFound(err) || err == nil && len(row.Edges.Tools) == 0 {
		return loop.Result{}, apierr.New(apierr.Unavailable, "The tool was removed.")
	}
	if err != nil {
		return loop.Result{}, apierr.Wrap("read the integration", err)
	}
	t := row.Edges.Tools[0]
	if reason := s.reason(row, t); reason != "" {
		return loop.Result{}, apierr.New(apierr.Unavailable, reason+".")
	}
	if t.PinnedHash != hash {
		return loop.Result{}, apierr.New(apierr.Conflict, "The tool changed since the run began; start it again.")
	}
	p, _, err := s.providerOf(row)
	if err != nil {
		return loop.Result{}, err
	}
	a, c, err := s.account(inside, row, p, v, false)
	if err != nil {
		s.note(inside, v, row, c, err, false)
		return loop.Result{}, s.authRequired(ctx, row, v, err)
	}
	var changed atomic.Bool
	a.Changed = func() { changed.Store(true) }
	result, err := do(a)
	s.note(inside, v, row, c, err, false)
	if changed.Load() {
		s.refreshSoon(ctx, row)
	}
	return result, s.authRequired(ctx, row, v, err)
}

// record writes what a person did with the tools of an integration to the audit log.
func (s *Store) record(ctx context.Context, row *ent.ToolIntegration, action string, changes ...audit.Change) error {
	err := audit.Record(ctx, audit.ClientExec(s.client(ctx)), audit.Event{
		Action: action, TargetKind: "tool_integration", TargetID: row.ID, TargetName: row.Name, Changes: changes,
	})
	return apierr.Wrap("record a change of tools", err)
}

// recordCall writes a call that a person made to the audit log, without its arguments.
func (s *Store) recordCall(ctx context.Context, row *ent.ToolIntegration, t *ent.IntegrationTool, out Trial) error {
	err := audit.Record(ctx, audit.ClientExec(s.client(ctx)), audit.Event{
		Action: "tool.call", TargetKind: "tool", TargetID: t.ID, TargetName: FullName(row.Slug, t.Name), Changes: []audit.Change{{Field: "ok", New: out.OK}},
	})
	return apierr.Wrap("record a call", err)
}

// AgentTools returns the tools of integrations that the agents of the viewer in ctx may
// have, sorted by name.
func (s *Store) AgentTools(ctx context.Context) ([]catalog.Tool, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return nil, err
	}
	at, err := s.reach(ctx, v, nil)
	if err != nil {
		return nil, err
	}
	var out []catalog.Tool
	for slug, row := range at.integrations {
		for _, t := range row.Edges.Tools {
			shown := catalog.Tool{Name: FullName(slug, t.Name), Title: t.Title, Description: t.Description, Parameters: t.InputSchema, IntegrationID: &row.ID, Risk: &t.Risk}
			chosen := integrationtool.CallPolicy(strings.ToUpper(string(PolicyOf(t))))
			shown.Policy = &chosen
			if reason := cmp.Or(s.reason(row, t), s.lacking(row, v)); reason != "" {
				shown.Unavailable = &reason
			}
			out = append(out, shown)
		}
	}
	slices.SortFunc(out, func(a, b catalog.Tool) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// UnknownTool returns the position of the first name that is no tool of an integration that
// the viewer in ctx sees, or of a platform that Magpie knows; -1 if there is none.
func (s *Store) UnknownTool(ctx context.Context, names []string) (int, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return 0, err
	}
	at, err := s.reach(ctx, v, slugsOf(names))
	if err != nil {
		return 0, err
	}
	for i, name := range names {
		slug, tool, ok := split(name)
		if !ok {
			return i, nil
		}
		if row := at.integrations[slug]; row != nil && slices.ContainsFunc(row.Edges.Tools, func(t *ent.IntegrationTool) bool { return t.Name == tool }) {
			continue
		}
		p, _, err := s.provider(slug)
		if _, known := p.Tool(tool); err != nil || !known {
			return i, nil
		}
	}
	return -1, nil
}

// OfAgents returns the integrations of agents' tools that the viewer in ctx sees, by agent.
func (s *Store) OfAgents(ctx context.Context, agents map[uuid.UUID][]string) (map[uuid.UUID][]*ent.ToolIntegration, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tools := range agents {
		names = append(names, tools...)
	}
	slugs := slugsOf(names)
	out := map[uuid.UUID][]*ent.ToolIntegration{}
	if len(slugs) == 0 {
		return out, nil
	}
	at, err := s.reach(ctx, v, slugs)
	if err != nil {
		return nil, err
	}
	for id, tools := range agents {
		for _, slug := range slugsOf(tools) {
			if row := at.integrations[slug]; row != nil {
				out[id] = append(out[id], row)
			}
		}
	}
	return out, nil
}
