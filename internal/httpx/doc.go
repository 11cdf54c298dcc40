// Package httpx makes outgoing connections to addresses that users choose.
//
// A [Guard] checks the address that is dialled, after name resolution. It refuses
// loopback, private, link-local and otherwise reserved networks except those that
// the operator allows. All code that connects to a user's address (connectors,
// tools, crawlers) uses its dialer. [Steady] ends responses that arrive too slowly.
//
// Allowed imports: the standard library and code.dny.dev/ssrf.
package httpx
