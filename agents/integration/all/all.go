package all

import (
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/github"
	"github.com/magpie-search/magpie/agents/integration/hubspot"
	"github.com/magpie-search/magpie/agents/integration/jira"
	"github.com/magpie-search/magpie/agents/integration/pagerduty"
	"github.com/magpie-search/magpie/agents/integration/prometheus"
	"github.com/magpie-search/magpie/agents/integration/salesforce"
	"github.com/magpie-search/magpie/agents/integration/slack"
	"github.com/magpie-search/magpie/agents/integration/zendesk"
)

// Registry returns the registry of all providers. A new provider is one more line
// here.
func Registry() (*integration.Registry, error) {
	return integration.NewRegistry(
		github.Provider(),
		hubspot.Provider(),
		jira.Provider(),
		pagerduty.Provider(),
		prometheus.Provider(),
		salesforce.Provider(),
		slack.Provider(),
		zendesk.Provider(),
	)
}
