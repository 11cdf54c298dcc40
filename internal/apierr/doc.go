// Package apierr holds the error type of the API: a code for programs, a message
// that is safe to show, and a cause for the log. One table maps codes to HTTP
// statuses.
//
// Allowed imports: none of Magpie.
package apierr
