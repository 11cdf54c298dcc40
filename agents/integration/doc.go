// Package integration is the contract of platforms whose tools agents call. A
// [Provider] describes a platform: its settings, which have the same form as those of
// connectors, and its tools with their risks. A provider knows no tenant and no
// database; each call gets the [Account] that it acts with.
//
// A [Registry] completes the providers: its tools hide the account's secrets in
// results and errors, and bound results. Package platform makes the requests, package
// integrationtest has the suite that every provider passes.
//
// Allowed imports: agents/arguments, agents/loop, agents/policy, connectors,
// internal/apierr and internal/safetext.
package integration
