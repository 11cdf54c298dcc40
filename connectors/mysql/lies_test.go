package mysql_test

import (
	"path/filepath"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/mysql"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestNoLieIsBelieved(t *testing.T) {
	t.Parallel()
	server := testkit.MariaDB(t)
	connectortest.RunWireLies(t, func(t *testing.T) connectortest.WireLies {
		s := newShop(t, server, "lies", filepath.Join("testdata", "shop.sql"))
		return connectortest.WireLies{
			Kind: func(dial connectortest.Dial) connectors.Kind { return mysql.Kind(dial) },
			Settings: connectors.Settings{
				Config:      map[string]any{"host": server.Host, "port": float64(server.Port), "database": s.name, "tls": "disable"},
				Credentials: s.reader(),
			},
			Query: "select 1 as one, 'two' as two",
		}
	})
}
