package postgresql_test

import (
	"path/filepath"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/postgresql"
)

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	connectortest.RunWireFaultInjection(t, func(t *testing.T) connectortest.WireFaultInjection {
		s := newShop(t, filepath.Join("testdata", "shop.sql"))
		return connectortest.WireFaultInjection{
			Kind: postgresql.Kind, Dial: s.dial,
			Settings: connectors.Settings{Config: s.config, Credentials: s.reader}, Query: "select 1 as one, 'two' as two",
		}
	})
}
