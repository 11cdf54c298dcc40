// Package client operates a Magpie as its operators do: through stored GraphQL
// operations, which the caller executes, and through the public REST API. It has
// the types of the answers and the tasks that take several operations, such as
// uploading and syncing a folder.
//
// Allowed imports: internal/apierr, internal/config/namedfile,
// internal/request/storedop.
package client
