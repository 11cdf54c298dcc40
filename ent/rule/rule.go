package rule

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"entgo.io/ent"
	"entgo.io/ent/entql"
	"entgo.io/ent/privacy"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrRole is inside the refusal of a write that the viewer's role is too low for.
var ErrRole = errors.New("role too low")

// Access says what an API key may do with an entity.
type Access uint8

// The accesses, each including the one before.
const (
	None  Access = iota // not even look
	Read                // look, within the key's collections
	Write               // look and change
)

// Tenant is the policy of an entity that belongs to a workspace: reads and
// writes are filtered to the viewer's workspace, creates take its id.
// The zero value lets sessions read, lets only owners write, and shuts keys out.
type Tenant struct {
	// Field holds the workspace; workspace_id when empty.
	Field string
	// Role is the least a session needs for writes; owner when empty.
	Role viewer.Role
	// Reader is the least a session needs for reads; any role when empty.
	Reader viewer.Role
	// ReadOnly refuses every write, the system's too.
	ReadOnly bool
	// Keys says what API keys may do.
	Keys Access
	// Collection names the field with the collection's id. Viewers who reach
	// only some collections are filtered by it; without it they are refused.
	Collection string
	// Subject names the field with the user's or key's own id; when set,
	// sessions and keys see only their own rows.
	Subject string
	// Person names the nullable field with the id of the person that a row is
	// about; when set, sessions see their own rows and those that are nobody's,
	// and Magpie itself inside a workspace only the latter.
	Person string
	// SharedRole is the least a session needs to write rows that are nobody's,
	// where Person is set; owner when empty.
	SharedRole viewer.Role
	// Doomed names the field that is set on rows that are being deleted: nobody
	// sees them any more. With Owner it is the field of the edge of that name,
	// and hides all rows that hang on such a one.
	Doomed, Owner string
	// Guard hides rows that tell of documents which the viewer may not read.
	Guard Guard
}

var (
	_ ent.Policy = Tenant{}
	_ ent.Policy = Person{}
)

type filter interface{ Where(entql.P) }

// filterOf reads the Filter method that ent generates on queries and mutations.
func filterOf(v any) (filter, bool) {
	m := reflect.ValueOf(v).MethodByName("Filter")
	if !m.IsValid() {
		return nil, false
	}
	f, ok := m.Call(nil)[0].Interface().(filter)
	return f, ok
}

func (t Tenant) field() string {
	if t.Field == "" {
		return "workspace_id"
	}
	return t.Field
}

func (t Tenant) role() viewer.Role {
	if t.Role == "" {
		return viewer.RoleOwner
	}
	return t.Role
}

func (t Tenant) sharedRole() viewer.Role {
	if t.SharedRole == "" {
		return viewer.RoleOwner
	}
	return t.SharedRole
}

// persons is what a viewer may see, or change, of rows that may be one person's.
func (t Tenant) persons(v viewer.Viewer, need Access) (entql.P, bool) {
	nobodys := entql.FieldNil(t.Person)
	switch {
	case v.Kind == viewer.KindSystem:
		return nobodys, true
	case v.Kind != viewer.KindSession || v.Subject == uuid.Nil:
		return nil, false
	case need == Write && !v.Role.AtLeast(t.sharedRole()):
		return entql.FieldEQ(t.Person, v.Subject), true
	default:
		return entql.Or(nobodys, entql.FieldEQ(t.Person, v.Subject)), true
	}
}

// makes refuses to create a row that is another person's, or nobody's below the
// role for that.
func (t Tenant) makes(v viewer.Viewer, m ent.Mutation) error {
	if t.Person == "" {
		return nil
	}
	got, set := m.Field(t.Person)
	switch {
	case set && (v.Kind != viewer.KindSession || v.Subject == uuid.Nil || got != any(v.Subject)):
		return privacy.Denyf("%s: another person was named", m.Type())
	case !set && v.Kind == viewer.KindSession && !v.Role.AtLeast(t.sharedRole()):
		return fmt.Errorf("%w: %w", privacy.Deny, ErrRole)
	default:
		return nil
	}
}

// EvalQuery filters a query to what the viewer may see.
func (t Tenant) EvalQuery(ctx context.Context, q ent.Query) error {
	if v, ok := viewer.From(ctx); ok && t.Reader != "" && v.Kind == viewer.KindSession && !v.Role.AtLeast(t.Reader) {
		return fmt.Errorf("%w: %w", privacy.Deny, ErrRole)
	}
	return t.eval(ctx, q, Read)
}

func (t Tenant) eval(ctx context.Context, target any, need Access) error {
	v, ok := viewer.From(ctx)
	if !ok {
		return privacy.Denyf("no viewer in the context")
	}
	if v.SpansWorkspaces() {
		return privacy.Allow
	}
	if v.Workspace == uuid.Nil {
		return privacy.Denyf("the viewer belongs to no workspace")
	}
	if v.Kind == viewer.KindKey && t.Keys < need {
		return privacy.Denyf("API keys have no such access to %T", target)
	}
	f, ok := filterOf(target)
	if !ok {
		return privacy.Denyf("%T cannot be filtered", target)
	}
	switch v.Kind {
	case viewer.KindSystem, viewer.KindSession, viewer.KindKey:
		f.Where(entql.FieldEQ(t.field(), v.Workspace))
	default:
		return privacy.Denyf("viewers of kind %q have no access", v.Kind)
	}
	if t.Subject != "" && v.Kind != viewer.KindSystem {
		f.Where(entql.FieldEQ(t.Subject, v.Subject))
	}
	if t.Person != "" {
		p, ok := t.persons(v, need)
		if !ok {
			return privacy.Denyf("viewers of kind %q see no %T", v.Kind, target)
		}
		f.Where(p)
	}
	if t.Doomed != "" {
		f.Where(t.kept())
	}
	if err := t.Guard.apply(ctx, v, target); err != nil {
		return fmt.Errorf("%w: %w", privacy.Deny, err)
	}
	if !v.AllCollections {
		if t.Collection == "" {
			if v.Kind == viewer.KindKey && t.Subject != "" {
				return privacy.Allow
			}
			return privacy.Denyf("the viewer reaches some collections only")
		}
		f.Where(inAny(t.Collection, v.Collections))
	}
	return privacy.Allow
}

