// Package prometheus has the tools for Prometheus and its Alertmanager.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package prometheus
