// Package microsoft365 has the tools for Microsoft 365.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package microsoft365
