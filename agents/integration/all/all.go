package all

import (
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/datadog"
	"github.com/magpie-search/magpie/agents/integration/ga4"
	"github.com/magpie-search/magpie/agents/integration/github"
	"github.com/magpie-search/magpie/agents/integration/googleworkspace"
	"github.com/magpie-search/magpie/agents/integration/grafana"
	"github.com/magpie-search/magpie/agents/integration/hubspot"
	"github.com/magpie-search/magpie/agents/integration/jira"
	"github.com/magpie-search/magpie/agents/integration/metabase"
	"github.com/magpie-search/magpie/agents/integration/microsoft365"
	"github.com/magpie-search/magpie/agents/integration/pagerduty"
	"github.com/magpie-search/magpie/agents/integration/posthog"
	"github.com/magpie-search/magpie/agents/integration/prometheus"
	"github.com/magpie-search/magpie/agents/integration/salesforce"
	"github.com/magpie-search/magpie/agents/integration/sentry"
	"github.com/magpie-search/magpie/agents/integration/slack"
	"github.com/magpie-search/magpie/agents/integration/zendesk"
)

// Registry returns the registry of all providers. A new provider is one more line
// here.
func Registry() (*integration.Registry, error) {
	return integration.NewRegistry(
		datadog.Provider(),
		ga4.Provider(),
		github.Provider(),
		googleworkspace.Provider(),
		grafana.Provider(),
		hubspot.Provider(),
		jira.Provider(),
		metabase.Provider(),
		microsoft365.Provider(),
		pagerduty.Provider(),
		posthog.Provider(),
		prometheus.Provider(),
		salesforce.Provider(),
		sentry.Provider(),
		slack.Provider(),
		zendesk.Provider(),
	)
}
