// Package secret seals what must not be readable in the database, such as the
// credentials of connectors.
//
// Allowed imports: none of Magpie.
package secret
