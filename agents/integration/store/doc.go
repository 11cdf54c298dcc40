// Package store keeps the integrations of workspaces and persons, the credentials for
// them, and their tools with policies. It builds the tools of an agent's run. A
// [Source] has the tools of one kind of integrations: the platforms that Magpie knows,
// webhooks, tool servers.
//
// A personal integration and a person's credentials are seen and used by that person
// alone. Tools are used as somebody accepted them: a tool that its source describes
// otherwise now is not called.
//
// Allowed imports: agents, connectors, ent, internal/apierr/check, internal/audit,
// internal/connector/oauth, internal/secret, internal/store/lookup,
// internal/store/transaction and the leaves.
package store
