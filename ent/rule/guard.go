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
	// Files have the document whose source_id is their path, if there is one.
	Files
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
		for _, list := range []string{".readers", ".restricted_to"} {
			b.WriteString("(" + alias + list + " is null or " + alias + list + " && string_to_array(").Arg(principals)
			b.WriteString(", e'\\x1f')) and ")
		}
		b.WriteString(alias + openConnectors)
	}
	return restrict(target, func(s *sql.Selector) {
		// The alias of a query; the name of the table in a mutation.
		self := strings.TrimSuffix(s.C("id"), `."id"`)
		s.Where(sql.P(func(b *sql.Builder) {
			switch g {
			case Documents:
				readable(b, self)
				return
			case Files:
				b.WriteString("not exists (select from documents guarded where guarded.connector_id = " + self + ".connector_id and guarded.source_id = " + self + ".path and not (")
				readable(b, "guarded")
				b.WriteString("))")
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
