// Package scim serves SCIM 2.0 (RFC 7643, RFC 7644) below /scim/v2: a directory such as
// Microsoft Entra ID or Okta creates, changes and removes the people and groups of a
// workspace, which is that of its service token. internal/identity/people has the rules;
// this package reads and writes the forms of the protocol, with the liberties that the
// directories take.
//
// Allowed imports: scim2/filter-parser, internal/apierr, ratelimit, viewer,
// internal/identity/authn and people.
package scim
