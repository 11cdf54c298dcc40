// Package salesforce has the tools for Salesforce.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package salesforce
