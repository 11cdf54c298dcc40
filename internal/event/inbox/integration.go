package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/store/lookup"
)

// maxIntegrations is the maximum number of integrations of a workspace.
const maxIntegrations = 200

// A Draft describes an integration to create.
type Draft struct {
	Provider, Name      string
	Config, Credentials map[string]any
	Disabled            bool
}

// A Change describes a change of an integration. Nil fields keep their value; config and
// credentials are merged key by key, and null removes a key.
type Change struct {
	Name                *string
	Enabled             *bool
	Config, Credentials map[string]any
}

// Shown is an integration with values that are shown once.
type Shown struct {
	Integration *ent.InboundIntegration
	// URL is the address to enter at the platform. It may contain the secret.
	URL string
	// Secret is the secret that Magpie made; empty if it made none.
	Secret string
}

// Query returns the query of all integrations that the viewer may see, of one kind or
// provider if they are given.
func (b *Inbox) Query(ctx context.Context, kind *inboundintegration.Kind, provider string) *ent.InboundIntegrationQuery {
	q := b.client(ctx).InboundIntegration.Query()
	if kind != nil {
		q.Where(inboundintegration.KindEQ(*kind))
	}
	if provider != "" {
		q.Where(inboundintegration.Provider(provider))
	}
	return q
}

// Get returns an integration.
func (b *Inbox) Get(ctx context.Context, id uuid.UUID) (*ent.InboundIntegration, error) {
	row, err := b.client(ctx).InboundIntegration.Get(ctx, id)
	return row, lookup.Error("Integration", err)
}

// Create stores an integration. It makes the secret of providers that let people choose
// one, unless the draft has it.
func (b *Inbox) Create(ctx context.Context, d Draft) (Shown, error) {
	p, ok := b.provider(d.Provider)
	if !ok {
		return Shown{}, apierr.Invalid("provider", "must be one of "+strings.Join(b.names(), ", "))
	}
	name, err := check.Name("name", d.Name)
	if err != nil {
		return Shown{}, err
	}
	client := b.client(ctx)
	n, err := client.InboundIntegration.Query().Count(ctx)
	if err != nil {
		return Shown{}, apierr.Wrap("count integrations", err)
	}
	if n >= maxIntegrations {
		return Shown{}, apierr.New(apierr.Conflict, fmt.Sprintf("The workspace has %d integrations, which is the maximum; delete one first", maxIntegrations))
	}
	config, given := merge(nil, d.Config), merge(nil, d.Credentials)
	made := ""
	if word := given[p.Secret]; p.Generated && (word == nil || word == "") {
		made = newSecret()
		given[p.Secret] = made
	}
	id := gid.New(gid.InboundIntegration)
	s, err := b.settings(ctx, p, id, config, given)
	if err != nil {
		return Shown{}, err
	}
	sealed, err := b.seal(s.Credentials, currentAAD(id))
	if err != nil {
		return Shown{}, apierr.Wrap("create an integration", err)
	}
	token := strings.ToLower(newSecret())
	row, err := client.InboundIntegration.Create().SetID(id).SetKind(KindOf(p.Family)).SetProvider(p.Name).SetName(name).SetEnabled(!d.Disabled).
		SetConfig(config).SetCredentials(sealed).SetToken(token).SetRoutingKeys(routingKeys(p, s, token)).Save(ctx)
	if err != nil {
		return Shown{}, err
	}
	return Shown{Integration: row, URL: b.pasteAddress(p, id, s.Credentials[p.Secret]), Secret: made}, nil
}

