// Package people is who belongs to which workspace, in which role: sign-up,
// invitations, members, and the workspaces of a person. It decides what a role
// may do to others; that a person is who they say is internal/identity/authn's part.
// It imports ent, internal/identity/authn, internal/store/transaction, internal/viewer,
// internal/apierr and ent/gid.
package people
