// Package pagerduty has the tools for PagerDuty.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package pagerduty
