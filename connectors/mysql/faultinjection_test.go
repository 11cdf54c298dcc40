package mysql_test

import (
	"path/filepath"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/mysql"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	server := testkit.MariaDB(t)
	connectortest.RunWireFaultInjection(t, func(t *testing.T) connectortest.WireFaultInjection {
		s := newShop(t, server, "faults", filepath.Join("testdata", "shop.sql"))
		return connectortest.WireFaultInjection{
			Kind: mysql.Kind,
			Settings: connectors.Settings{
				Config:      map[string]any{"host": server.Host, "port": float64(server.Port), "database": s.name, "tls": "disable"},
				Credentials: s.reader(),
			},
			Query: "select 1 as one, 'two' as two",
		}
	})
}
