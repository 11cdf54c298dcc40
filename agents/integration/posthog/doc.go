// Package posthog has the tools for PostHog.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package posthog
