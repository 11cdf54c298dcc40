package all

import (
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/github"
	"github.com/magpie-search/magpie/agents/integration/jira"
	"github.com/magpie-search/magpie/agents/integration/prometheus"
	"github.com/magpie-search/magpie/agents/integration/slack"
)

// Registry returns the registry of all providers. A new provider is one more line
// here.
func Registry() (*integration.Registry, error) {
	return integration.NewRegistry(
		github.Provider(),
		jira.Provider(),
		prometheus.Provider(),
		slack.Provider(),
	)
}
