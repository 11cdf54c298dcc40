package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/webhook"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// Webhooks returns the source of tools that people describe.
func Webhooks() Source { return webhooks{} }

type webhooks struct{}

func (webhooks) Providers() []integration.Provider { return []integration.Provider{webhook.AnyHost()} }

func (webhooks) Discover(context.Context, string, integration.Account) ([]Offer, bool, error) {
	return nil, true, nil
}

func (webhooks) Tool(_ string, o Offer) (integration.Tool, error) {
	endpoint, err := endpointOf(o)
	if err != nil {
		return integration.Tool{}, err
	}
	schema, err := json.Marshal(o.Schema)
	if err != nil {
		return integration.Tool{}, apierr.Wrap("encode a schema", err)
	}
	title := o.Title
	if title == "" {
		title = o.Name
	}
	return webhook.Tool(endpoint, integration.Tool{Name: o.Name, Title: title, Description: o.Description, Risk: o.Risk, Schema: schema})
}

func endpointOf(o Offer) (e webhook.Endpoint, err error) {
	text, err := json.Marshal(o.Definition)
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	return e, apierr.Wrap("read the definition of a tool", err)
}

// definition returns an endpoint as it is stored.
func definition(e webhook.Endpoint) (out map[string]any, err error) {
	text, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, apierr.Wrap("store the definition of a tool", err)
}

// maxWebhookTimeout is the longest timeout of a webhook.
const maxWebhookTimeout = 30 * time.Second

// A WebhookTool describes a tool that calls an endpoint.
type WebhookTool struct {
	Name, Title, Description string
	Risk                     policy.Risk // empty means that of the method
	Endpoint                 webhook.Endpoint
	Schema                   map[string]any
	Timeout                  int // seconds; zero means 30
}

// SaveTool adds a tool to an integration with webhooks or replaces the one of its name.
func (s *Store) SaveTool(ctx context.Context, id uuid.UUID, d WebhookTool) (saved *ent.IntegrationTool, err error) {
	err = transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		row, err := s.lockWebhook(ctx, client, id)
		if err != nil {
			return err
		}
		if saved, err = s.save(ctx, client, row, d); err != nil {
			return err
		}
		return s.record(ctx, row, "tool_integration.save_tool", audit.Change{Field: "tool", New: saved.Name})
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, saved), nil
}

func (s *Store) lockWebhook(ctx context.Context, client *ent.Client, id uuid.UUID) (*ent.ToolIntegration, error) {
	row, err := s.lock(ctx, client, id)
	if err == nil && row.Kind != toolintegration.KindWebhook {
		err = apierr.Invalid("integrationId", "must be an integration of kind WEBHOOK; the tools of others come from their source")
	}
	return row, err
}

func (s *Store) save(ctx context.Context, client *ent.Client, row *ent.ToolIntegration, d WebhookTool) (*ent.IntegrationTool, error) {
	o := Offer{Name: d.Name, Title: d.Title, Description: strings.TrimSpace(d.Description), Risk: d.Risk, Schema: d.Schema, Timeout: time.Duration(d.Timeout) * time.Second}
	switch {
	case o.Risk != "":
	case d.Endpoint.Method == "GET" || d.Endpoint.Method == "HEAD":
		o.Risk = policy.Read
	case d.Endpoint.Method == "DELETE":
		o.Risk = policy.Delete
	default:
		o.Risk = policy.Write
	}
	if o.Timeout < 0 || o.Timeout > maxWebhookTimeout {
		return nil, apierr.Invalid("timeout", fmt.Sprintf("must be at most %d seconds", int(maxWebhookTimeout/time.Second)))
	}
	if err := check.Text("description", o.Description, maxDescription); err != nil {
		return nil, err
	}
	var err error
	if o.Definition, err = definition(d.Endpoint); err != nil {
		return nil, err
	}
	o = o.normal()
	if err := checkOffer(row, o); err != nil {
		return nil, err
	}
	if strings.ToLower(o.Name) != o.Name || strings.Contains(o.Name, "-") || o.Name[0] < 'a' || o.Name[0] > 'z' {
		return nil, apierr.Invalid("name", fmt.Sprintf("must have 1 to %d lower-case letters, digits and underscores, and begin with a letter", maxToolName))
	}
	if _, err := (webhooks{}).Tool(row.Provider, o); err != nil {
		return nil, err
	}
	stored, err := toolsOf(ctx, client, row)
	if err != nil {
		return nil, err
	}
	if before := stored[o.Name]; before != nil {
		if err := s.acceptOffer(ctx, client, before, o); err != nil {
			return nil, apierr.Wrap("store a tool", err)
		}
		if d.Timeout != 0 {
			if err := client.IntegrationTool.UpdateOneID(before.ID).SetTimeout(d.Timeout).Exec(ctx); err != nil {
				return nil, apierr.Wrap("store a tool", err)
			}
		}
	} else {
		if len(stored) >= MaxTools {
			return nil, apierr.New(apierr.Conflict, fmt.Sprintf("The integration has %d tools, which is the maximum; delete one first", MaxTools))
		}
		if err := createTool(ctx, client, row, o, true); err != nil {
			return nil, apierr.Wrap("store a tool", err)
		}
	}
	return client.IntegrationTool.Query().Where(integrationtool.IntegrationID(row.ID), integrationtool.Name(o.Name)).Only(ctx)
}

