// Package application lets people connect programs to Magpie: it is a small
// authorization server of OAuth 2.1 for the resource /mcp. Public clients register
// themselves (RFC 7591) or publish their metadata at their client id; a person signs
// in and agrees; the program exchanges the code, with PKCE, for tokens of a session
// of that person, which the person sees and ends among their sessions.
//
// The command line is a client, too, which needs no registration and asks for a personal
// token, on a page of the dashboard.
//
// A registration is not stored: the client id is the sealed registration itself, so
// that nobody can fill the database.
//
// Allowed imports: ent, internal/apierr, viewer, safetext, secret, ratelimit,
// internal/identity/authn and internal/connector/oauth.
package application
