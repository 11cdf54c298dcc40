// Package restapi is the HTTP client of kinds whose platform has a JSON API. A
// [Client] waits for the platform's rate limit before each request, authorizes
// requests and renews the authorization, bounds responses in size and time, and
// refuses responses that are not what the platform promises. Its errors are
// marked as a connector's errors. A [LoopDetector] detects lists whose pages
// repeat; [IsShort] and [Total] compare walks with what the platform counts.
//
// Allowed imports: connectors and internal/httpx.
package restapi
