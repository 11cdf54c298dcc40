// Package platform makes the requests of tools to the HTTP API of a platform. An [API]
// describes what a platform's requests have in common. Its requests are authorized,
// bounded in time and size, and stay at the platform's host; its errors say in words
// for a model and a person what went wrong and what to do.
//
// Allowed imports: agents/integration, connectors, connectors/restapi, internal/apierr
// and internal/safetext.
package platform
