package rule

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/privacy"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrRole is wrapped in the refusal of a viewer whose role is too low.
var ErrRole = errors.New("role too low")

func errRole() error { return fmt.Errorf("%w: %w", privacy.Deny, ErrRole) }

// Access is what API keys may do with the rows of an entity.
type Access uint8

// The levels of access. Each includes the one before.
const (
	None  Access = iota
	Read         // within the key's collections
	Write        // read and change
)

// Tenant is the policy of an entity that belongs to a workspace. It restricts reads
// and writes to the viewer's workspace, and new rows get that workspace. The zero
// value lets every session read, owners write, and API keys nothing.
type Tenant struct {
	// Field holds the workspace; workspace_id if empty.
	Field string
	// Role is the least role that a session or a service token needs to write; owner if
	// empty.
	Role viewer.Role
	// Reader is the least role that they need to read; any if empty.
	Reader viewer.Role
	// ReadOnly refuses every write, also of Magpie itself.
	ReadOnly bool
	// Keys is what API keys may do.
	Keys Access
	// Collection is the field with the id of a collection. Without it, a viewer
	// with access to only some collections is refused.
	Collection string
	// Subject is the field with the id of the user or key that owns a row. If it
	// is set, sessions and keys see only their own rows.
	Subject string
	// Person is the nullable field with the id of the person that a row is about.
	// If it is set, a session sees its own rows and the shared ones, which are
	// about nobody; Magpie itself, inside a workspace, and service tokens only the
	// shared ones.
	Person string
	// SharedRole is the least role that a session or a service token needs to write
	// shared rows; owner if empty.
	SharedRole viewer.Role
	// Tombstone is the field that marks a row as deleted. Marked rows are hidden.
	Tombstone string
	// OfConnector hides the rows of connectors that are marked as deleted.
	OfConnector bool
	// Guard hides rows about documents that the viewer may not read.
	Guard Guard
}

var (
	_ ent.Policy = Tenant{}
	_ ent.Policy = Person{}
)

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

