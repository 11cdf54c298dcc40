// Package provider holds what the clients of model services share: errors that say what can be done about them, reading
// when to come back, and a transport with sensible time limits.
//
// The package may import the client library of the protocol; no other package of Magpie.
package provider
