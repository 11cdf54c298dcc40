package graph

import (
	"magpie/graph/model"
	"magpie/internal/authn"
)

func sessionToken(t authn.Tokens, err error) (*model.SessionToken, error) {
	if err != nil {
		return nil, err
	}
	return &model.SessionToken{AccessToken: t.Access, RefreshToken: t.Refresh, ExpiresAt: t.ExpiresAt}, nil
}
