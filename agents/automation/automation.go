package automation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxAutomations is the maximum number of automations of a workspace.
const maxAutomations = 200

// Sealer seals the events that runs keep; secret.Box implements it.
type Sealer interface {
	Seal(plain, aad []byte) ([]byte, error)
	Open(sealed, aad []byte) ([]byte, error)
}

// ChangeNumbers tells how far the collections are; index.Store implements it.
type ChangeNumbers interface {
	ChangeNumbers(ctx context.Context, scopes []viewer.Scope) (map[uuid.UUID]int64, error)
}

// Options configure a Store. Options without a default are required.
type Options struct {
	Ent   *ent.Client
	Box   Sealer
	Index ChangeNumbers
	// Deliveries are the kinds of deliveries that this service can make.
	Deliveries []string
	// Answers reports whether replies to the mails of an inbound integration can be
	// sent. Nil: all can.
	Answers func(*ent.InboundIntegration) bool
	Now     func() time.Time // time.Now
	Log     *slog.Logger     // nil discards
}

// Store has the automations of all workspaces and their runs. It is safe for
// concurrent use.
type Store struct{ opt Options }

// NewStore returns a Store.
func NewStore(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{opt: o}
}

func (s *Store) client(ctx context.Context) *ent.Client { return transaction.Client(ctx, s.opt.Ent) }

// Draft describes an automation to create.
type Draft struct {
	Name, Instructions string
	Description        *string
	Disabled           bool
	Agent              uuid.UUID
	RunAs              automation.RunAs // OWNER if empty
	Kind               automation.Kind
	Trigger            map[string]any
	Conditions         []map[string]any
	Approval           map[string]any
	Delivery           []map[string]any
	Limits             map[string]any
	DedupeKey          string
}

// Change describes a change of an automation. Settings that are given replace the old
// ones as a whole.
type Change struct {
	Name, Instructions, DedupeKey *string
	Description                   patch.Field[*string]
	Enabled                       *bool
	Agent                         *uuid.UUID
	RunAs                         *automation.RunAs
	Kind                          *automation.Kind
	Trigger, Approval, Limits     map[string]any
	Conditions, Delivery          []map[string]any
}

// onlyEnabled reports whether the change touches nothing but the switch.
func (c Change) onlyEnabled() bool {
	return c.Name == nil && c.Instructions == nil && c.DedupeKey == nil && !c.Description.Given && c.Agent == nil && c.RunAs == nil && c.Kind == nil &&
		c.Trigger == nil && c.Approval == nil && c.Limits == nil && c.Conditions == nil && c.Delivery == nil
}

// Query returns the query of the automations that the viewer may see, of a kind and
// with a state of the switch if they are given.
func (s *Store) Query(ctx context.Context, kind *automation.Kind, enabled *bool) *ent.AutomationQuery {
	q := s.client(ctx).Automation.Query()
	if kind != nil {
		q.Where(automation.KindEQ(*kind))
	}
	if enabled != nil {
		q.Where(automation.Enabled(*enabled))
	}
	return q
}

// Get returns an automation.
func (s *Store) Get(ctx context.Context, id uuid.UUID) (*ent.Automation, error) {
	row, err := s.client(ctx).Automation.Get(ctx, id)
	return row, lookup.Error("Automation", err)
}

