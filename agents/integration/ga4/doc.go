// Package ga4 has the tools for Google Analytics 4.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package ga4