// names returns the names of all providers.
func (b *Inbox) names() []string {
	var out []string
	for _, p := range b.opt.Providers {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return out
}

// routingKeys returns the names by which deliveries address an integration.
func routingKeys(p event.Provider, s connectors.Settings, token string) []string {
	out := []string{token}
	if p.Keys != nil {
		out = append(out, p.Keys(s)...)
	}
	return out
}

// settings checks config and credentials and returns them.
func (b *Inbox) settings(ctx context.Context, p event.Provider, id uuid.UUID, config, given map[string]any) (connectors.Settings, error) {
	s := connectors.Settings{ConnectorID: id.String(), Config: config, Credentials: map[string]string{}}
	err := connectors.CheckOptions("config", p.Options, config)
	if err == nil {
		err = connectors.CheckOptions("credentials", p.Credentials, given)
	}
	for name, value := range given {
		s.Credentials[name], _ = value.(string)
	}
	if err == nil && p.Check != nil {
		err = p.Check(s)
	}
	if option, ok := errors.AsType[*connectors.OptionError](err); ok {
		return s, apierr.Invalid(option.Field, option.Message)
	}
	if err != nil {
		return s, apierr.Invalid("config", err.Error())
	}
	return s, b.checkCollection(ctx, config)
}

// checkCollection checks that the collection of transcripts is one that the viewer sees.
func (b *Inbox) checkCollection(ctx context.Context, config map[string]any) error {
	text, ok := config[event.CollectionOption].(string)
	if !ok || text == "" {
		return nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return apierr.Invalid("config."+event.CollectionOption, "must be the id of a collection")
	}
	return lookup.Exists(ctx, "Collection", b.client(ctx).Collection.Query().Where(collection.ID(id)))
}

// lock returns an integration whose row is locked until the transaction ends.
func (b *Inbox) lock(ctx context.Context, id uuid.UUID) (*ent.InboundIntegration, event.Provider, error) {
	row, err := b.client(ctx).InboundIntegration.Query().Where(inboundintegration.ID(id)).ForUpdate().Only(ctx)
	if err != nil {
		return nil, event.Provider{}, lookup.Error("Integration", err)
	}
	p, err := b.providerOf(row)
	return row, p, err
}

// Update changes an integration. A new secret is a rotation: the old one is accepted for
// the overlap.
func (b *Inbox) Update(ctx context.Context, id uuid.UUID, c Change) (*ent.InboundIntegration, error) {
	row, p, err := b.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	update := b.client(ctx).InboundIntegration.UpdateOne(row).SetUpdatedAt(b.opt.Now())
	if c.Name != nil {
		name, err := check.Name("name", *c.Name)
		if err != nil {
			return nil, err
		}
		update.SetName(name)
	}
	if c.Enabled != nil {
		update.SetEnabled(*c.Enabled)
	}
	if c.Config != nil || c.Credentials != nil {
		if err := b.change(ctx, update, row, p, c.Config, c.Credentials); err != nil {
			return nil, err
		}
	}
	return update.Save(ctx)
}

// change merges config and credentials into an update.
func (b *Inbox) change(ctx context.Context, update *ent.InboundIntegrationUpdateOne, row *ent.InboundIntegration, p event.Provider, config, credentials map[string]any) error {
	old, err := b.open(row.Credentials, currentAAD(row.ID))
	if err != nil {
		b.opt.Log.WarnContext(ctx, "integration credentials do not open", "integration", row.ID)
		old = map[string]string{}
	}
	values := map[string]any{}
	for name, value := range old {
		values[name] = value
	}
	merged := merge(row.Config, config)
	if option := (connectors.Kind{Options: p.Options}).ChangedDestination(row.Config, merged); option != "" {
		for name := range old {
			if credentials[name] == nil {
				return apierr.Invalid("credentials."+name, "must be entered again, because "+option+" changes where it is sent")
			}
		}
	}
	s, err := b.settings(ctx, p, row.ID, merged, merge(values, credentials))
	if err != nil {
		return err
	}
	update.SetConfig(merged).SetRoutingKeys(routingKeys(p, s, row.Token))
	if p.Secret != "" && old[p.Secret] != s.Credentials[p.Secret] {
		if err := b.keepPrevious(update, row, old); err != nil {
			return err
		}
	}
	sealed, err := b.seal(s.Credentials, currentAAD(row.ID))
	if err != nil {
		return apierr.Wrap("change an integration", err)
	}
	update.SetCredentials(sealed)
	return nil
}

// keepPrevious keeps the credentials before a rotation for the overlap.
func (b *Inbox) keepPrevious(update *ent.InboundIntegrationUpdateOne, row *ent.InboundIntegration, old map[string]string) error {
	sealed, err := b.seal(old, previousAAD(row.ID))
	if err != nil {
		return apierr.Wrap("rotate a secret", err)
	}
	update.SetPreviousCredentials(sealed).SetPreviousUntil(b.opt.Now().Add(b.opt.Overlap))
	return nil
}

// Rotate replaces the secret of an integration by a new one, which Magpie makes if word
// is empty and the platform lets people choose it. The old one is accepted for the overlap.
func (b *Inbox) Rotate(ctx context.Context, id uuid.UUID, word string) (Shown, error) {
	row, p, err := b.lock(ctx, id)
	if err != nil {
		return Shown{}, err
	}
	made := ""
	switch {
	case p.Secret == "":
		return Shown{}, apierr.New(apierr.Conflict, p.Title+" signs with a published key; there is no secret to rotate")
	case word == "" && !p.Generated:
		return Shown{}, apierr.Invalid("secret", "is required: "+p.Title+" makes the secret, so rotate it there and enter the new one here")
	case word == "":
		made = newSecret()
		word = made
	}
	update := b.client(ctx).InboundIntegration.UpdateOne(row).SetUpdatedAt(b.opt.Now())
	if err := b.change(ctx, update, row, p, nil, map[string]any{p.Secret: word}); err != nil {
		return Shown{}, err
	}
	if row, err = update.Save(ctx); err != nil {
		return Shown{}, err
	}
	return Shown{Integration: row, URL: b.pasteAddress(p, id, word), Secret: made}, nil
}

// Delete deletes an integration with its events.
func (b *Inbox) Delete(ctx context.Context, id uuid.UUID) error {
	return lookup.Error("Integration", b.client(ctx).InboundIntegration.DeleteOneID(id).Exec(ctx))
}

// A Check is the outcome of a test of an integration.
type Check struct {
	OK      bool
	Message string
	Details map[string]any
}

// probeTimeout bounds the request of a test to the platform.
const probeTimeout = 20 * time.Second

// Test checks what can be checked without the platform's next delivery: the credentials,
// the address, and the access to the platform where the provider fetches something there.
// The audit log records the test.
func (b *Inbox) Test(ctx context.Context, id uuid.UUID) (Check, error) {
	row, err := b.Get(ctx, id)
	if err != nil {
		return Check{}, err
	}
	p, err := b.providerOf(row)
	if err != nil {
		return Check{}, err
	}
	out := b.test(ctx, row, p)
	err = audit.Record(ctx, audit.ClientExec(b.client(ctx)), audit.Event{
		Action: "inbound_integration.test", TargetKind: "inbound_integration", TargetID: id, TargetName: row.Name, Changes: []audit.Change{{Field: "ok", New: out.OK}},
	})
	return out, apierr.Wrap("record a test", err)
}

func (b *Inbox) test(ctx context.Context, row *ent.InboundIntegration, p event.Provider) Check {
	out := Check{Details: map[string]any{"url": b.Address(row), "status": strings.ToLower(string(row.Status))}}
	s, err := b.Settings(row)
	switch {
	case err != nil:
		out.Message = err.Error()
		return out
	case !row.Enabled:
		out.Message = "The integration is disabled: deliveries are refused"
		return out
	case p.Secret != "" && s.Credentials[p.Secret] == "":
		out.Message = "The secret is missing: enter the one that " + p.Title + " shows"
		return out
	case !strings.HasPrefix(b.opt.BaseURL, "https://"):
		out.Message = "BASE_URL is not an https address, so the platform cannot reach " + b.Address(row)
		return out
	}
	if p.Probe != nil {
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		if err := p.Probe(probe, s); err != nil {
			out.Message = "The access to " + p.Title + " does not work: " + err.Error()
			return out
		}
	}
	out.OK = true
	switch row.LastEventAt {
	case nil:
		out.Message = "Ready; nothing has arrived yet. Send a test delivery from " + p.Title
	default:
		out.Message = "Ready; the last delivery arrived at " + row.LastEventAt.UTC().Format(time.RFC3339)
	}
	return out
}
