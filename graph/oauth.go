package graph

import (
	"context"
	"time"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/oauthgrant"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// beginsPerMinute is how many sign-ins by an OpenID provider one client may
// begin: each is kept until it ends.
const beginsPerMinute = 30

func (r *Resolver) oauthProviders() []*model.OAuthProvider {
	var out []*model.OAuthProvider
	for _, p := range r.Grants.Providers() {
		scopes := p.Scopes
		if scopes == nil {
			scopes = []string{}
		}
		out = append(out, &model.OAuthProvider{
			Name: p.Name, Title: p.Title, Configured: p.Configured, ConnectorTypes: p.ConnectorTypes, Scopes: scopes,
		})
	}
	return out
}

func (r *Resolver) oauthGrants(ctx context.Context, after *entgql.Cursor[uuid.UUID], first *int, before *entgql.Cursor[uuid.UUID], last *int, order []*ent.OAuthGrantOrder, provider *string) (*ent.OAuthGrantConnection, error) {
	first, last, err := bounded(first, last)
	if err != nil {
		return nil, err
	}
	query := r.client(ctx).OAuthGrant.Query()
	if provider != nil {
		query.Where(oauthgrant.Provider(*provider))
	}
	return query.Paginate(ctx, after, first, before, last, ent.WithOAuthGrantOrder(order))
}

func (r *Resolver) startOAuth(ctx context.Context, in model.StartOAuthInput) (*model.OAuthStart, error) {
	begun, err := r.Grants.Begin(ctx, oauth.Start{Provider: in.Provider, Connector: in.ConnectorID, Place: orEmpty(in.RedirectURL)})
	if err != nil {
		return nil, err
	}
	return &model.OAuthStart{AuthorizationURL: begun.Address, Binding: begun.Binding, ExpiresAt: begun.ExpiresAt}, nil
}

func (r *Resolver) finishOAuth(ctx context.Context, in model.FinishOAuthInput) (*model.OAuthOutcome, error) {
	done, err := r.Grants.Finish(ctx, oauth.Return{
		Provider: in.Provider, State: in.State, Binding: orEmpty(in.Binding), Code: orEmpty(in.Code), Error: orEmpty(in.Error), Description: orEmpty(in.ErrorDescription),
	})
	if err != nil {
		return nil, err
	}
	return &model.OAuthOutcome{
		Provider: done.Provider, GrantID: some(done.Grant), ConnectorID: some(done.Connector), Account: some(done.Account), RedirectURL: some(done.Place),
	}, nil
}

// some is a value that is there, else nil.
func some[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

func (r *Resolver) signInMethods() *model.SignInMethods {
	methods := &model.SignInMethods{Password: true}
	if name, issuer, ok := r.SignOn.Method(); ok {
		methods.Oidc = &model.OIDCMethod{Name: name, Issuer: issuer}
	}
	return methods
}

func (r *Resolver) startOIDCSignIn(ctx context.Context, place *string) (*model.OIDCStart, error) {
	standing, err := r.SignIns.AllowIn(ctx, "oidc:"+ratelimit.ClientOf(ctx), beginsPerMinute, time.Minute)
	if err != nil {
		return nil, apierr.Wrap("count the sign-in", err)
	}
	if !standing.Allowed {
		return nil, &apierr.Error{Code: apierr.RateLimited, Message: "Too many attempts to sign in; wait a little", RetryAfter: max(standing.RetryAfter, 1)}
	}
	begun, err := r.SignOn.Start(ctx, orEmpty(place))
	if err != nil {
		return nil, err
	}
	return &model.OIDCStart{AuthorizationURL: begun.Address, Binding: begun.Binding, ExpiresAt: begun.ExpiresAt}, nil
}

func (r *Resolver) answerOIDCSignIn(ctx context.Context, in model.OIDCAnswerInput) (*model.OIDCAnswer, error) {
	answered, err := r.SignOn.Answer(ctx, signon.Return{
		State: in.State, Code: orEmpty(in.Code), Error: orEmpty(in.Error), Description: orEmpty(in.ErrorDescription), Issuer: orEmpty(in.Issuer),
	})
	if err != nil {
		return nil, err
	}
	return &model.OIDCAnswer{Code: some(answered.Code), RedirectURL: some(answered.Place)}, nil
}

// granted takes the OAuth grant out of the credentials that were sent: named
// says that there is a word of one, nil being that it is taken away.
func (r *Resolver) granted(ctx context.Context, connectorType string, credentials map[string]any) (rest map[string]any, grant *uuid.UUID, named bool, err error) {
	value, named := credentials["grant"]
	if !named {
		return credentials, nil, false, nil
	}
	if len(credentials) > 1 {
		rest = make(map[string]any, len(credentials)-1)
		for key, v := range credentials {
			if key != "grant" {
				rest[key] = v
			}
		}
	}
	if value == nil {
		return rest, nil, true, nil
	}
	name, _ := value.(string)
	id, err := uuid.Parse(name)
	if err != nil {
		return nil, nil, true, apierr.Invalid("credentials.grant", "must be the id of an OAuth grant")
	}
	if err := r.Grants.Check(ctx, r.client(ctx), id, connectorType); err != nil {
		return nil, nil, true, err
	}
	return rest, &id, true, nil
}

// tokens gives a connector the tokens of its grant; nil without one.
func (r *Resolver) tokens(ctx context.Context, grant *uuid.UUID) func(context.Context, string) (string, map[string]string, error) {
	v, ok := viewer.From(ctx)
	if grant == nil || !ok {
		return nil
	}
	return r.Grants.Source(v.Workspace, *grant)
}
