// Package zendesk has the tools for Zendesk.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package zendesk
