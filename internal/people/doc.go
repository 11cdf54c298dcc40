// Package people is who belongs to which workspace, in which role: sign-up,
// invitations, members, and the workspaces of a person. It decides what a role
// may do to others; that a person is who they say is internal/authn's part.
// It imports ent, internal/authn, internal/transaction, internal/viewer,
// internal/apierr and internal/gid.
package people
