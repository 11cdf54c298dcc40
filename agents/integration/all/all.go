package all

import (
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/prometheus"
)

// Registry returns the registry of all providers. A new provider is one more line
// here.
func Registry() (*integration.Registry, error) {
	return integration.NewRegistry(
		prometheus.Provider(),
	)
}
