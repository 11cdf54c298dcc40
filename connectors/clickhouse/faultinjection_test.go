package clickhouse_test

import (
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/clickhouse"
	"github.com/magpie-search/magpie/connectors/connectortest"
)

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	s := newShop(t, newServer(t))
	connectortest.RunWireFaultInjection(t, func(*testing.T) connectortest.WireFaultInjection {
		return connectortest.WireFaultInjection{
			Kind:     clickhouse.Kind,
			Settings: connectors.Settings{Config: map[string]any{"host": s.host, "port": float64(s.port), "database": "shop", "secure": false}, Credentials: login("reader")},
			Query:    "select 1 as one, 'two' as two",
		}
	})
}
