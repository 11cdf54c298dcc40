package graph

import (
	"context"

	"github.com/magpie-search/magpie/agents/integration/toolserver"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/signon"
)

func oauthProviders(grants *oauth.Grants) []*model.OAuthProvider {
	var out []*model.OAuthProvider
	for _, p := range grants.Providers() {
		out = append(out, &model.OAuthProvider{
			Name: p.Name, Title: p.Title, Configured: p.Configured, ConnectorTypes: p.ConnectorTypes, Scopes: append([]string{}, p.Scopes...),
		})
	}
	return out
}

func oauthStart(started oauth.Authorization, err error) (*model.OAuthStart, error) {
	if err != nil {
		return nil, err
	}
	return &model.OAuthStart{AuthorizationURL: started.URL, Binding: started.Binding, ExpiresAt: started.ExpiresAt}, nil
}

func oauthCallback(in model.FinishOAuthInput) oauth.Callback {
	return oauth.Callback{
		Provider: in.Provider, State: in.State, Binding: orZero(in.Binding), Code: orZero(in.Code), Error: orZero(in.Error), Description: orZero(in.ErrorDescription),
		Issuer: orZero(in.Issuer),
	}
}

// finishOAuth ends a connection at a provider, or at a tool server.
func (r *Resolver) finishOAuth(ctx context.Context, back oauth.Callback) (oauth.Outcome, error) {
	if back.Provider == toolserver.ProviderName {
		return r.Integrations.FinishAuthorization(ctx, back)
	}
	return r.Grants.Finish(ctx, back)
}

func oauthOutcome(done oauth.Outcome, err error) (*model.OAuthOutcome, error) {
	if err != nil {
		return nil, err
	}
	return &model.OAuthOutcome{
		Provider: done.Provider, GrantID: nilIfZero(done.Grant), ConnectorID: nilIfZero(done.Connector), Account: nilIfZero(done.Account), RedirectURL: nilIfZero(done.ReturnTo),
	}, nil
}

func signInMethods(s *signon.SignOn, saml *signon.SAML) *model.SignInMethods {
	methods := &model.SignInMethods{Password: true}
	if name, issuer, ok := s.Method(); ok {
		methods.Oidc = &model.OIDCMethod{Name: name, Issuer: issuer}
	}
	if name, ok := saml.Method(); ok {
		methods.Saml = &model.SAMLMethod{Name: name}
	}
	return methods
}

func samlStart(begun signon.Authorization, err error) (*model.SAMLStart, error) {
	if err != nil {
		return nil, err
	}
	return &model.SAMLStart{AuthorizationURL: begun.URL, Binding: begun.Binding, ExpiresAt: begun.ExpiresAt}, nil
}

func samlAnswer(answered signon.CallbackResult, err error) (*model.SAMLAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &model.SAMLAnswer{Code: nilIfZero(answered.Code), RedirectURL: nilIfZero(answered.ReturnTo)}, nil
}

func oidcStart(begun signon.Authorization, err error) (*model.OIDCStart, error) {
	if err != nil {
		return nil, err
	}
	return &model.OIDCStart{AuthorizationURL: begun.URL, Binding: begun.Binding, ExpiresAt: begun.ExpiresAt}, nil
}

func oidcCallback(in model.OIDCAnswerInput) signon.Callback {
	return signon.Callback{
		State: in.State, Code: orZero(in.Code), Error: orZero(in.Error), Description: orZero(in.ErrorDescription), Issuer: orZero(in.Issuer),
	}
}

func oidcAnswer(answered signon.CallbackResult, err error) (*model.OIDCAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &model.OIDCAnswer{Code: nilIfZero(answered.Code), RedirectURL: nilIfZero(answered.ReturnTo)}, nil
}
