// Package provider has the code that clients of model services share: typed errors, Retry-After, and an HTTP transport
// with timeouts.
//
// The package may import the client library of the protocol, but no other package of Magpie.
package provider
