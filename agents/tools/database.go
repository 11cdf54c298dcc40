package tools

import (
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/attached"
)

// errNoDatabase is the result of every database tool while no database is
// attached.
func errNoDatabase() error {
	return apierr.New(apierr.CodeNotFound, "No database is attached to this workspace, so there is nothing to query. Say so.")
}

// qualifiedName returns a table's name as a statement writes it.
func qualifiedName(schema, name string) string { return strings.TrimPrefix(schema+"."+name, ".") }

func tableKind(t *connectors.Table) string {
	if t.View {
		return "view"
	}
	return "table"
}

// joinText returns the condition of a join: invoice.customer_id =
// customer.customer_id.
func joinText(j attached.Join) string {
	parts := make([]string, 0, len(j.Columns))
	for i, column := range j.Columns {
		if i < len(j.References) {
			parts = append(parts, fmt.Sprintf("%s.%s = %s.%s", qualifiedName(j.Schema, j.Table), column, qualifiedName(j.OtherSchema, j.Other), j.References[i]))
		}
	}
	return strings.Join(parts, " and ")
}

func joinTexts(joins []attached.Join) []string {
	out := make([]string, len(joins))
	for i, j := range joins {
		out[i] = joinText(j)
	}
	return out
}

// dialectName names the SQL dialect for the model.
func dialectName(d attached.Database) string {
	switch d.Type {
	case "postgresql":
		return "PostgreSQL"
	case "mysql":
		return "MySQL or MariaDB"
	default:
		return d.Type
	}
}
