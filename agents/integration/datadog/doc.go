// Package datadog has the tools for Datadog.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package datadog
