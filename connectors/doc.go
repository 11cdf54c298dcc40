// Package connectors is the contract between Magpie and the places documents
// come from.
//
// A connector is one [Kind]: a name, two tables of options (configuration and
// credentials) and a constructor that returns a [Source]. A Source walks its
// place page by page from a cursor, names every item with a stable id and a
// version, and opens the content of one item when it is asked to. It knows
// nothing of workspaces, collections, jobs or databases, it never sleeps and
// never retries: it returns errors that say whether waiting helps
// ([Retryable]), whether a person has to repair the access ([NeedsAuth]) or
// whether nothing will help ([Fatal]).
//
// The kinds are collected in a [Registry], which is a value made by
// connectors/all. The suite every kind has to pass is connectors/connectortest.
//
// Allowed imports: the standard library and connectors/glob. Packages of kinds
// below this one may import their vendor's library and internal/httpx.
package connectors
