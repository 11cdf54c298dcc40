package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/toolconnection"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxIntegrations is the maximum number of integrations of a workspace, and of a person's own.
const maxIntegrations = 100

// maxSlug is the length of the longest slug.
const maxSlug = 24

// A Draft describes an integration to create.
type Draft struct {
	Provider, Name string
	// Slug is the first part of the names of its tools; the provider's name if empty.
	Slug string
	// Personal integrations belong to the viewer alone.
	Personal bool
	// Shared says that all calls use credentials that an administrator shares.
	Shared              bool
	Disabled            bool
	Config, Credentials map[string]any
}

// A Change describes a change of an integration. Nil fields keep their value; config and
// credentials are merged key by key, and null removes a key.
type Change struct {
	Name                *string
	Enabled, Shared     *bool
	Config, Credentials map[string]any
}

// Query returns the query of all integrations that the viewer may see, of one kind or
// provider if they are given.
func (s *Store) Query(ctx context.Context, kind *toolintegration.Kind, provider string) *ent.ToolIntegrationQuery {
	q := s.client(ctx).ToolIntegration.Query()
	if kind != nil {
		q.Where(toolintegration.KindEQ(*kind))
	}
	if provider != "" {
		q.Where(toolintegration.Provider(provider))
	}
	return q
}

// Get returns an integration.
func (s *Store) Get(ctx context.Context, id uuid.UUID) (*ent.ToolIntegration, error) {
	row, err := s.client(ctx).ToolIntegration.Get(ctx, id)
	return row, lookup.Error("Integration", err)
}

// Create stores an integration with the tools that are known without asking its
// platform; Refresh reads those of tool servers.
func (s *Store) Create(ctx context.Context, d Draft) (*ent.ToolIntegration, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return nil, err
	}
	p, source, err := s.provider(d.Provider)
	if err != nil {
		return nil, err
	}
	name, err := check.Name("name", d.Name)
	if err != nil {
		return nil, err
	}
	if d.Slug == "" {
		d.Slug = p.Name
	}
	if d.Personal && d.Shared {
		return nil, apierr.Invalid("credentialsOf", "must be PERSON for a personal integration")
	}
	config := merge(nil, d.Config)
	if err := checkConfig(p.Form(), config); err != nil {
		return nil, err
	}
	client := s.client(ctx)
	if err := s.checkSlug(ctx, client, d); err != nil {
		return nil, err
	}
	create := client.ToolIntegration.Create().SetID(gid.New(gid.ToolIntegration)).SetKind(p.Kind).SetProvider(p.Name).SetName(name).SetSlug(d.Slug).
		SetOwnerScope(toolintegration.OwnerScopeWorkspace).SetEnabled(!d.Disabled).SetConfig(config)
	if d.Personal {
		create.SetOwnerScope(toolintegration.OwnerScopePersonal).SetPersonID(v.Subject)
	}
	if d.Shared {
		create.SetCredentialsOf(toolintegration.CredentialsOfShared)
	}
	row, err := create.Save(ctx)
	if ent.IsConstraintError(err) {
		return nil, slugTaken(d.Slug)
	}
	if err != nil {
		return nil, err
	}
	if d.Credentials != nil {
		if err := s.storeCredentials(ctx, client, row, p, d.Credentials); err != nil {
			return nil, err
		}
	}
	if p.Kind == toolintegration.KindPack {
		if _, err := s.adopt(ctx, row, source); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// checkConfig checks the config of an integration.
func checkConfig(form connectors.Kind, config map[string]any) error {
	return optionError(connectors.CheckOptions("config", form.Options, config))
}

// optionError converts the error of a table of options into one of the API.
func optionError(err error) error {
	if option, ok := errors.AsType[*connectors.OptionError](err); ok {
		return apierr.Invalid(option.Field, option.Message)
	}
	return err
}

func slugTaken(slug string) error {
	return apierr.New(apierr.Conflict, "slug: "+slug+" is the slug of another integration; give this one another")
}

// checkSlug checks the slug and the number of integrations. A personal integration must not
// hide one of the workspace.
func (s *Store) checkSlug(ctx context.Context, client *ent.Client, d Draft) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(d.Slug) || len(d.Slug) > maxSlug || strings.HasSuffix(d.Slug, "_") || strings.Contains(d.Slug, "__") {
		return apierr.Invalid("slug", fmt.Sprintf("must have 1 to %d lower-case letters, digits and single underscores, and begin with a letter", maxSlug))
	}
	taken, err := client.ToolIntegration.Query().Where(toolintegration.Slug(d.Slug)).Exist(ctx)
	if err != nil {
		return apierr.Wrap("look for the slug", err)
	}
	if taken {
		return slugTaken(d.Slug)
	}
	scope := toolintegration.OwnerScopeWorkspace
	if d.Personal {
		scope = toolintegration.OwnerScopePersonal
	}
	n, err := client.ToolIntegration.Query().Where(toolintegration.OwnerScopeEQ(scope)).Count(ctx)
	if err != nil {
		return apierr.Wrap("count integrations", err)
	}
	if n >= maxIntegrations {
		return apierr.New(apierr.Conflict, fmt.Sprintf("There are %d integrations, which is the maximum; delete one first", maxIntegrations))
	}
	return nil
}

