package graph

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/viewer"
)

func (r *Resolver) whyVisible(ctx context.Context, document uuid.UUID, user string) (*model.DocumentVisibility, error) {
	mail, err := authn.CleanEmail(user)
	if err != nil {
		return nil, apierr.Invalid("user", "must be an email address")
	}
	reach, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	a, err := r.Principals.Why(ctx, reach, document, mail)
	if err != nil {
		return nil, err
	}
	out := &model.DocumentVisibility{
		DocumentID: a.Document, User: a.Mail, Visible: a.Visible, Rule: model.VisibilityRule(a.Rule), Explanation: a.Explanation,
		Groups: make([]*model.VisibilityGroup, len(a.Groups)), ReadersReadAt: a.ReadersAt, GroupsReadAt: a.GroupsAt,
	}
	for i, g := range a.Groups {
		out.Groups[i] = &model.VisibilityGroup{ID: strings.TrimPrefix(g.Principal, "group:"), Name: g.Name}
	}
	return out, nil
}

// repermit notes in an update of a connector that its documents need other
// readers, where the new settings say so. What is to be kept back is from now on.
func repermit(update *ent.ConnectorUpdateOne, before, after map[string]any) {
	_, was := connectors.Settings{Config: before}.IncludesPermissions()
	_, is := connectors.Settings{Config: after}.IncludesPermissions()
	if was == is {
		return
	}
	update.AddPermissionsRevision(1).SetClosed(is)
	if is {
		update.ClearGroupsDueAt()
	}
}

// withoutPaths takes the paths out of jobs that were started for some items of a
// connector which keeps to the permissions of its source: they are not everybody's
// to know. Administrators see them.
func (r *Resolver) withoutPaths(next ent.Querier) ent.Querier {
	return ent.QuerierFunc(func(ctx context.Context, query ent.Query) (ent.Value, error) {
		value, err := next.Query(ctx, query)
		rows, jobs := value.([]*ent.SyncJob)
		v, known := viewer.From(ctx)
		if err != nil || !jobs || known && (v.Kind == viewer.KindSystem || v.Role.AtLeast(viewer.RoleAdmin)) {
			return value, err
		}
		var ids []uuid.UUID
		for _, row := range rows {
			if len(row.FileFilter) > 0 {
				ids = append(ids, row.ConnectorID)
			}
		}
		if len(ids) == 0 {
			return value, nil
		}
		found, err := r.client(ctx).Connector.Query().Where(connector.IDIn(ids...)).Select(connector.FieldID, connector.FieldConfig).All(ctx)
		if err != nil {
			return nil, err
		}
		free := map[uuid.UUID]bool{}
		for _, row := range found {
			_, enforced := connectors.Settings{Config: row.Config}.IncludesPermissions()
			free[row.ID] = !enforced
		}
		for _, row := range rows {
			if !free[row.ConnectorID] {
				row.FileFilter = nil
			}
		}
		return value, nil
	})
}

func (r *Resolver) connectorPermissions(row *ent.Connector) *model.ConnectorPermissions {
	kind, known := r.Kinds.Lookup(row.Type)
	if !known || !kind.Permissions {
		return nil
	}
	out := &model.ConnectorPermissions{Mode: "off", ReadersReadAt: row.ReadersAt, GroupsReadAt: row.GroupsAt}
	imports, enforced := connectors.Settings{Config: row.Config}.IncludesPermissions()
	switch {
	case enforced:
		out.Mode = connectors.ModeStrict
	case imports:
		out.Mode = connectors.ModePermissive
	}
	if text := r.permissionWarning(row, enforced); text != "" {
		out.Warning = &text
	}
	return out
}

func (r *Resolver) permissionWarning(row *ent.Connector, enforced bool) string {
	failure := ""
	if row.GroupsFailure != nil {
		failure = " " + *row.GroupsFailure
	}
	switch {
	case row.Closed:
		return "Who may see the documents is being read from the source; until then nobody finds them."
	case !enforced && row.ReadersRevision < row.PermissionsRevision:
		return "The documents are being opened; until then people find what they may see at the source."
	case !enforced:
		return ""
	case row.GroupsAt != nil && r.Now().Sub(*row.GroupsAt) > r.maxAge():
		return "Who belongs to which group was read too long ago: groups grant nothing until it is read again." + failure
	case failure != "":
		return "Who belongs to which group could not be read; what was read before counts for a while." + failure
	}
	return ""
}

func (r *Resolver) maxAge() time.Duration {
	if r.Principals == nil {
		return principal.MaxAge
	}
	return r.Principals.MaxAge()
}
