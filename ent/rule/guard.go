package rule

import (
	"context"
	"fmt"
	"strings"

	"entgo.io/ent/dialect/sql"

	"github.com/magpie-search/magpie/internal/viewer"
)

// A Guard says which documents the rows of an entity reveal. A viewer who may not
// read a document does not see those rows.
type Guard uint8

// The guards.
const (
	// Unguarded rows reveal no document.
	Unguarded Guard = iota
	// Documents are documents themselves.
	Documents
	// Items have a document in document_id, or will have one. Where a connector
	// enforces the permissions of its source, only administrators see items without
	// a document.
	Items
)

// Conditions on an alias of documents or items. The documents of a closed connector
// have unknown readers.
const (
	openConnectors      = ".connector_id not in (select id from connectors where closed)"
	enforcingConnectors = "(select id from connectors where closed or config->>'include_permissions' = 'true' and " +
		"coalesce(config->>'permission_mode', 'strict') <> 'permissive')"
)

// apply restricts a query or mutation to the rows that v may see.
func (g Guard) apply(ctx context.Context, v viewer.Viewer, target any) error {
	if g == Unguarded {
		return nil
	}
	readers, err := viewer.ReadersOf(ctx)
	if err != nil {
		return fmt.Errorf("read the viewer's principals: %w", err)
	}
	if readers.Everything() {
		return nil
	}
	// One text, because a condition takes no arrays. No principal has the separator.
	principals := strings.Join(readers.Principals(), "\x1f")
	readable := func(b *sql.Builder, alias string) {
		b.WriteString("(" + alias + ".readers is null or " + alias + ".readers && string_to_array(").Arg(principals)
		b.WriteString(", e'\\x1f')) and " + alias + openConnectors)
	}
	return restrict(target, func(s *sql.Selector) {
		// The alias of a query; the name of the table in a mutation.
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
				b.WriteString(" and (" + self + ".connector_id not in " + enforcingConnectors +
					" or exists (select from documents guarded where guarded.id = " + self + ".document_id))")
			}
		}))
	})
}
