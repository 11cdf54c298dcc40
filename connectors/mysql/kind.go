package mysql

import (
	"context"
	"slices"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	optionTLS   = "tls"
	defaultPort = 3306
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name:          "mysql",
		Aliases:       []string{"mariadb"},
		Title:         "MySQL and MariaDB",
		Description:   "A MySQL or MariaDB database that agents look at and ask questions of. It brings no documents.",
		Category:      connectors.CategoryDatabase,
		Documentation: "https://dev.mysql.com/doc/refman/8.0/en/grant.html",
		Options:       slices.Concat(sqldb.ServerOptions(defaultPort, "shop"), sqldb.TLSOptions(optionTLS), sqldb.TableOptions()),
		Credentials:   sqldb.LoginCredentials("An account that has SELECT (and SHOW VIEW) on the database, and nothing else. It must not have FILE."),
		CheckSettings: func(s connectors.Settings) error {
			return sqldb.CheckCA(s, s.String(optionTLS))
		},
		Attach: func(_ context.Context, s connectors.Settings) (connectors.Database, error) {
			return newDatabase(s, dial)
		},
	}
}
