// Package support collects what helps to find out why an installation does not work, so
// that it can be shown to others: versions, settings, sizes, states and errors, without
// secrets, mail addresses, documents and questions.
//
// Allowed imports: internal/config.
package support