// DeleteTool deletes a tool of an integration with webhooks.
func (s *Store) DeleteTool(ctx context.Context, id uuid.UUID) error {
	client := s.client(ctx)
	t, row, err := s.lockTool(ctx, client, id)
	if err != nil {
		return err
	}
	if row.Kind != toolintegration.KindWebhook {
		return apierr.Invalid("id", "must be a tool of an integration of kind WEBHOOK; turn others off")
	}
	return lookup.Error("Tool", client.IntegrationTool.DeleteOne(t).Exec(ctx))
}

// An ImportRequest names a document and its operations to import.
type ImportRequest struct {
	// Spec is the document, or URL its address at the host of the integration.
	Spec, URL string
	// Operations are the names of those to import; nil means all.
	Operations []string
	// Preview stores nothing.
	Preview bool
}

// Imported is an operation of a document. Exists reports whether the integration had a tool
// of its name before.
type Imported struct {
	webhook.Operation
	Exists bool
}

// Import makes tools of the operations of an OpenAPI document, and replaces those of the
// same names. skipped says which operations cannot be tools.
func (s *Store) Import(ctx context.Context, id uuid.UUID, r ImportRequest) (out []Imported, skipped []string, err error) {
	row, err := s.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if err := checkChange(ctx, row); err != nil {
		return nil, nil, err
	}
	if row.Kind != toolintegration.KindWebhook {
		return nil, nil, apierr.Invalid("integrationId", "must be an integration of kind WEBHOOK")
	}
	document, err := s.document(ctx, row, r)
	if err != nil {
		return nil, nil, err
	}
	operations, skipped, err := webhook.Import(document)
	if err != nil {
		return nil, nil, err
	}
	for i, name := range r.Operations {
		if !slices.ContainsFunc(operations, func(o webhook.Operation) bool { return o.Name == name }) {
			return nil, nil, apierr.Invalid(fmt.Sprintf("operations[%d]", i), "is no operation of the document; import with preview to see their names")
		}
	}
	err = transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		row, err := s.lockWebhook(ctx, client, id)
		if err != nil {
			return err
		}
		stored, err := toolsOf(ctx, client, row)
		if err != nil {
			return err
		}
		for _, o := range operations {
			if r.Operations != nil && !slices.Contains(r.Operations, o.Name) {
				continue
			}
			out = append(out, Imported{o, stored[o.Name] != nil})
			if r.Preview {
				continue
			}
			if _, err := s.save(ctx, client, row, WebhookTool{Name: o.Name, Title: o.Title, Description: o.Description, Risk: o.Risk, Endpoint: o.Endpoint, Schema: o.Schema}); err != nil {
				return err
			}
		}
		if r.Preview {
			return nil
		}
		if err := client.ToolIntegration.UpdateOne(row).SetDiscoveredAt(s.opt.Now()).Exec(ctx); err != nil {
			return apierr.Wrap("store an import", err)
		}
		return s.record(ctx, row, "tool_integration.import", audit.Change{Field: "tools", New: len(out)})
	})
	if err != nil {
		return nil, nil, err
	}
	return out, skipped, nil
}

// document returns the document of a request. It is fetched only from the integration's own
// host, with the viewer's credentials.
func (s *Store) document(ctx context.Context, row *ent.ToolIntegration, r ImportRequest) ([]byte, error) {
	switch {
	case (r.Spec == "") == (r.URL == ""):
		return nil, apierr.Invalid("spec", "is required, or url in its place")
	case r.Spec != "":
		return []byte(r.Spec), nil
	}
	base, _ := row.Config["url"].(string)
	path, ok := strings.CutPrefix(r.URL, strings.TrimRight(base, "/")+"/")
	if !ok || strings.Contains(path, "..") {
		return nil, apierr.Invalid("url", "must be below the address of the integration; send the document of another place as spec")
	}
	v, err := viewerOf(ctx)
	if err != nil {
		return nil, err
	}
	p, _, err := s.providerOf(row)
	if err != nil {
		return nil, err
	}
	a, _, err := s.account(ctx, row, p, v, true)
	if err != nil {
		return nil, err
	}
	return webhook.Fetch(ctx, a, "/"+path)
}
