// Package connectors is the contract between Magpie and the sources that
// documents come from.
//
// A connector is one [Kind]: a name, two tables of options (configuration and
// credentials) and a constructor that returns a [Source]. A Source lists its
// items page by page from a cursor, with a stable id and a version for each
// item, and opens the content of one item. Abilities beyond that are optional
// interfaces: [Feeder], [Resolver], [PermissionLister], [GroupLister] and
// [Subscriber].
//
// A Source knows no workspaces, collections, jobs or databases. It never sleeps
// and never retries. Its errors say whether a later call can succeed
// ([Retryable]), whether a person must repair the access ([NeedsAuth]) or
// whether nothing will help ([Fatal]).
//
// A [Registry] collects the kinds; connectors/all makes it. Every kind passes
// the suite connectors/connectortest. docs/connectors/writing.md is the guide
// for a new kind.
//
// Allowed imports: the standard library and connectors/glob. Packages of kinds
// may also import their vendor's library, internal/httpx and internal/safetext.
package connectors
