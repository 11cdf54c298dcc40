// Package check holds the rules for names and texts that several domains share.
// Every function returns an *apierr.Error with the code invalid_request that
// names the field.
//
// Allowed imports: internal/apierr.
package check
