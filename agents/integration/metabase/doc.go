// Package metabase has the tools for Metabase.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package metabase
