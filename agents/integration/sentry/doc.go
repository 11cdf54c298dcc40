// Package sentry has the tools for Sentry.
//
// Allowed imports: agents/integration, agents/loop, agents/policy, connectors and
// internal/apierr.
package sentry
