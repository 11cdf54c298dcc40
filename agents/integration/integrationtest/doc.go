// Package integrationtest has the suite that every provider of tools passes. It calls
// each tool against a stand-in of the platform that checks requests as the published
// API does, and replaces the answers by wrong ones.
//
// Allowed imports: agents, connectors, internal/apierr, and net/http/httptest.
package integrationtest
