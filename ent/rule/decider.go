package rule

import (
	"context"
	"fmt"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/privacy"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Deciders is the policy of rows that a person owns and that other people, named in
// the row, decide about. A session sees its own rows and those that name its person or
// its role. Only Magpie itself writes; its code checks who may decide.
type Deciders struct {
	// Subject is the field with the id of the person who owns a row.
	Subject string
	// People is the field with a JSON list of the ids of people.
	People string
	// Role is the nullable field with the least role, in capitals.
	Role string
}

var (
	_ ent.Policy = Deciders{}
	_ ent.Policy = Grants{}
)

// EvalQuery restricts a query to the rows that the viewer owns or decides about.
func (d Deciders) EvalQuery(ctx context.Context, q ent.Query) error {
	return readBySessions(ctx, q, func(s *sql.Selector, v viewer.Viewer) *sql.Predicate {
		return sql.Or(sql.EQ(s.C(d.Subject), v.Subject), listed(s.C(d.People), v.Subject), sql.In(s.C(d.Role), rolesWithin(v.Role)...))
	})
}

// EvalMutation refuses every write but those of Magpie itself.
func (d Deciders) EvalMutation(ctx context.Context, m ent.Mutation) error {
	return writtenBySystem(ctx, m)
}

// Grants is the policy of permissions that people give to agents. A session sees those
// for its person, those that its person gave, and those for nobody in particular. Only
// Magpie itself writes.
type Grants struct{}

// EvalQuery restricts a query to the grants that the viewer may see.
func (Grants) EvalQuery(ctx context.Context, q ent.Query) error {
	return readBySessions(ctx, q, func(s *sql.Selector, v viewer.Viewer) *sql.Predicate {
		return sql.Or(sql.IsNull(s.C("person_id")), sql.EQ(s.C("person_id"), v.Subject), sql.EQ(s.C("created_by"), v.Subject))
	})
}

// EvalMutation refuses every write but those of Magpie itself.
func (Grants) EvalMutation(ctx context.Context, m ent.Mutation) error { return writtenBySystem(ctx, m) }

// readBySessions restricts a query to the viewer's workspace and, for a session, to the
// rows of which seen holds.
func readBySessions(ctx context.Context, q ent.Query, seen func(*sql.Selector, viewer.Viewer) *sql.Predicate) error {
	v, ok := viewer.From(ctx)
	switch {
	case !ok:
		return privacy.Denyf("no viewer in the context")
	case v.SpansWorkspaces():
		return privacy.Allow
	case v.Workspace == uuid.Nil, v.Kind != viewer.KindSession && v.Kind != viewer.KindSystem:
		return privacy.Denyf("viewers of kind %q have no access", v.Kind)
	case v.Kind == viewer.KindSession && (v.Subject == uuid.Nil || !v.AllCollections):
		return privacy.Denyf("the viewer is no person with all collections")
	}
	return allowWhere(q, func(s *sql.Selector) {
		s.Where(sql.EQ(s.C("workspace_id"), v.Workspace))
		if v.Kind == viewer.KindSession {
			s.Where(seen(s, v))
		}
	})
}

// writtenBySystem restricts a write to the workspace of the system viewer and refuses
// every other viewer.
func writtenBySystem(ctx context.Context, m ent.Mutation) error {
	v, ok := viewer.From(ctx)
	switch {
	case !ok || v.Kind != viewer.KindSystem:
		return privacy.Denyf("%s is not written this way", m.Type())
	case m.Op().Is(ent.OpCreate):
		return Tenant{}.setWorkspace(v, m)
	case v.SpansWorkspaces():
		return privacy.Allow
	}
	return allowWhere(m, equals("workspace_id", v.Workspace))
}

// listed holds if a JSON list of ids has id.
func listed(column string, id uuid.UUID) *sql.Predicate {
	return sql.P(func(b *sql.Builder) {
		b.Ident(column).WriteString(" @> ").Arg(fmt.Sprintf("[%q]", id.String())).WriteString("::jsonb")
	})
}

// rolesWithin returns the names of the roles up to r, in capitals.
func rolesWithin(r viewer.Role) []any {
	var out []any
	for _, role := range []struct {
		role viewer.Role
		name string
	}{{viewer.RoleViewer, "VIEWER"}, {viewer.RoleEditor, "EDITOR"}, {viewer.RoleAdmin, "ADMIN"}, {viewer.RoleOwner, "OWNER"}} {
		if r.AtLeast(role.role) {
			out = append(out, role.name)
		}
	}
	return out
}
