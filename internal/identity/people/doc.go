// Package people manages who belongs to which workspace in which role: sign-up,
// invitations, members, and the workspaces of a person. It decides what a role may
// do to other members; internal/identity/authn authenticates people.
//
// Allowed imports: ent, ent/gid, internal/apierr, internal/identity/authn,
// internal/store and internal/viewer.
package people