// lock returns an integration whose row is locked until the transaction ends, if the viewer
// may change it.
func (s *Store) lock(ctx context.Context, client *ent.Client, id uuid.UUID) (*ent.ToolIntegration, error) {
	row, err := client.ToolIntegration.Query().Where(toolintegration.ID(id)).ForUpdate().Only(ctx)
	if err != nil {
		return nil, lookup.Error("Integration", err)
	}
	return row, checkChange(ctx, row)
}

// checkChange returns an error if the viewer sees an integration and may not change it.
func checkChange(ctx context.Context, row *ent.ToolIntegration) error {
	v, _ := viewer.From(ctx)
	if row.PersonID == nil && v.HasRole() && !v.Role.AtLeast(viewer.RoleEditor) {
		return apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role editor")
	}
	return nil
}

// Update changes an integration. A config that leads somewhere else makes Magpie forget all
// credentials, which were given for the place before.
func (s *Store) Update(ctx context.Context, id uuid.UUID, c Change) (*ent.ToolIntegration, error) {
	client := s.client(ctx)
	row, err := s.lock(ctx, client, id)
	if err != nil {
		return nil, err
	}
	p, _, err := s.providerOf(row)
	if err != nil {
		return nil, err
	}
	update := client.ToolIntegration.UpdateOne(row).SetUpdatedAt(s.opt.Now())
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
	if c.Shared != nil {
		if err := s.setCredentialsOf(ctx, update, row, *c.Shared); err != nil {
			return nil, err
		}
	}
	if c.Config != nil {
		merged := merge(row.Config, c.Config)
		if err := checkConfig(p.Form(), merged); err != nil {
			return nil, err
		}
		if p.Form().ChangedDestination(row.Config, merged) != "" {
			if err := s.forgetCredentials(ctx, client, row, "The address of the integration changed; connect again"); err != nil {
				return nil, err
			}
		}
		update.SetConfig(merged)
	}
	changed, err := update.Save(ctx)
	if err != nil || c.Credentials == nil {
		return changed, err
	}
	return changed, s.storeCredentials(ctx, client, changed, p, c.Credentials)
}

func (s *Store) setCredentialsOf(ctx context.Context, update *ent.ToolIntegrationUpdateOne, row *ent.ToolIntegration, shared bool) error {
	v, _ := viewer.From(ctx)
	switch {
	case shared && row.PersonID != nil:
		return apierr.Invalid("credentialsOf", "must be PERSON for a personal integration")
	case shared && v.HasRole() && !v.Role.AtLeast(viewer.RoleAdmin):
		return apierr.New(apierr.Forbidden, "Your role does not allow this; sharing credentials needs the role admin")
	case shared:
		update.SetCredentialsOf(toolintegration.CredentialsOfShared)
	default:
		update.SetCredentialsOf(toolintegration.CredentialsOfPerson)
	}
	return nil
}

// forgetCredentials removes the credentials of everybody from an integration that the viewer
// may change.
func (s *Store) forgetCredentials(ctx context.Context, client *ent.Client, row *ent.ToolIntegration, reason string) error {
	// The connections of other persons are not the viewer's.
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	connections, err := client.ToolConnection.Query().Where(toolconnection.IntegrationID(row.ID)).All(ctx)
	if err != nil {
		return apierr.Wrap("read the credentials", err)
	}
	for _, c := range connections {
		err := client.ToolConnection.UpdateOne(c).ClearCredentials().ClearGrantID().SetStatus(toolconnection.StatusNeedsAuth).
			SetLastError(reason).SetUpdatedAt(s.opt.Now()).Exec(ctx)
		if err == nil && c.GrantID != nil {
			err = s.opt.Grants.Forget(ctx, client, *c.GrantID)
		}
		if err != nil {
			return apierr.Wrap("forget the credentials", err)
		}
	}
	return nil
}

// Delete deletes an integration with its tools and all credentials for it.
func (s *Store) Delete(ctx context.Context, id uuid.UUID) error {
	return transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		row, err := s.lock(ctx, client, id)
		if err != nil {
			return err
		}
		if err := s.forgetCredentials(ctx, client, row, "The integration is deleted"); err != nil {
			return err
		}
		return lookup.Error("Integration", client.ToolIntegration.DeleteOne(row).Exec(ctx))
	})
}