// EvalQuery restricts a query to the rows that the viewer may see.
func (t Tenant) EvalQuery(ctx context.Context, q ent.Query) error {
	if v, ok := viewer.From(ctx); ok && t.Reader != "" && v.HasRole() && !v.Role.AtLeast(t.Reader) {
		return errRole()
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
	switch v.Kind {
	case viewer.KindSystem, viewer.KindSession, viewer.KindService:
	case viewer.KindKey:
		if t.Keys < need {
			return privacy.Denyf("API keys have no such access to %T", target)
		}
	default:
		return privacy.Denyf("viewers of kind %q have no access", v.Kind)
	}
	conditions, err := t.conditions(v, need)
	if err != nil {
		return err
	}
	for _, condition := range conditions {
		if err := restrict(target, condition); err != nil {
			return fmt.Errorf("%w: %w", privacy.Deny, err)
		}
	}
	if err := t.Guard.apply(ctx, v, target); err != nil {
		return fmt.Errorf("%w: %w", privacy.Deny, err)
	}
	return privacy.Allow
}

// A condition restricts the rows of a query or mutation.
type condition = func(*sql.Selector)

// conditions returns what must hold for the rows that v may see or change. It
// returns an error if v may have none.
func (t Tenant) conditions(v viewer.Viewer, need Access) ([]condition, error) {
	all := []condition{equals(t.field(), v.Workspace)}
	if t.Subject != "" && v.Kind != viewer.KindSystem {
		all = append(all, equals(t.Subject, v.Subject))
	}
	if t.Person != "" {
		c, ok := t.personCondition(v, need)
		if !ok {
			return nil, privacy.Denyf("viewers of kind %q see no rows of persons", v.Kind)
		}
		all = append(all, c)
	}
	if t.Tombstone != "" {
		all = append(all, func(s *sql.Selector) { s.Where(sql.IsNull(s.C(t.Tombstone))) })
	}
	if t.OfConnector {
		// The connectors that are being deleted are few or none: the database reads
		// them once and the rows in any order.
		all = append(all, func(s *sql.Selector) {
			connectors := sql.Table("connectors")
			s.Where(sql.NotIn(s.C("connector_id"), sql.Select(connectors.C("id")).From(connectors).Where(sql.NotNull(connectors.C("deleting_at")))))
		})
	}
	switch {
	case v.AllCollections:
	case t.Collection != "":
		all = append(all, in(t.Collection, v.Collections))
	case v.Kind == viewer.KindKey && t.Subject != "":
	default:
		return nil, privacy.Denyf("the viewer has only some collections")
	}
	return all, nil
}

// personCondition restricts rows that may be about one person. ok is false if v may
// have none of them.
func (t Tenant) personCondition(v viewer.Viewer, need Access) (c condition, ok bool) {
	shared := func(s *sql.Selector) *sql.Predicate { return sql.IsNull(s.C(t.Person)) }
	switch {
	case v.Kind == viewer.KindSystem:
		return func(s *sql.Selector) { s.Where(shared(s)) }, true
	case v.Kind == viewer.KindService && (need == Read || v.Role.AtLeast(t.sharedRole())):
		return func(s *sql.Selector) { s.Where(shared(s)) }, true
	case v.Kind != viewer.KindSession || v.Subject == uuid.Nil:
		return nil, false
	case need == Write && !v.Role.AtLeast(t.sharedRole()):
		return equals(t.Person, v.Subject), true
	default:
		return func(s *sql.Selector) { s.Where(sql.Or(shared(s), sql.EQ(s.C(t.Person), v.Subject))) }, true
	}
}

func equals(field string, value any) condition {
	return func(s *sql.Selector) { s.Where(sql.EQ(s.C(field), value)) }
}

// in holds for no row if ids is empty.
func in(field string, ids []uuid.UUID) condition {
	values := make([]any, len(ids))
	for i, id := range ids {
		values[i] = id
	}
	return func(s *sql.Selector) { s.Where(sql.In(s.C(field), values...)) }
}

// restrict adds a condition to a query or mutation, whose predicates have a type of
// their own for each entity.
func restrict(target any, c condition) error {
	where := reflect.ValueOf(target).MethodByName("Where")
	if !where.IsValid() || !where.Type().IsVariadic() || where.Type().NumIn() != 1 {
		return fmt.Errorf("%T takes no conditions", target)
	}
	predicate, value := where.Type().In(0).Elem(), reflect.ValueOf(c)
	if !value.CanConvert(predicate) {
		return fmt.Errorf("%T takes other conditions", target)
	}
	where.Call([]reflect.Value{value.Convert(predicate)})
	return nil
}

// EvalMutation restricts a write to the viewer's workspace and role. A new row
// without a workspace gets the viewer's; one of another workspace is refused.
func (t Tenant) EvalMutation(ctx context.Context, m ent.Mutation) error {
	v, ok := viewer.From(ctx)
	if !ok {
		return privacy.Denyf("no viewer in the context")
	}
	if t.ReadOnly {
		return privacy.Denyf("%s is not written this way", m.Type())
	}
	if v.HasRole() && !v.Role.AtLeast(t.role()) {
		return errRole()
	}
	if !m.Op().Is(ent.OpCreate) {
		return t.eval(ctx, m, Write)
	}
	if v.Kind == viewer.KindKey && t.Keys < Write {
		return privacy.Denyf("API keys may not create %s", m.Type())
	}
	if t.Subject != "" && v.Kind != viewer.KindSystem {
		if err := setOwn(m, t.Subject, v.Subject, "subject"); err != nil {
			return err
		}
	}
	if err := t.checkPerson(v, m); err != nil && !v.SpansWorkspaces() {
		return err
	}
	return t.setWorkspace(v, m)
}

// setWorkspace gives a new row the viewer's workspace.
func (t Tenant) setWorkspace(v viewer.Viewer, m ent.Mutation) error {
	switch {
	case v.SpansWorkspaces():
		if _, given := m.Field(t.field()); !given && t.field() != "id" {
			return privacy.Denyf("%s: the system viewer must name the workspace", m.Type())
		}
		return privacy.Allow
	case t.field() == "id":
		return privacy.Denyf("only the system makes a %s", m.Type())
	case v.Workspace == uuid.Nil:
		return privacy.Denyf("the viewer belongs to no workspace")
	}
	if err := setOwn(m, t.field(), v.Workspace, "workspace"); err != nil {
		return err
	}
	return privacy.Allow
}

// setOwn sets a field of a new row to the viewer's own id. It refuses a row with
// another id.
func setOwn(m ent.Mutation, field string, id uuid.UUID, what string) error {
	value, given := m.Field(field)
	switch {
	case given && value != any(id):
		return privacy.Denyf("%s: another %s was named", m.Type(), what)
	case given:
		return nil
	}
	if err := m.SetField(field, id); err != nil {
		return fmt.Errorf("%w: %w", privacy.Deny, err)
	}
	return nil
}

// checkPerson refuses to create a row about another person, and a shared row below
// SharedRole.
func (t Tenant) checkPerson(v viewer.Viewer, m ent.Mutation) error {
	if t.Person == "" {
		return nil
	}
	value, given := m.Field(t.Person)
	switch {
	case given && (v.Kind != viewer.KindSession || v.Subject == uuid.Nil || value != any(v.Subject)):
		return privacy.Denyf("%s: another person was named", m.Type())
	case !given && v.HasRole() && !v.Role.AtLeast(t.sharedRole()):
		return errRole()
	default:
		return nil
	}
}

// Person is the policy of people, who may be members of several workspaces. The
// members of a workspace see each other. Only Magpie itself and the person write.
type Person struct{}

// EvalQuery restricts a query to members of the viewer's workspace.
func (Person) EvalQuery(ctx context.Context, q ent.Query) error {
	v, ok := viewer.From(ctx)
	switch {
	case !ok:
		return privacy.Denyf("no viewer in the context")
	case v.SpansWorkspaces():
		return privacy.Allow
	case v.Workspace == uuid.Nil, !v.HasRole() && v.Kind != viewer.KindSystem:
		return privacy.Denyf("viewers of kind %q see no people", v.Kind)
	}
	return allowWhere(q, func(s *sql.Selector) {
		members := sql.Table("memberships")
		s.Where(sql.In(s.C("id"), sql.Select(members.C("user_id")).From(members).Where(sql.EQ(members.C("workspace_id"), v.Workspace))))
	})
}

// EvalMutation allows Magpie itself every write, and a person the change of their
// own row.
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
	return allowWhere(m, equals("id", v.Subject))
}

// allowWhere allows a query or mutation, restricted by a condition.
func allowWhere(target any, c condition) error {
	if err := restrict(target, c); err != nil {
		return fmt.Errorf("%w: %w", privacy.Deny, err)
	}
	return privacy.Allow
}
