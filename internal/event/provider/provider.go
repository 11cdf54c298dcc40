// Package provider lists all providers of inbound integrations.
//
// Allowed imports: connectors, internal/event and the packages below it.
package provider

import (
	"slices"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/platform"
)

// Deps are the dependencies of providers on the process.
type Deps struct {
	// Dial refuses addresses that must not be reached.
	Dial connectors.Dial
}

// All returns all providers. A new one is one more line here or in its family.
func All(Deps) []event.Provider {
	return slices.Concat(platform.Providers())
}
