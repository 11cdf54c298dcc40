package graph

import (
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/identity/people"
)

func memberFilter(text *string, role *model.Role) people.MemberFilter {
	return people.MemberFilter{Text: orZero(text), Role: (*membership.Role)(role)}
}

func createdInvitation(made *people.SentInvitation, err error) (*model.CreatedInvitation, error) {
	if err != nil {
		return nil, err
	}
	return &model.CreatedInvitation{Invitation: made.Row, Token: made.Token, URL: made.URL}, nil
}

func acceptance(in model.AcceptInvitationInput) people.Acceptance {
	return people.Acceptance{Token: in.Token, Name: orZero(in.Name), Password: orZero(in.Password)}
}

func invitationOffer(offer *people.InvitationOffer, err error) (*model.InvitationOffer, error) {
	if err != nil {
		return nil, err
	}
	return &model.InvitationOffer{
		Workspace: offer.Workspace, Email: offer.Email, Role: roleModel(offer.Role), ExpiresAt: offer.ExpiresAt, HasAccount: offer.HasAccount,
	}, nil
}

func createdPasswordReset(made *people.PasswordReset, err error) (*model.CreatedPasswordReset, error) {
	if err != nil {
		return nil, err
	}
	return &model.CreatedPasswordReset{Token: made.Token, URL: made.URL, ExpiresAt: made.ExpiresAt}, nil
}
