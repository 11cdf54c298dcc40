// Package authserver is an authorization server and OpenID provider for tests,
// on loopback, as strict as the standards ask: the authorization code grant with
// PKCE (RFC 6749, RFC 7636; S256 is a must), discovery (OpenID Connect Discovery
// 1.0), rotating signing keys (RFC 7517), ID tokens, client authentication by
// basic and post, refresh tokens that rotate and whose reuse ends their family,
// revocation (RFC 7009) and the errors of the standards. It can be told to fail
// in the ways that servers fail.
//
// Allowed imports: the standard library and golang-jwt. Only tests import it.
package authserver
