// Package httpx makes outgoing connections to addresses that a user chose.
//
// A [Guard] looks at the address that is really dialled, after names were
// resolved, and refuses loopback, private, link-local and otherwise reserved
// networks except those the operator allowed. Whatever talks to a user's
// address (connectors, tools, crawlers) takes its dialer or its client. [Steady]
// ends answers that come too slowly.
//
// Allowed imports: the standard library and code.dny.dev/ssrf.
package httpx
