package rule

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"entgo.io/ent/dialect/sql"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Guard says which documents the rows of an entity tell of. Whoever may not read
// a document does not find them either.
type Guard uint8

// The guards.
const (
	// Unguarded rows tell of no document.
	Unguarded Guard = iota
	// Documents are the rows themselves.
	Documents
	// Items name a document in document_id, and tell of what may become one. Of
	// connectors that keep to the permissions of their source, items without a
	// document are for administrators.
	Items
)

// The conditions name the alias of documents. A connector that is closed has
// documents whose readers are not known yet.
const (
	openConnectors = ".connector_id not in (select id from connectors where closed)"
	keeping        = "(select id from connectors where closed or config->>'include_permissions' = 'true' and " +
		"coalesce(config->>'permission_mode', 'strict') <> 'permissive')"
)

func (g Guard) apply(ctx context.Context, v viewer.Viewer, target any) error {
	if g == Unguarded {
		return nil
	}
	readers, err := viewer.ReadersOf(ctx)
	if err != nil {
		return fmt.Errorf("find out who may read: %w", err)
	}
	if readers.Everything() {
		return nil
	}
	// A list that is one text: no principal has the character between them.
	principals := strings.Join(readers.Principals(), "\x1f")
	readable := func(b *sql.Builder, alias string) {
		b.WriteString("(" + alias + ".readers is null or " + alias + ".readers && string_to_array(").Arg(principals)
		b.WriteString(", e'\\x1f')) and " + alias + openConnectors)
	}
	return restrict(target, func(s *sql.Selector) {
		// Of a mutation there is no alias: the table's own name is one.
		self := strings.TrimSuffix(s.C("id"), `."id"`)
		s.Where(sql.P(func(b *sql.Builder) {
			if g == Documents {
				readable(b, self)
				return
			}
			b.WriteString("not exists (select from documents guarded where guarded.id = " + self + ".document_id and not (")
			readable(b, "guarded")
			b.WriteString("))")
			if !v.Role.AtLeast(viewer.RoleAdmin) {
				b.WriteString(" and (" + self + ".connector_id not in " + keeping +
					" or exists (select from documents guarded where guarded.id = " + self + ".document_id))")
			}
		}))
	})
}

// restrict adds a condition to a query or a mutation, whose predicates are a type of
// their own for each entity.
func restrict(target any, condition func(*sql.Selector)) error {
	where := reflect.ValueOf(target).MethodByName("Where")
	if !where.IsValid() || !where.Type().IsVariadic() || where.Type().NumIn() != 1 {
		return fmt.Errorf("%T takes no conditions", target)
	}
	predicate, value := where.Type().In(0).Elem(), reflect.ValueOf(condition)
	if !value.CanConvert(predicate) {
		return fmt.Errorf("%T takes other conditions", target)
	}
	where.Call([]reflect.Value{value.Convert(predicate)})
	return nil
}
