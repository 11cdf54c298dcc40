// Package saml serves the addresses of sign-in by SAML that a browser or a provider
// uses itself: the metadata of this service, and the assertion consumer service, to
// which the provider lets the browser post its response. The other steps are routes of
// package rest.
//
// Allowed imports: internal/apierr, ratelimit, internal/identity/authn and signon.
package saml
