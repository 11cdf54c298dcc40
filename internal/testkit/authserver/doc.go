// Package authserver is an authorization server and OpenID provider for tests.
// It listens on the loopback interface and enforces the standards strictly: the
// authorization code grant with PKCE (RFC 6749, RFC 7636; S256 is required),
// discovery (OpenID Connect Discovery 1.0), rotating signing keys (RFC 7517), ID
// tokens, client authentication by basic and post, rotating refresh tokens whose
// reuse revokes the grant, and revocation (RFC 7009). Faults can be injected.
//
// Allowed imports: the standard library and golang-jwt. Only tests import it.
package authserver
