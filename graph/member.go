package graph

import (
	"context"
	"strings"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/people"
)

func (r *Resolver) members(ctx context.Context, after *entgql.Cursor[uuid.UUID], first *int, before *entgql.Cursor[uuid.UUID], last *int,
	orderBy []*ent.MemberOrder, text *string, role *model.Role) (*ent.MemberConnection, error) {
	first, last, err := bounded(first, last)
	if err != nil {
		return nil, err
	}
	query := r.client(ctx).Membership.Query()
	if role != nil {
		query.Where(membership.RoleEQ(membership.Role(*role)))
	}
	if text != nil && strings.TrimSpace(*text) != "" {
		if len(*text) > maxName {
			return nil, apierr.Invalid("text", "is too long")
		}
		part := strings.TrimSpace(*text)
		query.Where(membership.HasUserWith(user.Or(user.NameContainsFold(part), user.EmailContainsFold(part))))
	}
	return query.Paginate(ctx, after, first, before, last, ent.WithMemberOrder(orderBy))
}

func (r *Resolver) invitations(ctx context.Context, after *entgql.Cursor[uuid.UUID], first *int, before *entgql.Cursor[uuid.UUID], last *int,
	orderBy []*ent.InvitationOrder, status *model.InvitationStatus) (*ent.InvitationConnection, error) {
	first, last, err := bounded(first, last)
	if err != nil {
		return nil, err
	}
	query := r.client(ctx).Invitation.Query()
	if status != nil {
		query = r.People.Narrow(query, string(*status))
	}
	return query.Paginate(ctx, after, first, before, last, ent.WithInvitationOrder(orderBy))
}

func createdInvitation(made *people.Invited, err error) (*model.CreatedInvitation, error) {
	if err != nil {
		return nil, err
	}
	return &model.CreatedInvitation{Invitation: made.Row, Token: made.Token, URL: made.URL}, nil
}

func (r *Resolver) acceptInvitation(ctx context.Context, in model.AcceptInvitationInput) (*model.SessionToken, error) {
	accept := people.Acceptance{Token: in.Token}
	if in.Name != nil {
		accept.Name = *in.Name
	}
	if in.Password != nil {
		accept.Password = *in.Password
	}
	return sessionToken(r.People.Accept(ctx, accept))
}

func (r *Resolver) invitationOfToken(ctx context.Context, token string) (*model.InvitationOffer, error) {
	offer, err := r.People.OfferOf(ctx, token)
	if err != nil {
		return nil, err
	}
	return &model.InvitationOffer{
		Workspace: offer.Workspace, Email: offer.Email, Role: roleModel(offer.Role), ExpiresAt: offer.ExpiresAt, HasAccount: offer.HasAccount,
	}, nil
}

func (r *Resolver) createPasswordReset(ctx context.Context, member uuid.UUID) (*model.CreatedPasswordReset, error) {
	made, err := r.People.NewReset(ctx, member)
	if err != nil {
		return nil, err
	}
	return &model.CreatedPasswordReset{Token: made.Token, URL: made.URL, ExpiresAt: made.ExpiresAt}, nil
}

// deleteWorkspace deletes all of a workspace; its uploaded files once that is
// certain.
func (r *Resolver) deleteWorkspace(ctx context.Context, name string) error {
	connectors, err := r.client(ctx).Connector.Query().Where(connector.HasFiles()).IDs(ctx)
	if err != nil {
		return err
	}
	blobs, err := r.Files.BlobKeys(ctx, connectors...)
	if err != nil {
		return err
	}
	if err := r.People.DeleteWorkspace(ctx, name); err != nil {
		return err
	}
	r.afterCommit(ctx, "delete uploaded files", func(ctx context.Context) error { return r.Files.DeleteBlobs(ctx, blobs) })
	return nil
}
