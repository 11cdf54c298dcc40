// Package googleworkspace has the tools for Google Workspace.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package googleworkspace
