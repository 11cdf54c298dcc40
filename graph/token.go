package graph

import (
	"strings"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/token"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/identity/application"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/viewer"
)

func personalToken(in model.CreatePersonalTokenInput) authn.TokenDraft {
	draft := authn.TokenDraft{Name: in.Name, Groups: groups(in.Groups), ExpiresAt: in.ExpiresAt}
	if in.Role != nil {
		draft.Role = viewer.Role(strings.ToLower(string(*in.Role)))
	}
	return draft
}

func loginRequest(in model.AnswerLoginInput) application.LoginRequest {
	return application.LoginRequest{RedirectURI: in.RedirectURI, State: in.State, CodeChallenge: in.CodeChallenge}
}

func loginToken(in *model.CreatePersonalTokenInput) *authn.TokenDraft {
	if in == nil {
		return nil
	}
	draft := personalToken(*in)
	return &draft
}

func loginAnswer(redirect string, err error) (*model.LoginAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &model.LoginAnswer{RedirectURL: redirect}, nil
}

func serviceToken(in model.CreateServiceTokenInput) authn.TokenDraft {
	return authn.TokenDraft{Name: in.Name, Role: viewer.Role(strings.ToLower(string(in.Role))), Groups: groups(in.Groups), ExpiresAt: in.ExpiresAt}
}

// groups converts the groups of an input; nil stays nil.
func groups(in []model.OperationGroup) []viewer.Group {
	if in == nil {
		return nil
	}
	out := make([]viewer.Group, len(in))
	for i, g := range in {
		out[i] = viewer.Group(g)
	}
	return out
}

func createdToken(made *authn.CreatedToken, err error) (*model.CreatedToken, error) {
	if err != nil {
		return nil, err
	}
	return &model.CreatedToken{Secret: made.Secret, Token: made.Row}, nil
}

func tokenKind(row *ent.Token) model.TokenKind {
	if row.UserID == nil {
		return model.TokenKindService
	}
	return model.TokenKindPersonal
}

func tokenGroups(row *ent.Token) []model.OperationGroup {
	if row.Groups == nil {
		return nil
	}
	out := make([]model.OperationGroup, len(row.Groups))
	for i, g := range row.Groups {
		out[i] = model.OperationGroup(g)
	}
	return out
}

// ofKind restricts a query to one kind of tokens, unless it is nil.
func ofKind(query *ent.TokenQuery, kind *model.TokenKind) *ent.TokenQuery {
	switch {
	case kind == nil:
		return query
	case *kind == model.TokenKindService:
		return query.Where(token.UserIDIsNil())
	default:
		return query.Where(token.UserIDNotNil())
	}
}
