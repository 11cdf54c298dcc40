package postgresql

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	optionSchema  = "schema"
	optionSSLMode = "sslMode"

	defaultPort = 5432
	maxSchemas  = 50
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name:          "postgresql",
		Aliases:       []string{"postgres"},
		Title:         "PostgreSQL",
		Description:   "A PostgreSQL database that agents look at and ask questions of. It brings no documents.",
		Category:      connectors.CategoryDatabase,
		Documentation: "https://www.postgresql.org/docs/current/ddl-priv.html",
		Options: slices.Concat(sqldb.ServerOptions(defaultPort, "sales"), []connectors.Option{{
			Name: optionSchema, Title: "Schemas", Type: connectors.TypeString, Default: "public", Example: "public, sales",
			Help: "The schemas that agents see, with commas between them.", Check: connectors.CheckString(checkSchemas),
		}}, sqldb.TLSOptions(optionSSLMode), sqldb.TableOptions()),
		Credentials: sqldb.LoginCredentials("A role that has CONNECT on the database, USAGE on the schemas and SELECT on the tables, and nothing else."),
		CheckSettings: func(s connectors.Settings) error {
			return sqldb.CheckCA(s, s.String(optionSSLMode))
		},
		Attach: func(_ context.Context, s connectors.Settings) (connectors.Database, error) {
			return newDatabase(s, dial)
		},
	}
}

func checkSchemas(text string) error {
	list := parseSchemas(text)
	if len(list) == 0 || len(list) > maxSchemas {
		return errors.New("must name 1 to 50 schemas")
	}
	for _, name := range list {
		switch {
		case len(name) > 63:
			return errors.New("names a schema of more than 63 bytes")
		case strings.HasPrefix(name, "pg_") || name == informationSchema:
			return errors.New("names a schema of PostgreSQL itself")
		}
	}
	return nil
}

// parseSchemas parses a list with commas.
func parseSchemas(text string) []string {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