// Create stores an automation of the person in ctx. One that the command line makes is
// the first owner's.
func (s *Store) Create(ctx context.Context, d Draft) (*ent.Automation, error) {
	client := s.client(ctx)
	v, _ := viewer.From(ctx)
	owner := v.Subject
	if v.Kind != viewer.KindSession {
		first, err := client.Membership.Query().Where(membership.RoleEQ(membership.RoleOwner)).Order(membership.ByCreatedAt(), membership.ByID()).First(ctx)
		switch {
		case v.Kind != viewer.KindSystem:
			return nil, apierr.New(apierr.Unauthorized, "Session required")
		case ent.IsNotFound(err):
			return nil, apierr.New(apierr.Conflict, "The workspace has no owner, as whom an automation could run")
		case err != nil:
			return nil, apierr.Wrap("find the owner of the workspace", err)
		}
		owner = first.UserID
	}
	n, err := client.Automation.Query().Count(ctx)
	if err != nil {
		return nil, apierr.Wrap("count automations", err)
	}
	if n >= maxAutomations {
		return nil, apierr.New(apierr.Conflict, fmt.Sprintf("The workspace has %d automations, which is the maximum; delete one first", maxAutomations))
	}
	if d.RunAs == "" {
		d.RunAs = automation.RunAsOwner
	}
	settings, err := s.check(ctx, &d)
	if err != nil {
		return nil, err
	}
	cursors, err := s.cursors(ctx, v.Workspace, d.Kind, settings.Trigger)
	if err != nil {
		return nil, apierr.Wrap("create an automation", err)
	}
	return client.Automation.Create().SetName(d.Name).SetNillableDescription(d.Description).SetEnabled(!d.Disabled).SetAgentID(d.Agent).SetOwnerID(owner).
		SetRunAs(d.RunAs).SetInstructions(d.Instructions).SetKind(d.Kind).SetTrigger(object(d.Trigger)).SetNillableIntegrationID(settings.Trigger.Integration).
		SetConditions(objects(d.Conditions)).SetApproval(object(d.Approval)).SetDelivery(objects(d.Delivery)).SetLimits(object(d.Limits)).
		SetDedupeKey(d.DedupeKey).SetNillableNextRunAt(s.next(!d.Disabled, d.Kind, settings.Trigger)).SetCursors(cursors).Save(ctx)
}

