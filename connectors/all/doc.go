// Package all is the list of Magpie's kinds of connectors.
//
// Allowed imports: connectors and the packages of the kinds.
package all
