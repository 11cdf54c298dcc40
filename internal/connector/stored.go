package connector

import (
	"maps"
	"slices"

	"github.com/magpie-search/magpie/ent"
)

// StoredCredentials returns the names of the credentials that a connector has, in order;
// none if they do not open any more, because then they have to be entered again.
func (c *Connectors) StoredCredentials(row *ent.Connector) []string {
	values, err := c.o.Vault.Open(row.ID, row.Credentials)
	if err != nil {
		return []string{}
	}
	maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
	return append([]string{}, slices.Sorted(maps.Keys(values))...)
}
