// Package reseal finds the sealed values of the database, tells under which keys they
// are sealed, and seals them with the current key.
//
// Allowed imports: internal/secret.
package reseal