// kept is true for rows that are not being deleted. For rows that hang on others
// it is written as "not among the doomed", who are few or none, so that the
// database looks for those once and reads the rest in whatever order it likes.
func (t Tenant) kept() entql.P {
	if t.Owner == "" {
		return entql.FieldNil(t.Doomed)
	}
	return entql.Not(entql.HasEdgeWith(t.Owner, entql.FieldNotNil(t.Doomed)))
}

// inAny is false for every row when ids is empty: nothing listed is nothing reached.
func inAny(field string, ids []uuid.UUID) entql.P {
	if len(ids) == 0 {
		return entql.FieldEQ(field, uuid.Nil)
	}
	values := make([]any, len(ids))
	for i, id := range ids {
		values[i] = id
	}
	return entql.FieldIn(field, values...)
}

// EvalMutation keeps writes inside the viewer's workspace and role. A create
// without a workspace gets the viewer's; one for another workspace is refused.
func (t Tenant) EvalMutation(ctx context.Context, m ent.Mutation) error {
	v, ok := viewer.From(ctx)
	if !ok {
		return privacy.Denyf("no viewer in the context")
	}
	if t.ReadOnly {
		return privacy.Denyf("%s is not written this way", m.Type())
	}
	if v.Kind == viewer.KindSession && !v.Role.AtLeast(t.role()) {
		return fmt.Errorf("%w: %w", privacy.Deny, ErrRole)
	}
	if !m.Op().Is(ent.OpCreate) {
		return t.eval(ctx, m, Write)
	}
	if v.Kind == viewer.KindKey && t.Keys < Write {
		return privacy.Denyf("API keys may not create %s", m.Type())
	}
	if t.Subject != "" && v.Kind != viewer.KindSystem {
		switch got, set := m.Field(t.Subject); {
		case set && got != any(v.Subject):
			return privacy.Denyf("%s: another subject was named", m.Type())
		case !set:
			if err := m.SetField(t.Subject, v.Subject); err != nil {
				return fmt.Errorf("%w: %w", privacy.Deny, err)
			}
		}
	}
	if err := t.makes(v, m); err != nil && !v.SpansWorkspaces() {
		return err
	}
	if t.field() == "id" { // a workspace belongs to none but itself
		if v.SpansWorkspaces() {
			return privacy.Allow
		}
		return privacy.Denyf("only the system makes a %s", m.Type())
	}
	got, set := m.Field(t.field())
	switch {
	case v.SpansWorkspaces():
		if !set {
			return privacy.Denyf("%s: the system viewer must name the workspace", m.Type())
		}
		return privacy.Allow
	case v.Workspace == uuid.Nil:
		return privacy.Denyf("the viewer belongs to no workspace")
	case set && got != any(v.Workspace):
		return privacy.Denyf("%s: another workspace was named", m.Type())
	case !set:
		if err := m.SetField(t.field(), v.Workspace); err != nil {
			return fmt.Errorf("%w: %w", privacy.Deny, err)
		}
	}
	return privacy.Allow
}

// Person is the policy of people, who may belong to several workspaces: they
// are seen by whoever shares one with them, and written by the system and by
// themselves.
type Person struct{}

// EvalQuery filters to members of the viewer's workspace.
func (Person) EvalQuery(ctx context.Context, q ent.Query) error {
	v, ok := viewer.From(ctx)
	switch {
	case !ok:
		return privacy.Denyf("no viewer in the context")
	case v.SpansWorkspaces():
		return privacy.Allow
	case v.Workspace == uuid.Nil, v.Kind != viewer.KindSession && v.Kind != viewer.KindSystem:
		return privacy.Denyf("viewers of kind %q see no people", v.Kind)
	}
	f, ok := filterOf(q)
	if !ok {
		return privacy.Denyf("%T cannot be filtered", q)
	}
	f.Where(entql.HasEdgeWith("memberships", entql.FieldEQ("workspace_id", v.Workspace)))
	return privacy.Allow
}

// EvalMutation allows the system everything and people their own row.
func (Person) EvalMutation(ctx context.Context, m ent.Mutation) error {
	v, ok := viewer.From(ctx)
	switch {
	case !ok:
		return privacy.Denyf("no viewer in the context")
	case v.SpansWorkspaces():
		return privacy.Allow
	case v.Kind != viewer.KindSession || m.Op().Is(ent.OpCreate):
		return privacy.Denyf("viewers of kind %q may not write people", v.Kind)
	}
	f, ok := filterOf(m)
	if !ok {
		return privacy.Denyf("%T cannot be filtered", m)
	}
	f.Where(entql.FieldEQ("id", v.Subject))
	return privacy.Allow
}
