// Package grafana has the tools for Grafana.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package grafana
