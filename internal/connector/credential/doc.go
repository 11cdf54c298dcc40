// Package credential seals and opens what connectors sign in with: the
// credentials that people enter, and the webhook secrets that Magpie generates.
// Nothing else opens them.
//
// Allowed imports: ent, connectors, internal/secret.
package credential
