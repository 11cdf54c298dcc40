// Package hubspot has the tools for HubSpot.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package hubspot