func object(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func objects(list []map[string]any) []map[string]any {
	if list == nil {
		return []map[string]any{}
	}
	return list
}

// next returns when a schedule starts its next run.
func (s *Store) next(enabled bool, kind automation.Kind, t Trigger) *time.Time {
	if !enabled {
		return nil
	}
	return t.next(kind, s.opt.Now())
}

// cursors returns the change numbers of the collections of a document trigger as they
// are now: documents that are there already start nothing.
func (s *Store) cursors(ctx context.Context, workspace uuid.UUID, kind automation.Kind, t Trigger) (map[string]int64, error) {
	out := map[string]int64{}
	if kind != automation.KindDocument {
		return out, nil
	}
	all, err := viewer.System(workspace).Scope()
	if err != nil {
		return nil, fmt.Errorf("read change numbers: %w", err)
	}
	scope, err := all.Narrow(t.Collections...)
	if err != nil {
		return nil, fmt.Errorf("read change numbers: %w", err)
	}
	numbers, err := s.opt.Index.ChangeNumbers(ctx, []viewer.Scope{scope})
	for id, n := range numbers {
		out[id.String()] = n
	}
	return out, err
}

// Update applies a change. An automation that runs as its owner is changed by nobody
// else, since it would run with the owner's rights; administrators may switch it off.
func (s *Store) Update(ctx context.Context, id uuid.UUID, c Change) (*ent.Automation, error) {
	var changed *ent.Automation
	err := transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		row, err := client.Automation.Query().Where(automation.ID(id)).ForUpdate().Only(ctx)
		if err != nil {
			return lookup.Error("Automation", err)
		}
		v, _ := viewer.From(ctx)
		switchOff := c.onlyEnabled() && c.Enabled != nil && !*c.Enabled && v.Role.AtLeast(viewer.RoleAdmin)
		if err := mayUse(v, row); err != nil && !switchOff {
			return err
		}
		changed, err = s.apply(ctx, row, v, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, changed), nil
}

// mayUse returns an error if a run of the automation would have the rights of somebody
// else than the viewer.
func mayUse(v viewer.Viewer, row *ent.Automation) error {
	if row.RunAs == automation.RunAsOwner && v.Kind == viewer.KindSession && v.Subject != row.OwnerID {
		return apierr.New(apierr.Forbidden, "This automation runs with the rights of its owner, so only its owner can change or start it. Administrators can disable or delete it.")
	}
	return nil
}

func (s *Store) apply(ctx context.Context, row *ent.Automation, v viewer.Viewer, c Change) (*ent.Automation, error) {
	d := Draft{
		Name: row.Name, Instructions: row.Instructions, Description: row.Description, Disabled: !row.Enabled, Agent: row.AgentID, RunAs: row.RunAs, Kind: row.Kind,
		Trigger: row.Trigger, Conditions: row.Conditions, Approval: row.Approval, Delivery: row.Delivery, Limits: row.Limits, DedupeKey: row.DedupeKey,
	}
	set(&d.Name, c.Name)
	set(&d.Instructions, c.Instructions)
	set(&d.DedupeKey, c.DedupeKey)
	set(&d.Agent, c.Agent)
	set(&d.RunAs, c.RunAs)
	set(&d.Kind, c.Kind)
	if c.Description.Given {
		d.Description = c.Description.Value
	}
	if c.Enabled != nil {
		d.Disabled = !*c.Enabled
	}
	for _, m := range []struct {
		to    *map[string]any
		given map[string]any
	}{{&d.Trigger, c.Trigger}, {&d.Approval, c.Approval}, {&d.Limits, c.Limits}} {
		if m.given != nil {
			*m.to = m.given
		}
	}
	if c.Conditions != nil {
		d.Conditions = c.Conditions
	}
	if c.Delivery != nil {
		d.Delivery = c.Delivery
	}
	update := row.Update().SetUpdatedAt(s.opt.Now())
	if c.onlyEnabled() { // what the settings name may be gone by now
		settings, err := SettingsOf(row)
		if err != nil && !d.Disabled {
			return nil, err
		}
		s.toggle(update, &d, row, settings)
		return update.Save(ctx)
	}
	if d.RunAs == automation.RunAsOwner && v.Kind == viewer.KindSession && v.Subject != row.OwnerID {
		return nil, apierr.Invalid("runAs", "must stay service: only the owner can let an automation run with the owner's rights")
	}
	settings, err := s.check(ctx, &d)
	if err != nil {
		return nil, err
	}
	if c.Kind != nil || c.Trigger != nil {
		cursors, err := s.cursors(ctx, row.WorkspaceID, d.Kind, settings.Trigger)
		if err != nil {
			return nil, apierr.Wrap("change an automation", err)
		}
		update.SetCursors(cursors)
	}
	update.SetName(d.Name).SetInstructions(d.Instructions).SetAgentID(d.Agent).SetRunAs(d.RunAs).SetKind(d.Kind).SetTrigger(object(d.Trigger)).
		SetConditions(objects(d.Conditions)).SetApproval(object(d.Approval)).SetDelivery(objects(d.Delivery)).SetLimits(object(d.Limits)).SetDedupeKey(d.DedupeKey)
	patch.SetOrClear(d.Description, update.SetDescription, update.ClearDescription)
	patch.SetOrClear(settings.Trigger.Integration, update.SetIntegrationID, update.ClearIntegrationID)
	s.toggle(update, &d, row, settings)
	return update.Save(ctx)
}

func set[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}

// toggle writes the switch and what depends on it.
func (s *Store) toggle(update *ent.AutomationUpdateOne, d *Draft, row *ent.Automation, settings Settings) {
	update.SetEnabled(!d.Disabled)
	if !d.Disabled && !row.Enabled {
		update.SetFailureCount(0).ClearDisabledReason()
	}
	patch.SetOrClear(s.next(!d.Disabled, d.Kind, settings.Trigger), update.SetNextRunAt, update.ClearNextRunAt)
}

// Delete deletes an automation with its runs. Runs of its agent that are under way go on
// without it, and deliver nothing.
func (s *Store) Delete(ctx context.Context, id uuid.UUID) error {
	row, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	v, _ := viewer.From(ctx)
	if err := mayUse(v, row); err != nil && !v.Role.AtLeast(viewer.RoleAdmin) {
		return err
	}
	return lookup.Error("Automation", s.client(ctx).Automation.DeleteOneID(id).Exec(ctx))
}

// check checks a draft and normalizes its texts.
func (s *Store) check(ctx context.Context, d *Draft) (settings Settings, err error) {
	if d.Name, err = check.Name("name", d.Name); err != nil {
		return settings, err
	}
	if err := check.Description("description", d.Description); err != nil {
		return settings, err
	}
	if automation.KindValidator(d.Kind) != nil {
		return settings, apierr.Invalid("kind", "must be one of schedule, email, event, meeting, document, manual")
	}
	if err := checkInstructions(d.Kind, d.Instructions); err != nil {
		return settings, err
	}
	d.DedupeKey = strings.TrimPrefix(strings.TrimSpace(d.DedupeKey), "event.")
	if err := check.Length("dedupeKey", d.DedupeKey, 200); err != nil {
		return settings, err
	}
	if settings, err = parseSettings(d.Kind, d.Trigger, d.Conditions, d.Approval, d.Delivery, d.Limits); err != nil {
		return settings, err
	}
	return settings, s.checkReferences(ctx, d, settings)
}

// checkReferences checks that what the settings name is there and visible to the viewer.
func (s *Store) checkReferences(ctx context.Context, d *Draft, settings Settings) error {
	client := s.client(ctx)
	row, err := client.Agent.Query().Where(agent.ID(d.Agent)).Only(ctx)
	if err != nil {
		return lookup.Error("Agent", err)
	}
	if d.RunAs == automation.RunAsService && row.AllCollections {
		return apierr.Invalid("agentId", "must be an agent with collections of its own, because the service member reads nothing else; choose them at the agent")
	}
	if id := settings.Trigger.Integration; id != nil {
		kind, _ := integrationKind(d.Kind)
		if err := s.checkIntegration(ctx, *id, kind); err != nil {
			return err
		}
	}
	if id := settings.Approval.SlackIntegration; id != nil {
		if err := s.checkIntegration(ctx, *id, inboundintegration.KindSlack); err != nil {
			return err
		}
	}
	for field, members := range map[string][]uuid.UUID{"approvers": settings.Approval.Approvers, "escalateTo": settings.Approval.EscalateTo} {
		n, err := client.Membership.Query().Where(membership.UserIDIn(members...)).Count(ctx)
		if err != nil {
			return apierr.Wrap("check the approvers", err)
		}
		if n != len(slices.Compact(slices.SortedFunc(slices.Values(members), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }))) {
			return apierr.Invalid("approval."+field, "must be members of the workspace")
		}
	}
	collections := slices.Clone(settings.Trigger.Collections)
	for i, delivery := range settings.Delivery {
		if !slices.Contains(s.opt.Deliveries, delivery.Kind) {
			return apierr.Invalid(fmt.Sprintf("delivery[%d].kind", i), "is not set up here; available are "+strings.Join(s.opt.Deliveries, ", "))
		}
		if delivery.Kind == SlackMessage {
			if err := s.checkIntegration(ctx, *delivery.Integration, inboundintegration.KindSlack); err != nil {
				return err
			}
		}
		if delivery.Kind == ReplyEmail {
			if err := s.checkReply(ctx, settings.Trigger, i); err != nil {
				return err
			}
		}
		if delivery.Kind == Comment {
			if err := s.checkComment(ctx, d, settings.Trigger, i, *delivery.Integration); err != nil {
				return err
			}
		}
		if delivery.Collection != nil {
			collections = append(collections, *delivery.Collection)
		}
	}
	for _, id := range collections {
		if err := lookup.Exists(ctx, "Collection", client.Collection.Query().Where(collection.ID(id))); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) checkIntegration(ctx context.Context, id uuid.UUID, kind inboundintegration.Kind) error {
	return lookup.Exists(ctx, "Integration", s.client(ctx).InboundIntegration.Query().Where(inboundintegration.ID(id), inboundintegration.KindEQ(kind)))
}

// checkReply checks that the mails that start an automation can be answered.
func (s *Store) checkReply(ctx context.Context, t Trigger, i int) error {
	if s.opt.Answers == nil {
		return nil
	}
	const way = "needs a sender of answers with its credentials in the inbound integration (postmark or ses), or a mail server (SMTP_URL)"
	field := fmt.Sprintf("delivery[%d].kind", i)
	if t.Integration == nil {
		return apierr.Invalid(field, way+"; name the integration in the trigger")
	}
	row, err := s.client(ctx).InboundIntegration.Get(ctx, *t.Integration)
	if err != nil {
		return lookup.Error("Integration", err)
	}
	if !s.opt.Answers(row) {
		return apierr.Invalid(field, way)
	}
	return nil
}
