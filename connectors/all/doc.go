// Package all lists the connectors that Magpie has.
//
// Allowed imports: connectors and the packages of the kinds.
package all
