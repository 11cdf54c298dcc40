// Package check holds the rules for names and texts that several domains share.
// Functions that get the name of a field return an *apierr.Error with the code
// invalid_request that names it.
//
// Allowed imports: internal/apierr.
package check
